#include "hoist.h"

#include "motion.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace burnish {
namespace {

constexpr unsigned BLOCKS = 16;        // looked through on all ways together, at most
constexpr unsigned INSTRUCTIONS = 256; // the same: time stays linear

// The first copies of an expression on all paths from a block.
class Ways {
public:
  Ways(BasicBlock &from, const Instruction &wanted, AAResults &aliases, const DominatorTree &dominators)
      : from(from), wanted(wanted), aliases(aliases), dominators(dominators),
        anywhere(!wanted.mayReadOrWriteMemory() && isSafeToSpeculativelyExecute(&wanted)) {}

  // Empty if a path has no copy.
  ArrayRef<Instruction *> find() {
    for (BasicBlock *successor : successors(&from))
      if (!comes(successor))
        return {};
    if (!anywhere && !all_of(seen, [&](BasicBlock *block) { return is_reached_from_within(block); }))
      return {};
    return copies.getArrayRef();
  }

private:
  BasicBlock &from;
  const Instruction &wanted;
  AAResults &aliases;
  const DominatorTree &dominators;
  bool anywhere; // the expression is safe to speculate, and no instruction conflicts with it
  SetVector<Instruction *> copies;
  SetVector<BasicBlock *> seen, open; // open: blocks without a copy
  DenseSet<const BasicBlock *> found;
  unsigned looked_at = 0;

  // Returns whether all paths from the beginning of a block reach a copy.
  bool comes(BasicBlock *block) {
    if (seen.contains(block)) // a path around a loop never reaches a copy
      return found.contains(block);
    if (block == &from || seen.size() == BLOCKS || !dominators.dominates(&from, block))
      return false;
    seen.insert(block);
    for (Instruction &instruction : *block) {
      if (++looked_at > INSTRUCTIONS)
        return false;
      if (is_copy(instruction)) {
        copies.insert(&instruction);
        found.insert(block);
        return true;
      }
      if (!anywhere && !instruction.isTerminator() && !may_swap(instruction, wanted, aliases))
        return false;
    }
    Instruction *last = block->getTerminator();
    open.insert(block);
    bool all = isa<UnreachableInst>(last) || (isa<UncondBrInst, CondBrInst, SwitchInst>(last) &&
                                              all_of(successors(block), [&](BasicBlock *next) { return comes(next); }));
    if (all)
      found.insert(block);
    return all;
  }

  bool is_copy(const Instruction &instruction) const {
    return instruction.getOpcode() == wanted.getOpcode() && equal(instruction.operands(), wanted.operands()) &&
           same_operation(wanted, instruction) && may_merge(instruction);
  }

  // Returns whether all predecessors are the branch's block or blocks that were searched.
  bool is_reached_from_within(BasicBlock *block) const {
    return all_of(predecessors(block),
                  [&](BasicBlock *predecessor) { return predecessor == &from || open.contains(predecessor); });
  }
};

class Hoister {
public:
  Hoister(Function &function, FunctionAnalysisManager &analyses, bool free)
      : function(function), free(free), aliases(analyses.getResult<AAManager>(function)),
        dominators(analyses.getResult<DominatorTreeAnalysis>(function)),
        target(analyses.getResult<TargetIRAnalysis>(function)) {}

  // Hoists to the last blocks first, because hoisted code may be hoisted again.
  bool run() {
    bool changed = false;
    for (BasicBlock *block : post_order(&function))
      if (isa<CondBrInst, SwitchInst>(block->getTerminator()))
        changed |= hoist_to(*block);
    return changed;
  }

private:
  Function &function;
  bool free;
  AAResults &aliases;
  DominatorTree &dominators;
  const TargetTransformInfo &target;

  bool hoist_to(BasicBlock &block) {
    bool changed = false;
    SetVector<BasicBlock *> looked_at;
    for (BasicBlock *next : ways_of(block)) {
      while (next && next != &block && dominators.dominates(&block, next) && looked_at.insert(next)) {
        for (Instruction &instruction : make_early_inc_range(*next))
          changed |= hoist(instruction, block);
        next = next->getSingleSuccessor();
      }
    }
    return changed;
  }

  // Returns the paths to search: one is enough, because each path has a copy, except paths into dead ends.
  static SmallVector<BasicBlock *, 2> ways_of(BasicBlock &block) {
    SmallVector<BasicBlock *, 2> ways;
    for (BasicBlock *successor : successors(&block))
      if (ways.empty() || isa<UnreachableInst>(ways.back()->getTerminator()))
        ways.push_back(successor);
    return ways;
  }

  // Returns whether two instructions are equal, except for operands from their own blocks, which may also be equal.
  static bool may_equal(const Instruction &one, const Instruction &other) {
    auto is_beside = [](const Value *value, const Instruction &user) {
      auto *instruction = dyn_cast<Instruction>(value);
      return instruction && instruction->getParent() == user.getParent();
    };
    return all_of(zip(one.operands(), other.operands()), [&](auto pair) {
      auto &[a, b] = pair;
      return a.get() == b.get() || (is_beside(a, one) && is_beside(b, other));
    });
  }

  // Returns whether hoisting pays: the instruction is not free, or a user that is not free can be hoisted with it.
  bool is_worth(ArrayRef<Instruction *> copies, unsigned depth = 3) const {
    if (size_of(*copies[0], target) > 0)
      return true;
    return depth > 0 && any_of(copies[0]->users(), [&](User *user) {
             auto *first = cast<Instruction>(user);
             if (first->getParent() != copies[0]->getParent() || !may_merge(*first))
               return false;
             SmallVector<Instruction *> likes{first};
             for (Instruction *copy : copies.drop_front())
               for (User *other : copy->users())
                 if (auto *like = cast<Instruction>(other); like->getParent() == copy->getParent() &&
                                                            same_operation(*first, *like) && may_equal(*first, *like)) {
                   likes.push_back(like);
                   break;
                 }
             return likes.size() == copies.size() && is_worth(likes, depth - 1);
           });
  }

  bool hoist(Instruction &instruction, BasicBlock &block) {
    Instruction *end = block.getTerminator();
    if (!may_merge(instruction) || !all_of(instruction.operands(), [&](const Use &use) {
          return !isa<Instruction>(use.get()) || dominators.dominates(use.get(), end);
        }))
      return false;
    Ways ways(block, instruction, aliases, dominators);
    auto copies = ways.find();
    if (copies.size() < 2 || (!free && !is_worth(copies)))
      return false;
    Instruction &kept = *copies[0];
    for (Instruction *copy : copies.drop_front())
      merge_promises(kept, *copy);
    if (isa<CallBase>(kept) && !kept.mayReadOrWriteMemory()) // it may have passed what does not come back
      kept.dropUBImplyingAttrsAndMetadata();
    kept.moveBefore(end->getIterator());
    for (Instruction *copy : copies.drop_front()) {
      copy->replaceAllUsesWith(&kept);
      copy->eraseFromParent();
    }
    return true;
  }
};

} // namespace

PreservedAnalyses Hoist::run(Function &function, FunctionAnalysisManager &analyses) {
  if (!may_move_code(function) || !Hoister(function, analyses, free).run())
    return PreservedAnalyses::all();
  PreservedAnalyses kept;
  kept.preserveSet<CFGAnalyses>();
  return kept;
}

} // namespace burnish
