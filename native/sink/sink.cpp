#include "sink.h"

#include "plan.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace burnish {
namespace sinking {
namespace {

constexpr unsigned BLOCKS = 64; // with the same code
constexpr unsigned SUFFIX = 8;  // most last instructions by which blocks are compared

class Sinker {
public:
  Sinker(Function &function, FunctionAnalysisManager &analyses)
      : function(function), aliases(analyses.getResult<AAManager>(function)),
        target(analyses.getResult<TargetIRAnalysis>(function)),
        dominators(analyses.getResult<DominatorTreeAnalysis>(function)),
        updater(dominators, DomTreeUpdater::UpdateStrategy::Eager) {}

  bool run() {
    bool changed = false;
    while (sink_best_of_each())
      changed = true;
    return changed;
  }

private:
  Function &function;
  AAResults &aliases;
  const TargetTransformInfo &target;
  DominatorTree &dominators;
  DomTreeUpdater updater;
  SetVector<BasicBlock *> left; // of which instructions were sunk

  // Applies the best plan for each kind of block end; returns whether there were any.
  bool sink_best_of_each() {
    Operations operations;
    MapVector<unsigned, Blocks, std::map<unsigned, unsigned>> by_end;
    for (BasicBlock &block : function)
      if (may_end_together(block))
        by_end[operations.number(*block.getTerminator())].push_back(&block);
    bool changed = false;
    for (auto &[end, blocks] : by_end)
      if (blocks.size() > 1)
        if (auto plan = best_of(blocks)) {
          apply(*plan);
          changed = true;
        }
    remove_empty();
    return changed;
  }

  bool may_end_together(BasicBlock &block) const {
    Instruction *end = block.getTerminator();
    if (!isa<UncondBrInst, CondBrInst, SwitchInst, ReturnInst, UnreachableInst>(end) ||
        !dominators.isReachableFromEntry(&block) || is_contained(successors(&block), &block) ||
        block.getTerminatingMustTailCall() || block.getTerminatingDeoptimizeCall())
      return false;
    return none_of(successors(&block), [](BasicBlock *next) { return is_entered_apart(*next); });
  }

  std::optional<Plan> best_of(const Blocks &blocks) {
    std::optional<Plan> best;
    std::set<Blocks> tried;
    Swaps swaps(aliases);
    for (const Blocks &group : groups(blocks)) {
      if (!tried.insert(group).second)
        continue;
      Plan plan(group, swaps, target);
      if (plan.complete() && (!best || plan.saved > best->saved))
        best = std::move(plan);
    }
    return best;
  }

  // Returns groups of blocks with the same last instructions, for several lengths; with the same operation anywhere
  // near their ends; and with the same operation as the value of a phi.
  static std::vector<Blocks> groups(const Blocks &blocks) {
    Operations operations; // a new one, because it holds instructions, and apply() erases some
    using Key = std::vector<unsigned>;
    MapVector<Key, Blocks, std::map<Key, unsigned>> by_key;
    for (BasicBlock *block : blocks) {
      std::set<Key> keys;
      std::vector<Key> ordered;
      auto add = [&](Key key) {
        if (keys.insert(key).second)
          ordered.push_back(std::move(key));
      };
      Key suffix{0};
      unsigned seen = 0;
      for (Instruction &instruction : drop_begin(reverse(*block))) { // without the terminator
        if (!may_merge(instruction) || ++seen > WINDOW)
          break;
        unsigned number = operations.number(instruction);
        if (suffix.size() <= SUFFIX) {
          suffix.push_back(number);
          add(suffix);
        }
        if (instruction.use_empty())
          add({1, number});
      }
      for (BasicBlock *next : successors(block)) {
        unsigned phi_number = 0;
        for (PHINode &phi : next->phis())
          if (auto *value = dyn_cast<Instruction>(phi.getIncomingValueForBlock(block));
              phi_number++, value && value->getParent() == block && may_merge(*value))
            add({2, phi_number, operations.number(*value)});
      }
      for (Key &key : ordered)
        if (Blocks &same = by_key[key]; same.size() < BLOCKS)
          same.push_back(block);
    }
    std::vector<Blocks> found;
    for (auto &[key, same] : by_key)
      if (same.size() > 1)
        found.push_back(same);
    return found;
  }

