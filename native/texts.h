// The names of a program graph's nodes and of a sequence's tokens: short texts from a small language.
//
// A text has the properties that passes look at (opcode, predicate, type, intrinsic, small constants), without those
// that would make it unique: names, struct layouts, array lengths, large constants. llvm/representations/graph.py
// documents them.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/TargetLibraryInfo.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Constant;
class Function;
class Instruction;
class Type;
} // namespace llvm

namespace burnish {

// Numbers the texts of one module in the order of their first appearance.
class Texts {
public:
  int64_t instruction(const llvm::Instruction &instruction);
  int64_t type(const llvm::Type *type);
  int64_t constant(const llvm::Constant &constant);
  int64_t declaration(const llvm::Function &function); // with its name if it is a library function that LLVM knows
  int64_t fixed(llvm::StringRef text);

  std::vector<std::string> take() { return std::move(unique_); }

private:
  llvm::StringRef type_text(const llvm::Type *type); // valid until the next call
  void append_call(const llvm::Instruction &instruction);

  llvm::StringMap<int64_t> numbers_;
  llvm::DenseMap<const llvm::Type *, std::string> types_;
  std::optional<llvm::TargetLibraryInfoImpl> library_; // created for the first declaration
  llvm::SmallString<64> text_;
  std::vector<std::string> unique_;
};

} // namespace burnish
