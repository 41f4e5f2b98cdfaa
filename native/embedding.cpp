#include "embedding.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/IR2Vec.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

#include <algorithm>

using namespace llvm;
using llvm::ir2vec::Vocabulary;

namespace burnish {
namespace {

// The paper's W_o, W_t and W_a; LLVM scales the vocabulary by them when it reads it.
constexpr float opcode_weight = 1.0f, type_weight = 0.5f, operand_weight = 0.2f;

void add(float *to, const float *vector, float weight, size_t dimension) {
  for (size_t i = 0; i < dimension; ++i)
    to[i] += weight * vector[i];
}

// The vectors of one function's instructions: [[l]] = W_o [[O]] + W_t [[T]] + W_a sum of [[A_i]], where [[A_i]] is, if
// flow-aware, the vector of the instruction that defines the operand.
class FunctionVectors {
public:
  FunctionVectors(const Function &function, const std::vector<float> &entities, size_t dimension, bool flow_aware,
                  float *rows)
      : entities_(entities), dimension_(dimension), flow_aware_(flow_aware), next_(rows) {
    for (const BasicBlock &block : function)
      for (const Instruction &instruction : block) {
        rows_[&instruction] = next_;
        next_ += dimension;
      }
    // Definitions come before uses, except around a loop: such an operand counts as a variable.
    for (const BasicBlock *block : ReversePostOrderTraversal<const Function *>(&function))
      embed(*block);
    for (const BasicBlock &block : function)
      if (!embedded_.contains(&block))
        unreachable_.push_back(&block);
    for (const BasicBlock *block : unreachable_)
      embed(*block);
  }

  size_t size() const { return rows_.size(); }

  void sum(const Function &function, float *total) const {
    SmallPtrSet<const BasicBlock *, 8> dead(unreachable_.begin(), unreachable_.end());
    for (const BasicBlock &block : function)
      if (!dead.contains(&block))
        for (const Instruction &instruction : block)
          add(total, rows_.lookup(&instruction), 1, dimension_);
  }

private:
  // The values that were stored through a pointer so far.
  struct Stores {
    const BasicBlock *block = nullptr; // of the last store
    const float *last = nullptr;
    std::vector<float> sum;
    size_t count = 0;
  };

  const float *entity(unsigned index) const { return entities_.data() + index * dimension_; }

  void embed(const BasicBlock &block) {
    embedded_.insert(&block);
    for (const Instruction &instruction : block) {
      float *row = rows_.lookup(&instruction);
      add(row, entity(Vocabulary::getIndex(instruction.getOpcode())), 1, dimension_);
      add(row, entity(Vocabulary::getIndex(instruction.getType()->getTypeID())), 1, dimension_);
      if (auto *compare = dyn_cast<CmpInst>(&instruction))
        add(row, entity(Vocabulary::getIndex(compare->getPredicate())), 1, dimension_);
      add_operands(instruction, row);
      defined_.insert(&instruction);
      if (auto *store = dyn_cast<StoreInst>(&instruction); store && flow_aware_)
        record(*store, row);
    }
  }

  void add_operands(const Instruction &instruction, float *row) {
    auto *load = dyn_cast<LoadInst>(&instruction);
    if (load && flow_aware_ && add_stores(*load, row))
      return;
    // A phi has the value of one operand, not of all.
    float share = flow_aware_ && isa<PHINode>(instruction) ? 1.0f / instruction.getNumOperands() : 1.0f;
    for (const Use &use : instruction.operands()) {
      auto *definition = dyn_cast<Instruction>(use.get());
      if (flow_aware_ && definition && defined_.contains(definition))
        add(row, rows_.lookup(definition), share * operand_weight, dimension_);
      else
        add(row, entity(Vocabulary::getIndex(*use.get())), share, dimension_);
    }
  }

  // A load's operand is the value that was stored last in the same block, else the mean of all that were stored.
  bool add_stores(const LoadInst &load, float *row) const {
    auto found = stores_.find(load.getPointerOperand());
    if (found == stores_.end())
      return false;
    const Stores &stores = found->second;
    if (stores.block == load.getParent())
      add(row, stores.last, operand_weight, dimension_);
    else
      add(row, stores.sum.data(), operand_weight / stores.count, dimension_);
    return true;
  }

  void record(const StoreInst &store, const float *row) {
    Stores &stores = stores_[store.getPointerOperand()];
    stores.block = store.getParent();
    stores.last = row;
    stores.sum.resize(dimension_);
    add(stores.sum.data(), row, 1, dimension_);
    ++stores.count;
  }

  const std::vector<float> &entities_;
  const size_t dimension_;
  const bool flow_aware_;
  float *next_;
  DenseMap<const Instruction *, float *> rows_;
  SmallPtrSet<const Instruction *, 32> defined_;
  SmallPtrSet<const BasicBlock *, 8> embedded_;
  std::vector<const BasicBlock *> unreachable_;
  DenseMap<const Value *, Stores> stores_;
};

} // namespace

SeedVectors::SeedVectors(const std::string &path) {
  auto vocabulary = Vocabulary::fromFile(path, opcode_weight, type_weight, operand_weight);
  if (!vocabulary)
    throw InputError(toString(vocabulary.takeError()));
  dimension_ = vocabulary->getDimension();
  entities_.reserve(dimension_ * Vocabulary::getCanonicalSize());
  for (const ir2vec::Embedding &entity : *vocabulary)
    entities_.insert(entities_.end(), entity.begin(), entity.end());
}

void SeedVectors::provide(ModuleAnalysisManager &analyses) const {
  analyses.registerPass([this] {
    std::vector<std::vector<ir2vec::Embedding>> sections;
    const float *row = entities_.data();
    for (size_t entities : {Vocabulary::MaxOpcodes, Vocabulary::MaxCanonicalTypeIDs, Vocabulary::MaxOperandKinds,
                            Vocabulary::MaxPredicateKinds})
      for (auto &section = sections.emplace_back(); section.size() < entities; row += dimension_)
        section.emplace_back(std::vector<double>(row, row + dimension_));
    return IR2VecVocabAnalysis(ir2vec::VocabStorage(std::move(sections)));
  });
}

std::vector<float> SeedVectors::instructions(const Module &module, bool flow_aware) const {
  std::vector<float> rows;
  for (const Function &function : module.ir()) {
    if (function.isDeclaration())
      continue;
    size_t begin = rows.size();
    rows.resize(begin + function.getInstructionCount() * dimension_);
    FunctionVectors(function, entities_, dimension_, flow_aware, rows.data() + begin);
  }
  return rows;
}

std::vector<float> SeedVectors::functions(const Module &module, bool flow_aware) const {
  std::vector<float> totals, rows;
  for (const Function &function : module.ir()) {
    if (function.isDeclaration())
      continue;
    rows.assign(function.getInstructionCount() * dimension_, 0);
    totals.resize(totals.size() + dimension_);
    FunctionVectors(function, entities_, dimension_, flow_aware, rows.data())
        .sum(function, totals.data() + totals.size() - dimension_);
  }
  return totals;
}

std::vector<std::pair<std::string, std::string>> ir2vec_entities() {
  std::vector<std::pair<std::string, std::string>> entities;
  for (unsigned i = 0; i < Vocabulary::getCanonicalSize(); ++i) {
    const char *section = i < Vocabulary::MaxOpcodes                                     ? "Opcodes"
                          : i < Vocabulary::MaxOpcodes + Vocabulary::MaxCanonicalTypeIDs ? "Types"
                                                                                         : "Arguments";
    entities.emplace_back(section, Vocabulary::getStringKey(i).str());
  }
  return entities;
}

} // namespace burnish
