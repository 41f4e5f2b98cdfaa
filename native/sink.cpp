#include "sink.h"

#include "motion.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Local.h"

#include <map>
#include <optional>
#include <set>

using namespace llvm;

namespace burnish {
namespace {

constexpr unsigned WINDOW = 48;  // considered instructions at a block's end
constexpr unsigned BLOCKS = 64;  // with the same code
constexpr unsigned SUFFIX = 8;   // most last instructions by which blocks are compared
constexpr unsigned PATIENCE = 6; // steps without a new best saving before the search stops

using Tuple = std::vector<Value *>; // one of each block
using Blocks = std::vector<BasicBlock *>;

bool is_direct(const BasicBlock &block) { return isa<UncondBrInst>(block.getTerminator()); }

// Numbers operations, without their operands, in the order of their first use; instructions must not be erased.
class Operations {
public:
  unsigned number(const Instruction &instruction) {
    auto &like = known[{instruction.getOpcode(), instruction.getNumOperands()}];
    for (auto [example, number] : like)
      if (same(*example, instruction))
        return number;
    like.emplace_back(&instruction, count);
    return count++;
  }

  static bool same(const Instruction &one, const Instruction &other) {
    if (one.getOpcode() != other.getOpcode() || one.getNumOperands() != other.getNumOperands())
      return false;
    if (!one.isTerminator())
      return same_operation(one, other) && same_callee(one, other);
    return equal(successors(&one), successors(&other)) && same_cases(one, other) &&
           all_of(zip(one.operands(), other.operands()),
                  [](auto pair) { return std::get<0>(pair)->getType() == std::get<1>(pair)->getType(); });
  }

private:
  using Kind = std::pair<unsigned, unsigned>;
  std::map<Kind, SmallVector<std::pair<const Instruction *, unsigned>>> known;
  unsigned count = 0;

  static bool same_callee(const Instruction &one, const Instruction &other) {
    const auto *call = dyn_cast<CallBase>(&one);
    return !call || call->getCalledOperand() == cast<CallBase>(other).getCalledOperand();
  }

  static bool same_cases(const Instruction &one, const Instruction &other) {
    const auto *first = dyn_cast<SwitchInst>(&one), *second = dyn_cast<SwitchInst>(&other);
    return !first || all_of(zip(first->cases(), second->cases()), [](auto pair) {
      return std::get<0>(pair).getCaseValue() == std::get<1>(pair).getCaseValue();
    });
  }
};

// Returns whether an operand may differ, and so become a phi.
bool may_differ(const Instruction &instruction, unsigned operand, const Tuple &values) {
  if (!canReplaceOperandWithVariable(&instruction, operand))
    return false;
  if (isa<MemIntrinsic>(instruction) && operand == 2) // a constant length needs no library call
    return false;
  return all_of(values, [](const Value *value) {
    return !isa<MetadataAsValue, BasicBlock, InlineAsm>(value) && !isa<AllocaInst>(value->stripPointerCasts()) &&
           !value->getType()->isTokenLikeTy();
  });
}

// Answers whether two instructions may be swapped, cached for each pair.
class Swaps {
public:
  explicit Swaps(AAResults &aliases) : aliases(aliases) {}

  bool may(const Instruction &first, const Instruction &second) {
    auto [known, added] = answers.try_emplace({&first, &second}, false);
    if (added)
      known->second = may_swap(first, second, aliases);
    return known->second;
  }

private:
  AAResults &aliases;
  DenseMap<std::pair<const Instruction *, const Instruction *>, bool> answers;
};

// The instructions to sink from some blocks with equal ends, and the saving.
class Plan {
public:
  Blocks blocks;
  std::vector<std::vector<Instruction *>> sunk; // of each block the same operation; the last one first
  bool into_successor = false;                  // else into a block of its own
  int saved = 0;

  Plan(Blocks members, Swaps &swaps, const TargetTransformInfo &target)
      : blocks(std::move(members)), swaps(&swaps), target(&target) {
    Instruction *end = blocks[0]->getTerminator();
    BasicBlock *successor = end->getNumSuccessors() == 1 ? end->getSuccessor(0) : nullptr;
    into_successor = is_direct(*blocks[0]) && successor->hasNPredecessors(blocks.size());
    for (BasicBlock *next : SmallSetVector<BasicBlock *, 4>(successors(end).begin(), successors(end).end()))
      for (PHINode &phi : next->phis()) {
        Tuple values;
        for (BasicBlock *block : blocks)
          values.push_back(phi.getIncomingValueForBlock(block));
        for (size_t i = 0; i < blocks.size(); i++)
          into_phis[{&phi, blocks[i]}] = values;
        need(values, /*machine_cost=*/false);
      }
    int phis_before = into_successor ? phis : 0;
    instructions = phis_before - phis - (into_successor ? 0 : 1); // a block of its own: a branch in each, one end
    size = is_direct(*blocks[0]) && !into_successor ? -1 : 0;
    if (!is_direct(*blocks[0])) {
      std::vector<Instruction *> ends;
      for (BasicBlock *block : blocks)
        ends.push_back(block->getTerminator());
      possible = operands_may_be(ends);
      if (possible)
        take(ends);
    }
  }

