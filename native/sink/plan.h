// The instructions to sink from some blocks with equal ends, and the saving.
#pragma once

#include "../motion.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/BasicBlock.h"

#include <map>
#include <optional>
#include <vector>

namespace burnish::sinking {

constexpr unsigned WINDOW = 48; // considered instructions at a block's end

using Tuple = std::vector<llvm::Value *>; // one of each block
using Blocks = std::vector<llvm::BasicBlock *>;
using Step = std::vector<llvm::Instruction *>; // of each block the same operation

// Returns whether a block ends in a branch to one block.
bool is_direct(const llvm::BasicBlock &block);

// Returns an operand of each instruction.
Tuple operands_of(llvm::ArrayRef<llvm::Instruction *> step, unsigned operand);

// Returns the value of a phi from each block.
Tuple incoming(const llvm::PHINode &phi, const Blocks &blocks);

// Numbers operations, without their operands, in the order of their first use; instructions must not be erased.
class Operations {
public:
  unsigned number(const llvm::Instruction &instruction);
  static bool same(const llvm::Instruction &one, const llvm::Instruction &other);

private:
  using Kind = std::pair<unsigned, unsigned>;
  std::map<Kind, llvm::SmallVector<std::pair<const llvm::Instruction *, unsigned>>> known;
  unsigned count = 0;
};

// Answers whether two instructions may be swapped, cached for each pair.
class Swaps {
public:
  explicit Swaps(llvm::AAResults &aliases) : aliases(aliases) {}
  bool may(const llvm::Instruction &first, const llvm::Instruction &second);

private:
  llvm::AAResults &aliases;
  llvm::DenseMap<std::pair<const llvm::Instruction *, const llvm::Instruction *>, bool> answers;
};

class Plan {
public:
  Blocks blocks;
  std::vector<Step> sunk;      // the last one first
  bool into_successor = false; // else into a block of its own
  int saved = 0;

  Plan(Blocks members, Swaps &swaps, const llvm::TargetTransformInfo &target);

  // Finds the instructions with the largest saving; returns whether there are any.
  bool complete();

private:
  Swaps *swaps;
  const llvm::TargetTransformInfo *target;
  bool possible = true;
  int instructions = 0, size = 0; // saved
  int phis = 0, phi_size = 0;     // needed so far
  std::map<std::pair<const llvm::PHINode *, const llvm::BasicBlock *>, Tuple> into_phis;
  std::map<Tuple, int> needed;                               // values that are phis, and the size of each
  std::vector<Tuple> in_order;                               // the same
  llvm::DenseMap<const llvm::Instruction *, unsigned> taken; // in which of `sunk`

  int emptied() const;
  void need(const Tuple &values, bool machine_cost);
  bool is_sunk(const Tuple &values) const;
  void take(const Step &step);
  int gain(const Step &step) const;
  std::optional<Step> best_step() const;
  std::optional<Step> as_step(const Tuple &values) const;
  Step roots(llvm::BasicBlock *block) const;
  std::optional<Step> matching(llvm::Instruction *root, llvm::ArrayRef<Step> ends) const;
  bool may_take(const Step &step) const;
  bool operands_may_be(const Step &step) const;
  bool follows(const llvm::Use &use, const Tuple &values) const;
  bool is_last(const llvm::Instruction *instruction) const;
};

} // namespace burnish::sinking
