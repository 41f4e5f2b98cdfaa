#include "plan.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Local.h"

#include <set>

using namespace llvm;

namespace burnish::sinking {

namespace {

constexpr unsigned PATIENCE = 6; // steps without a new best saving before the search stops

bool same_callee(const Instruction &one, const Instruction &other) {
  const auto *call = dyn_cast<CallBase>(&one);
  return !call || call->getCalledOperand() == cast<CallBase>(other).getCalledOperand();
}

bool same_cases(const Instruction &one, const Instruction &other) {
  const auto *first = dyn_cast<SwitchInst>(&one), *second = dyn_cast<SwitchInst>(&other);
  return !first || all_of(zip(first->cases(), second->cases()), [](auto pair) {
    return std::get<0>(pair).getCaseValue() == std::get<1>(pair).getCaseValue();
  });
}

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

// Returns machine instructions: each constant has to be loaded, and a register perhaps moved.
int size_of_phi(const Tuple &values) {
  int constants = count_if(values, [](const Value *value) { return isa<Constant>(value); });
  return constants + (constants < int(values.size()) ? 1 : 0);
}

} // namespace

bool is_direct(const BasicBlock &block) { return isa<UncondBrInst>(block.getTerminator()); }

Tuple operands_of(ArrayRef<Instruction *> step, unsigned operand) {
  Tuple values;
  for (const Instruction *instruction : step)
    values.push_back(instruction->getOperand(operand));
  return values;
}

Tuple incoming(const PHINode &phi, const Blocks &blocks) {
  Tuple values;
  for (const BasicBlock *block : blocks)
    values.push_back(phi.getIncomingValueForBlock(block));
  return values;
}

unsigned Operations::number(const Instruction &instruction) {
  auto &like = known[{instruction.getOpcode(), instruction.getNumOperands()}];
  for (auto [example, number] : like)
    if (same(*example, instruction))
      return number;
  like.emplace_back(&instruction, count);
  return count++;
}

bool Operations::same(const Instruction &one, const Instruction &other) {
  if (one.getOpcode() != other.getOpcode() || one.getNumOperands() != other.getNumOperands())
    return false;
  if (!one.isTerminator())
    return same_operation(one, other) && same_callee(one, other);
  return equal(successors(&one), successors(&other)) && same_cases(one, other) &&
         all_of(zip(one.operands(), other.operands()),
                [](auto pair) { return std::get<0>(pair)->getType() == std::get<1>(pair)->getType(); });
}

bool Swaps::may(const Instruction &first, const Instruction &second) {
  auto [known, added] = answers.try_emplace({&first, &second}, false);
  if (added)
    known->second = may_swap(first, second, aliases);
  return known->second;
}

Plan::Plan(Blocks members, Swaps &swaps, const TargetTransformInfo &target)
    : blocks(std::move(members)), swaps(&swaps), target(&target) {
  Instruction *end = blocks[0]->getTerminator();
  BasicBlock *successor = end->getNumSuccessors() == 1 ? end->getSuccessor(0) : nullptr;
  into_successor = is_direct(*blocks[0]) && successor->hasNPredecessors(blocks.size());
  for (BasicBlock *next : SmallSetVector<BasicBlock *, 4>(successors(end).begin(), successors(end).end()))
    for (PHINode &phi : next->phis()) {
      Tuple values = incoming(phi, blocks);
      for (size_t i = 0; i < blocks.size(); i++)
        into_phis[{&phi, blocks[i]}] = values;
      need(values, /*machine_cost=*/false);
    }
  int phis_before = into_successor ? phis : 0;
  instructions = phis_before - phis - (into_successor ? 0 : 1); // a block of its own: a branch in each, one end
  size = is_direct(*blocks[0]) && !into_successor ? -1 : 0;
  if (!is_direct(*blocks[0])) {
    Step ends;
    for (BasicBlock *block : blocks)
      ends.push_back(block->getTerminator());
    possible = operands_may_be(ends);
    if (possible)
      take(ends);
  }
}

bool Plan::complete() {
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

// Returns the number of blocks that have only a branch left; they are removed.
int Plan::emptied() const {
  return count_if(enumerate(blocks), [&](auto item) {
    BasicBlock *block = item.value();
    return block->size() == sunk.size() + is_direct(*block) && !block->hasAddressTaken() && !block->isEntryBlock();
  });
}

void Plan::need(const Tuple &values, bool machine_cost) {
  if (llvm::all_equal(values) || is_sunk(values))
    return;
  if (!needed.try_emplace(values, machine_cost ? size_of_phi(values) : 0).second)
    return;
  in_order.push_back(values);
  phis++;
  phi_size += needed[values];
}

bool Plan::is_sunk(const Tuple &values) const {
  const auto *first = dyn_cast<Instruction>(values[0]);
  auto found = first ? taken.find(first) : taken.end();
  return found != taken.end() && equal(sunk[found->second], values);
}

void Plan::take(const Step &step) {
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
    need(operands_of(step, i), /*machine_cost=*/true);
  instructions -= phis - phis_before;
  size -= phi_size - size_before;
  if (!step[0]->isTerminator()) {
    instructions += step.size() - 1;
    size += int(step.size() - 1) * size_of(*step[0], *target);
  }
}

// What taking it would change.
int Plan::gain(const Step &step) const {
  int gained = int(step.size() - 1) * (1 + size_of(*step[0], *target));
  Tuple own(step.begin(), step.end());
  if (auto found = needed.find(own); found != needed.end())
    gained += 1 + found->second;
  std::set<Tuple> more;
  for (unsigned i = 0; i < step[0]->getNumOperands(); i++) {
    Tuple values = operands_of(step, i);
    if (!llvm::all_equal(values) && !is_sunk(values) && !needed.count(values) && more.insert(values).second)
      gained -= 1 + size_of_phi(values);
  }
  return gained;
}

std::optional<Step> Plan::best_step() const {
  std::optional<Step> best;
  int most = 0;
  auto propose = [&](const Step &step) {
    int gained = gain(step);
    if (!best || gained > most) {
      best = step;
      most = gained;
    }
  };
  for (const Tuple &values : in_order)
    if (auto step = as_step(values); step && may_take(*step))
      propose(*step);
  std::vector<Step> ends;
  for (BasicBlock *block : blocks)
    ends.push_back(roots(block));
  for (Instruction *root : ends[0])
    if (auto step = matching(root, ends))
      propose(*step);
  return best;
}

std::optional<Step> Plan::as_step(const Tuple &values) const {
  Step step;
  for (size_t i = 0; i < values.size(); i++) {
    auto *instruction = dyn_cast<Instruction>(values[i]);
    if (!instruction || instruction->getParent() != blocks[i])
      return std::nullopt;
    step.push_back(instruction);
  }
  return step;
}

// Returns a block's instructions without users that may come after its remaining code, from the last one.
Step Plan::roots(BasicBlock *block) const {
  Step found;
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
std::optional<Step> Plan::matching(Instruction *root, ArrayRef<Step> ends) const {
  Step step{root};
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

bool Plan::may_take(const Step &step) const {
  Tuple values(step.begin(), step.end());
  for (Instruction *instruction : step)
    if (taken.count(instruction) || !may_merge(*instruction) || !Operations::same(*step[0], *instruction) ||
        !all_of(instruction->uses(), [&](const Use &use) { return follows(use, values); }) || !is_last(instruction))
      return false;
  return operands_may_be(step);
}

bool Plan::operands_may_be(const Step &step) const {
  for (unsigned i = 0; i < step[0]->getNumOperands(); i++) {
    Tuple values = operands_of(step, i);
    if (!llvm::all_equal(values) && !may_differ(*step[0], i, values))
      return false;
  }
  return true;
}

// Returns whether a use, after sinking, uses all of the values at once.
bool Plan::follows(const Use &use, const Tuple &values) const {
  auto *user = cast<Instruction>(use.getUser());
  if (auto found = taken.find(user); found != taken.end())
    return operands_of(sunk[found->second], use.getOperandNo()) == values;
  auto *phi = dyn_cast<PHINode>(user);
  auto found = phi ? into_phis.find({phi, phi->getIncomingBlock(use)}) : into_phis.end();
  return found != into_phis.end() && found->second == values;
}

// Returns whether an instruction may come after the remaining code of its block.
bool Plan::is_last(const Instruction *instruction) const {
  unsigned seen = 0;
  for (auto next = std::next(instruction->getIterator()); !next->isTerminator(); ++next) {
    if (++seen > WINDOW)
      return false;
    if (!taken.count(&*next) && !swaps->may(*instruction, *next))
      return false;
  }
  return true;
}

} // namespace burnish::sinking