  // Finds the instructions with the largest saving; returns whether there are any.
  bool complete() {
    if (!possible)
      return false;
    size_t best = 0;
    unsigned stale = 0;
    while (stale < PATIENCE) {
      auto step = best_step();
      if (!step)
        break;
      take(*step);
      stale++;
      int fewer = instructions + (phis == 0 ? emptied() : 0);
      if (fewer > 0 && size > 0 && fewer + size > saved) {
        saved = fewer + size;
        best = sunk.size();
        stale = 0;
      }
    }
    sunk.resize(best);
    return best > 0;
  }

private:
  Swaps *swaps;
  const TargetTransformInfo *target;
  bool possible = true;
  int instructions = 0, size = 0; // saved
  int phis = 0, phi_size = 0;     // needed so far
  std::map<std::pair<const PHINode *, const BasicBlock *>, Tuple> into_phis;
  std::map<Tuple, int> needed;                   // values that are phis, and the size of each
  std::vector<Tuple> in_order;                   // the same
  DenseMap<const Instruction *, unsigned> taken; // in which of `sunk`

  // Returns the number of blocks that have only a branch left; they are removed.
  int emptied() const {
    return count_if(enumerate(blocks), [&](auto item) {
      BasicBlock *block = item.value();
      return block->size() == sunk.size() + is_direct(*block) && !block->hasAddressTaken() && !block->isEntryBlock();
    });
  }

  static bool all_same(const Tuple &values) { return llvm::all_equal(values); }

  // Returns machine instructions: each constant has to be loaded, and a register perhaps moved.
  static int size_of_phi(const Tuple &values) {
    int constants = count_if(values, [](const Value *value) { return isa<Constant>(value); });
    return constants + (constants < int(values.size()) ? 1 : 0);
  }

  void need(const Tuple &values, bool machine_cost) {
    if (all_same(values) || is_sunk(values))
      return;
    if (!needed.try_emplace(values, machine_cost ? size_of_phi(values) : 0).second)
      return;
    in_order.push_back(values);
    phis++;
    phi_size += needed[values];
  }

  bool is_sunk(const Tuple &values) const {
    const auto *first = dyn_cast<Instruction>(values[0]);
    auto found = first ? taken.find(first) : taken.end();
    return found != taken.end() && equal(sunk[found->second], values);
  }

  static Tuple operands(ArrayRef<Instruction *> step, unsigned operand) {
    Tuple values;
    for (const Instruction *instruction : step)
      values.push_back(instruction->getOperand(operand));
    return values;
  }

  void take(const std::vector<Instruction *> &step) {
    Tuple values(step.begin(), step.end());
    if (auto found = needed.find(values); found != needed.end()) {
      phis--;
      instructions++;
      phi_size -= found->second;
      size += found->second;
      needed.erase(found);
      llvm::erase(in_order, values);
    }
    for (const Instruction *instruction : step)
      taken[instruction] = sunk.size();
    sunk.push_back(step);
    int phis_before = phis, size_before = phi_size;
    for (unsigned i = 0; i < step[0]->getNumOperands(); i++)
      need(operands(step, i), /*machine_cost=*/true);
    instructions -= phis - phis_before;
    size -= phi_size - size_before;
    if (!step[0]->isTerminator()) {
      instructions += step.size() - 1;
      size += int(step.size() - 1) * size_of(*step[0], *target);
    }
  }

  // What taking it would change.
  int gain(const std::vector<Instruction *> &step) const {
    int gained = int(step.size() - 1) * (1 + size_of(*step[0], *target));
    Tuple own(step.begin(), step.end());
    if (auto found = needed.find(own); found != needed.end())
      gained += 1 + found->second;
    std::set<Tuple> more;
    for (unsigned i = 0; i < step[0]->getNumOperands(); i++) {
      Tuple values = operands(step, i);
      if (!all_same(values) && !is_sunk(values) && !needed.count(values) && more.insert(values).second)
        gained -= 1 + size_of_phi(values);
    }
    return gained;
  }

  std::optional<std::vector<Instruction *>> best_step() const {
    std::optional<std::vector<Instruction *>> best;
    int most = 0;
    auto propose = [&](const std::vector<Instruction *> &step) {
      int gained = gain(step);
      if (!best || gained > most) {
        best = step;
        most = gained;
      }
    };
    for (const Tuple &values : in_order)
      if (auto step = as_step(values); step && may_take(*step))
        propose(*step);
    std::vector<std::vector<Instruction *>> ends;
    for (BasicBlock *block : blocks)
      ends.push_back(roots(block));
    for (Instruction *root : ends[0])
      if (auto step = matching(root, ends))
        propose(*step);
    return best;
  }

