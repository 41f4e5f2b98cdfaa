// All code of a module as one text, in which repeated code is found.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Attributes.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/PassManager.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace burnish::outlining {

// Returns the attributes that an outlined function takes from its original functions.
llvm::AttrBuilder shared_attributes(const llvm::Function &function);

// The operands that are values: a branch has its blocks among the others.
inline auto values_of(const llvm::Instruction &instruction) {
  return llvm::make_filter_range(instruction.operands(),
                                 [](const llvm::Use &use) { return !llvm::isa<llvm::BasicBlock>(use.get()); });
}

// A letter stands for an operation in functions with the same attributes. An instruction that cannot be outlined is a
// unique letter.
class Text {
public:
  Text(llvm::Module &module, llvm::FunctionAnalysisManager &analyses);

  std::vector<unsigned> letters;
  std::vector<llvm::Instruction *> instructions; // null where it cannot be outlined, or was

  llvm::Instruction &at(unsigned place) const { return *instructions[place]; }
  std::optional<unsigned> place(const llvm::Value *value) const;
  void erase(unsigned place);

private:
  struct Letter {
    const llvm::Instruction *example;
    unsigned attributes, number;
    llvm::SmallVector<int> neighbours;
  };
  llvm::DenseMap<const llvm::Instruction *, unsigned> places;
  llvm::DenseMap<llvm::AttributeSet, unsigned> numbers;
  std::unordered_multimap<size_t, Letter> known;
  unsigned next_unique = unsigned(-3); // DenseMap keeps the two above for itself
  unsigned count = 0;

  unsigned attributes_number(llvm::Function &function);
  void add(const std::vector<llvm::BasicBlock *> &blocks, unsigned attributes);
  unsigned letter(const llvm::Instruction &instruction, unsigned attributes, llvm::SmallVector<int> around);
};

} // namespace burnish::outlining
