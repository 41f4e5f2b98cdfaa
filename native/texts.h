// What the nodes of a program graph and the tokens of a sequence are called: short texts from a small language.
//
// A text says what passes look at (opcode, predicate, type, intrinsic, small constants) and leaves out what would
// make it unique: names, struct layouts, array lengths, large constants. llvm/representations/graph.py documents them.
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
  int64_t declaration(const llvm::Function &function); // with its name where LLVM knows what the function does
  int64_t fixed(llvm::StringRef text);

  std::vector<std::string> take() { return std::move(unique_); }

private:
  llvm::StringRef type_text(const llvm::Type *type); // until the next call
  void append_call(const llvm::Instruction &instruction);

  llvm::StringMap<int64_t> numbers_;
  llvm::DenseMap<const llvm::Type *, std::string> types_;
  std::optional<llvm::TargetLibraryInfoImpl> library_; // made when the first declaration asks for it
  llvm::SmallString<64> text_;
  std::vector<std::string> unique_;
};

} // namespace burnish