  std::optional<std::vector<Instruction *>> as_step(const Tuple &values) const {
    std::vector<Instruction *> step;
    for (size_t i = 0; i < values.size(); i++) {
      auto *instruction = dyn_cast<Instruction>(values[i]);
      if (!instruction || instruction->getParent() != blocks[i])
        return std::nullopt;
      step.push_back(instruction);
    }
    return step;
  }

  // Returns a block's instructions without users that may come after its remaining code, from the last one.
  std::vector<Instruction *> roots(BasicBlock *block) const {
    std::vector<Instruction *> found;
    unsigned seen = 0;
    for (Instruction &instruction : reverse(*block)) {
      if (instruction.isTerminator())
        continue;
      if (++seen > WINDOW)
        break;
      if (instruction.use_empty() && !taken.count(&instruction) && may_merge(instruction) && is_last(&instruction))
        found.push_back(&instruction);
    }
    return found;
  }

  // Returns the root with an equal operation in each other block: the one with most operands in common.
  std::optional<std::vector<Instruction *>> matching(Instruction *root,
                                                     ArrayRef<std::vector<Instruction *>> ends) const {
    std::vector<Instruction *> step{root};
    for (const auto &others : ends.drop_front()) {
      Instruction *like = nullptr;
      int most = -1;
      for (Instruction *other : others) {
        if (!Operations::same(*root, *other))
          continue;
        int common = count_if(zip(root->operands(), other->operands()),
                              [](auto pair) { return std::get<0>(pair).get() == std::get<1>(pair).get(); });
        if (common > most) {
          most = common;
          like = other;
        }
      }
      if (!like)
        return std::nullopt;
      step.push_back(like);
    }
    return may_take(step) ? std::optional(step) : std::nullopt;
  }

  bool may_take(const std::vector<Instruction *> &step) const {
    Tuple values(step.begin(), step.end());
    for (Instruction *instruction : step)
      if (taken.count(instruction) || !may_merge(*instruction) || !Operations::same(*step[0], *instruction) ||
          !all_of(instruction->uses(), [&](const Use &use) { return follows(use, values); }) || !is_last(instruction))
        return false;
    return operands_may_be(step);
  }

  bool operands_may_be(const std::vector<Instruction *> &step) const {
    for (unsigned i = 0; i < step[0]->getNumOperands(); i++) {
      Tuple values = operands(step, i);
      if (!all_same(values) && !may_differ(*step[0], i, values))
        return false;
    }
    return true;
  }

  // Returns whether a use, after sinking, uses all of the values at once.
  bool follows(const Use &use, const Tuple &values) const {
    auto *user = cast<Instruction>(use.getUser());
    if (auto found = taken.find(user); found != taken.end())
      return operands(sunk[found->second], use.getOperandNo()) == values;
    auto *phi = dyn_cast<PHINode>(user);
    auto found = phi ? into_phis.find({phi, phi->getIncomingBlock(use)}) : into_phis.end();
    return found != into_phis.end() && found->second == values;
  }

  // Returns whether an instruction may come after the remaining code of its block.
  bool is_last(const Instruction *instruction) const {
    unsigned seen = 0;
    for (auto next = std::next(instruction->getIterator()); !next->isTerminator(); ++next) {
      if (++seen > WINDOW)
        return false;
      if (!taken.count(&*next) && !swaps->may(*instruction, *next))
        return false;
    }
    return true;
  }
};

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

  static Tuple operands_of(ArrayRef<Instruction *> step, unsigned operand) {
    Tuple values;
    for (const Instruction *instruction : step)
      values.push_back(instruction->getOperand(operand));
    return values;
  }

  static Tuple incoming(const PHINode &phi, const Blocks &blocks) {
    Tuple values;
    for (const BasicBlock *block : blocks)
      values.push_back(phi.getIncomingValueForBlock(block));
    return values;
  }

  // Returns a new block with the common terminator; the other blocks branch to it.
  BasicBlock *end_in_new_block(const Blocks &blocks, ArrayRef<BasicBlock *> next) {
    auto *place = BasicBlock::Create(function.getContext(), "", &function, next.empty() ? nullptr : next[0]);
    std::vector<Instruction *> ends;
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

PreservedAnalyses Sink::run(Function &function, FunctionAnalysisManager &analyses) {
  return may_move_code(function) && Sinker(function, analyses).run() ? PreservedAnalyses::none()
                                                                     : PreservedAnalyses::all();
}

} // namespace burnish