  void apply(const Plan &plan) {
    const Blocks &blocks = plan.blocks;
    SmallSetVector<BasicBlock *, 4> next(succ_begin(blocks[0]), succ_end(blocks[0]));
    std::vector<std::vector<Tuple>> operands; // all as it is now: what is replaced below is part of it
    for (auto &step : plan.sunk) {
      operands.emplace_back();
      for (unsigned i = 0; i < step[0]->getNumOperands(); i++)
        operands.back().push_back(operands_of(step, i));
    }
    std::vector<std::pair<PHINode *, Tuple>> phis;
    for (BasicBlock *block : next)
      for (PHINode &phi : block->phis())
        phis.emplace_back(&phi, incoming(phi, blocks));

    BasicBlock *place = plan.into_successor ? next[0] : end_in_new_block(blocks, next.getArrayRef());
    std::map<Tuple, Value *> known;
    for (auto &step : plan.sunk)
      known[Tuple(step.begin(), step.end())] = step[0];
    if (plan.into_successor)
      for (auto &[phi, values] : phis)
        known.try_emplace(values, phi);
    auto value_of = [&](const Tuple &values) {
      if (all_equal(values))
        return values[0];
      Value *&value = known[values];
      if (!value) {
        auto *phi = PHINode::Create(values[0]->getType(), blocks.size(), "", place->begin());
        for (auto [block, incoming] : zip(blocks, values))
          phi->addIncoming(incoming, block);
        value = phi;
      }
      return value;
    };

    auto where = plan.into_successor ? place->getFirstInsertionPt() : place->getTerminator()->getIterator();
    for (auto &step : reverse(plan.sunk))
      if (!step[0]->isTerminator())
        step[0]->moveBefore(*place, where);
    for (auto [step, tuples] : zip(plan.sunk, operands)) {
      for (unsigned i = 0; i < tuples.size(); i++)
        step[0]->setOperand(i, value_of(tuples[i]));
    }
    for (auto &[phi, values] : phis)
      if (plan.into_successor)
        replace(*phi, value_of(values));
      else
        enter_from(*phi, place, blocks, value_of(values));
    for (auto &step : plan.sunk) {
      if (step[0]->isTerminator())
        continue;
      for (Instruction *other : ArrayRef(step).drop_front()) {
        merge_promises(*step[0], *other);
        other->eraseFromParent();
      }
      forget_in_debug_records(*step[0], dominators);
    }
    left.insert_range(blocks);
  }

  // Returns a new block with the common terminator; the other blocks branch to it.
  BasicBlock *end_in_new_block(const Blocks &blocks, ArrayRef<BasicBlock *> next) {
    auto *place = BasicBlock::Create(function.getContext(), "", &function, next.empty() ? nullptr : next[0]);
    Step ends;
    for (BasicBlock *block : blocks) {
      ends.push_back(block->getTerminator());
      auto *branch = UncondBrInst::Create(place, ends.back()->getIterator()); // debug records stay before it
      branch->setDebugLoc(ends.back()->getDebugLoc());
    }
    Instruction *end = ends[0];
    keep_what_all_say(*end, ends);
    end->moveBefore(*place, place->end());
    for (Instruction *other : ArrayRef(ends).drop_front()) {
      end->applyMergedLocation(end->getDebugLoc(), other->getDebugLoc());
      other->eraseFromParent();
    }
    SmallVector<DominatorTree::UpdateType> updates;
    for (BasicBlock *block : blocks) {
      updates.push_back({DominatorTree::Insert, block, place});
      for (BasicBlock *successor : next)
        updates.push_back({DominatorTree::Delete, block, successor});
    }
    for (BasicBlock *successor : next)
      updates.push_back({DominatorTree::Insert, place, successor});
    updater.applyUpdates(updates);
    return place;
  }

  // Keeps only metadata that all terminators have: branch weights and loop metadata.
  static void keep_what_all_say(Instruction &end, ArrayRef<Instruction *> ends) {
    SmallVector<std::pair<unsigned, MDNode *>> all;
    end.getAllMetadataOtherThanDebugLoc(all);
    for (auto [kind, node] : all)
      if (any_of(ends, [kind = kind, node = node](Instruction *other) { return other->getMetadata(kind) != node; }))
        end.setMetadata(kind, nullptr);
  }

  static void replace(PHINode &phi, Value *value) {
    if (value == &phi)
      return;
    phi.replaceAllUsesWith(value);
    phi.eraseFromParent();
  }

  // Replaces several incoming blocks of a phi by one, with an entry for each edge from it.
  static void enter_from(PHINode &phi, BasicBlock *place, const Blocks &blocks, Value *value) {
    for (unsigned i = 0; i < phi.getNumIncomingValues(); i++)
      if (phi.getIncomingBlock(i) == blocks[0]) {
        phi.setIncomingBlock(i, place);
        phi.setIncomingValue(i, value);
      }
    phi.removeIncomingValueIf([&](unsigned i) { return is_contained(blocks, phi.getIncomingBlock(i)); },
                              /*DeletePHIIfEmpty=*/false);
  }

  // Removes blocks that have only a branch left.
  void remove_empty() {
    for (BasicBlock *block : left.takeVector())
      if (block->size() == 1 && is_direct(*block) && !block->isEntryBlock() && !block->hasAddressTaken())
        TryToSimplifyUncondBranchFromEmptyBlock(block, &updater);
  }
};

} // namespace
} // namespace sinking

PreservedAnalyses Sink::run(Function &function, FunctionAnalysisManager &analyses) {
  return may_move_code(function) && sinking::Sinker(function, analyses).run() ? PreservedAnalyses::none()
                                                                              : PreservedAnalyses::all();
}

} // namespace burnish
