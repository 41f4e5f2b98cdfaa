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

// The copies of an expression that all ways from a block come to first.
class Ways {
public:
  Ways(BasicBlock &from, const Instruction &wanted, AAResults &aliases, const DominatorTree &dominators)
      : from(from), wanted(wanted), aliases(aliases), dominators(dominators),
        anywhere(!wanted.mayReadOrWriteMemory() && isSafeToSpeculativelyExecute(&wanted)) {}

  // Empty where a way misses it.
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
  bool anywhere; // executed once too often, it does no harm; and nothing stands in its way
  SetVector<Instruction *> copies;
  SetVector<BasicBlock *> seen, open; // open: those that are passed
  DenseSet<const BasicBlock *> found;
  unsigned looked_at = 0;

  // Whether all ways from the beginning of a block come to a copy.
  bool comes(BasicBlock *block) {
    if (seen.contains(block)) // a way around a loop never comes to one
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

  // Control comes to it from the branch, with nothing between that was not looked at.
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

  // What comes up to a block may go on from there: the last blocks are the first.
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

  // A copy is on each way, so that one way is enough: but those that end nowhere.
  static SmallVector<BasicBlock *, 2> ways_of(BasicBlock &block) {
    SmallVector<BasicBlock *, 2> ways;
    for (BasicBlock *successor : successors(&block))
      if (ways.empty() || isa<UnreachableInst>(ways.back()->getTerminator()))
        ways.push_back(successor);
    return ways;
  }

  // Equal but for what is computed beside each, and may be equal itself.
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

  // What costs nothing where it is (an address that its load computes) is worth it for a user that rises with it.
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
