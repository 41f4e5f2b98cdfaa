#include "block_counts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include <algorithm>

using namespace llvm;

namespace burnish {
namespace {

constexpr const char *LIBRARY[] = {"open", "write", "close"};
constexpr int CREATE_AND_APPEND = 02101, MODE = 0600; // O_WRONLY | O_CREAT | O_APPEND of Linux

template <class Visit> void each_block(llvm::Module &module, Visit visit) {
  for (Function &function : module)
    for (BasicBlock &block : function)
      visit(block);
}

FunctionCallee library(llvm::Module &module, const char *name, FunctionType *type) {
  Function *own = module.getFunction(name);
  if (own && !own->isDeclaration())
    throw InputError(std::string("the program has its own function '") + name + "', which counting needs of C");
  return module.getOrInsertFunction(name, type);
}

// Adds all counts to the file when the program ends.
void write_at_end(llvm::Module &module, GlobalVariable *counts, uint64_t bytes, const std::string &path) {
  LLVMContext &context = module.getContext();
  Type *number = Type::getInt32Ty(context), *size = Type::getInt64Ty(context), *pointer = PointerType::get(context, 0);
  auto open = library(module, LIBRARY[0], FunctionType::get(number, {pointer, number}, true));
  auto write = library(module, LIBRARY[1], FunctionType::get(size, {number, pointer, size}, false));
  auto close = library(module, LIBRARY[2], FunctionType::get(number, {number}, false));
  auto *end = Function::Create(FunctionType::get(Type::getVoidTy(context), false), GlobalValue::InternalLinkage,
                               "burnish.write_counts", module);
  IRBuilder<> builder(BasicBlock::Create(context, "entry", end));
  Value *name = builder.CreateGlobalString(path, "burnish.counts_path");
  Value *file = builder.CreateCall(open, {name, builder.getInt32(CREATE_AND_APPEND), builder.getInt32(MODE)});
  builder.CreateCall(write, {file, counts, builder.getInt64(bytes)});
  builder.CreateCall(close, {file});
  builder.CreateRetVoid();
  appendToGlobalDtors(module, end, 0);
}

} // namespace

std::unique_ptr<Module> counting(const Module &module, const std::string &path) {
  auto copy = module.clone();
  llvm::Module &ir = copy->ir();
  size_t blocks = count_blocks(module);
  Type *word = Type::getInt64Ty(ir.getContext());
  auto *type = ArrayType::get(word, blocks);
  auto *counts = new GlobalVariable(ir, type, false, GlobalValue::InternalLinkage, ConstantAggregateZero::get(type),
                                    "burnish.counts");
  uint64_t number = 0;
  each_block(ir, [&](BasicBlock &block) {
    uint64_t mine = number++;
    auto place = block.getFirstInsertionPt();
    if (place == block.end() || block.getParent()->hasFnAttribute(Attribute::Naked))
      return;
    // after allocas, which have to stay together in an entry block
    while (isa<AllocaInst>(&*place))
      ++place;
    IRBuilder<> builder(&block, place);
    builder.SetCurrentDebugLocation(DebugLoc());
    Value *slot = builder.CreateConstInBoundsGEP2_64(type, counts, 0, mine);
    builder.CreateStore(builder.CreateAdd(builder.CreateLoad(word, slot), builder.getInt64(1)), slot);
  });
  for (Function &function : ir) // its memory attributes are no longer true
    if (!function.isDeclaration()) {
      function.removeFnAttr(Attribute::Memory);
      for (auto attribute : {Attribute::NoSync, Attribute::Speculatable})
        function.removeFnAttr(attribute);
    }
  write_at_end(ir, counts, blocks * sizeof(uint64_t), path);
  copy->changed();
  copy->verify();
  return copy;
}

size_t count_blocks(const Module &module) {
  size_t count = 0;
  each_block(module.ir(), [&](BasicBlock &) { ++count; });
  return count;
}

BlockCounts::BlockCounts(llvm::Module &module, const std::vector<uint64_t> &counts) : counts(counts) {
  each_block(module, [&](BasicBlock &block) { blocks.emplace_back(&block); });
  if (blocks.size() != counts.size())
    throw InputError(std::to_string(counts.size()) + " counts of blocks, and the module has " +
                     std::to_string(blocks.size()) + " blocks");
}

std::vector<double> BlockCounts::of(const MachineFunction &function,
                                    const MachineBlockFrequencyInfo &frequencies) const {
  const Function *source = &function.getFunction();
  DenseMap<const BasicBlock *, double> counted, largest;
  for (size_t i = 0; i < blocks.size(); ++i)
    if (auto *block = dyn_cast_or_null<BasicBlock>(blocks[i].operator Value *()))
      if (block->getParent() == source)
        counted[block] = double(counts[i]);
  auto expected = [&](const MachineBasicBlock &block) { return frequencies.getBlockFreqRelativeToEntryBlock(&block); };
  for (const MachineBasicBlock &block : function) // of several from one IR block, the most frequent has its count
    if (const BasicBlock *from = block.getBasicBlock())
      largest[from] = std::max(largest[from], expected(block));
  std::vector<double> found(function.getNumBlockIDs(), -1.0);
  for (const MachineBasicBlock &block : function) {
    auto known = counted.find(block.getBasicBlock());
    if (block.getBasicBlock() && known != counted.end())
      found[block.getNumber()] =
          known->second * (largest[known->first] > 0 ? expected(block) / largest[known->first] : 1);
  }
  double calls = std::max(0.0, found[function.front().getNumber()]);
  std::vector<double> estimated = found;
  for (const MachineBasicBlock &block : function) {
    if (found[block.getNumber()] >= 0)
      continue;
    SmallVector<const MachineBasicBlock *, 8> neighbours(block.predecessors());
    neighbours.append(block.succ_begin(), block.succ_end());
    auto *other = llvm::find_if(
        neighbours, [&](const MachineBasicBlock *one) { return found[one->getNumber()] >= 0 && expected(*one) > 0; });
    double share = other == neighbours.end() ? calls : found[(*other)->getNumber()] / expected(**other);
    estimated[block.getNumber()] = share * expected(block);
  }
  return estimated;
}

} // namespace burnish
