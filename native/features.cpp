#include "features.h"

#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/FunctionPropertiesAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <array>

using namespace llvm;

namespace burnish {
namespace {

// CompilerGym counted LLVM 10's opcodes. LLVM 23 split `br` in two (one column here) and added
// `ptrtoaddr` (in the total only). UserOp1 and UserOp2 never occur.
struct Column {
  const char *name;
  std::array<unsigned, 2> opcodes;
};
using I = Instruction;
constexpr std::array<Column, opcode_count_size - 3> opcode_columns{{
    {"Ret", {I::Ret}},
    {"Br", {I::UncondBr, I::CondBr}},
    {"Switch", {I::Switch}},
    {"IndirectBr", {I::IndirectBr}},
    {"Invoke", {I::Invoke}},
    {"Resume", {I::Resume}},
    {"Unreachable", {I::Unreachable}},
    {"CleanupRet", {I::CleanupRet}},
    {"CatchRet", {I::CatchRet}},
    {"CatchSwitch", {I::CatchSwitch}},
    {"CallBr", {I::CallBr}},
    {"FNeg", {I::FNeg}},
    {"Add", {I::Add}},
    {"FAdd", {I::FAdd}},
    {"Sub", {I::Sub}},
    {"FSub", {I::FSub}},
    {"Mul", {I::Mul}},
    {"FMul", {I::FMul}},
    {"UDiv", {I::UDiv}},
    {"SDiv", {I::SDiv}},
    {"FDiv", {I::FDiv}},
    {"URem", {I::URem}},
    {"SRem", {I::SRem}},
    {"FRem", {I::FRem}},
    {"Shl", {I::Shl}},
    {"LShr", {I::LShr}},
    {"AShr", {I::AShr}},
    {"And", {I::And}},
    {"Or", {I::Or}},
    {"Xor", {I::Xor}},
    {"Alloca", {I::Alloca}},
    {"Load", {I::Load}},
    {"Store", {I::Store}},
    {"GetElementPtr", {I::GetElementPtr}},
    {"Fence", {I::Fence}},
    {"AtomicCmpXchg", {I::AtomicCmpXchg}},
    {"AtomicRMW", {I::AtomicRMW}},
    {"Trunc", {I::Trunc}},
    {"ZExt", {I::ZExt}},
    {"SExt", {I::SExt}},
    {"FPToUI", {I::FPToUI}},
    {"FPToSI", {I::FPToSI}},
    {"UIToFP", {I::UIToFP}},
    {"SIToFP", {I::SIToFP}},
    {"FPTrunc", {I::FPTrunc}},
    {"FPExt", {I::FPExt}},
    {"PtrToInt", {I::PtrToInt}},
    {"IntToPtr", {I::IntToPtr}},
    {"BitCast", {I::BitCast}},
    {"AddrSpaceCast", {I::AddrSpaceCast}},
    {"CleanupPad", {I::CleanupPad}},
    {"CatchPad", {I::CatchPad}},
    {"ICmp", {I::ICmp}},
    {"FCmp", {I::FCmp}},
    {"PHI", {I::PHI}},
    {"Call", {I::Call}},
    {"Select", {I::Select}},
    {"UserOp1", {I::UserOp1}},
    {"UserOp2", {I::UserOp2}},
    {"VAArg", {I::VAArg}},
    {"ExtractElement", {I::ExtractElement}},
    {"InsertElement", {I::InsertElement}},
    {"ShuffleVector", {I::ShuffleVector}},
    {"ExtractValue", {I::ExtractValue}},
    {"InsertValue", {I::InsertValue}},
    {"LandingPad", {I::LandingPad}},
    {"Freeze", {I::Freeze}},
}};

using OpcodeHistogram = std::array<int64_t, I::OtherOpsEnd>;

void count_function(const Function &function, int64_t *totals, OpcodeHistogram &histogram) {
  if (function.isDeclaration())
    return;
  ++totals[2];
  for (const BasicBlock &block : function) {
    ++totals[1];
    for (const Instruction &instruction : block) {
      ++totals[0];
      ++histogram[instruction.getOpcode()];
    }
  }
}

// Positions in the 56 features of AutoPhase (Huang et al. 2019), as CompilerGym orders them.
// clang-format off: a table
enum Autophase {
  BBNumArgsHi, BBNumArgsLo, OnePred, OnePredOneSuc, OnePredTwoSuc, OneSuccessor, TwoPred, TwoPredOneSuc,
  TwoEach, TwoSuccessor, MorePreds, BB03Phi, BBHiPhi, BBNoPhi, BeginPhi, BranchCount, ReturnInt,
  CriticalCount, NumEdges, Const32Bit, Const64Bit, NumConstZeroes, NumConstOnes, UncondBranches,
  BinaryConstArg, NumAShr, NumAdd, NumAlloca, NumAnd, BlockMid, BlockLow, NumBitCast, NumBr, NumCall,
  NumGetElementPtr, NumICmp, NumLShr, NumLoad, NumMul, NumOr, NumPHI, NumRet, NumSExt, NumSelect, NumShl,
  NumStore, NumSub, NumTrunc, NumXor, NumZExt, TotalBlocks, TotalInsts, TotalMemInst, TotalFuncs, ArgsPhi,
  TestUnary
};
// clang-format on
static_assert(TestUnary + 1 == autophase_size);

void autophase_opcodes(const OpcodeHistogram &histogram, int64_t *out) {
  // clang-format off: a table
  constexpr std::pair<Autophase, unsigned> columns[] = {
      {NumAShr, I::AShr}, {NumAdd, I::Add}, {NumAlloca, I::Alloca}, {NumAnd, I::And},
      {NumBitCast, I::BitCast}, {NumCall, I::Call}, {NumGetElementPtr, I::GetElementPtr},
      {NumICmp, I::ICmp}, {NumLShr, I::LShr}, {NumLoad, I::Load}, {NumMul, I::Mul}, {NumOr, I::Or},
      {NumPHI, I::PHI}, {NumRet, I::Ret}, {NumSExt, I::SExt}, {NumSelect, I::Select}, {NumShl, I::Shl},
      {NumStore, I::Store}, {NumSub, I::Sub}, {NumTrunc, I::Trunc}, {NumXor, I::Xor}, {NumZExt, I::ZExt}};
  // clang-format on
  for (auto [column, opcode] : columns)
    out[column] = histogram[opcode];
  out[UncondBranches] = histogram[I::UncondBr];
  out[NumBr] = out[BranchCount] = histogram[I::UncondBr] + histogram[I::CondBr];
  out[TotalMemInst] = histogram[I::GetElementPtr] + histogram[I::Load] + histogram[I::Store] + histogram[I::Call] +
                      histogram[I::Invoke] + histogram[I::Alloca];
}

void autophase_edges(const BasicBlock &block, int64_t *out) {
  const Instruction *terminator = block.getTerminator();
  size_t successors = terminator->getNumSuccessors();
  size_t predecessors = pred_size(&block);
  out[NumEdges] += successors;
  for (size_t i = 0; i < successors; ++i)
    out[CriticalCount] += isCriticalEdge(terminator, i);
  out[OneSuccessor] += successors == 1;
  out[TwoSuccessor] += successors == 2;
  out[OnePred] += predecessors == 1;
  out[TwoPred] += predecessors == 2;
  out[MorePreds] += predecessors > 2;
  out[OnePredOneSuc] += predecessors == 1 && successors == 1;
  out[TwoPredOneSuc] += predecessors == 2 && successors == 1;
  out[OnePredTwoSuc] += predecessors == 1 && successors == 2;
  out[TwoEach] += predecessors == 2 && successors == 2;
}

void autophase_constant(const ConstantInt &constant, int64_t *out) {
  out[Const32Bit] += constant.getBitWidth() == 32;
  out[Const64Bit] += constant.getBitWidth() == 64;
  out[NumConstZeroes] += constant.isZero();
  out[NumConstOnes] += constant.isOne();
}

void autophase_operands(const Instruction &instruction, int64_t *out) {
  for (const Use &operand : instruction.operands())
    if (auto *constant = dyn_cast<ConstantInt>(operand))
      autophase_constant(*constant, out);
  if (auto *branch = dyn_cast<SwitchInst>(&instruction)) // its case values were operands in LLVM 10
    for (const auto &branch_case : branch->cases())
      autophase_constant(*branch_case.getCaseValue(), out);
  if (auto *call = dyn_cast<CallInst>(&instruction))
    if (const Function *callee = call->getCalledFunction())
      out[ReturnInt] += callee->getReturnType()->isIntegerTy();
  out[TestUnary] += isa<UnaryInstruction>(instruction);
  if (isa<BinaryOperator>(instruction))
    out[BinaryConstArg] += isa<Constant>(instruction.getOperand(0)) || isa<Constant>(instruction.getOperand(1));
}

void autophase_block(const BasicBlock &block, int64_t *out) {
  size_t phis = 0, incoming = 0, size = 0;
  for (const Instruction &instruction : block) {
    ++size;
    if (auto *phi = dyn_cast<PHINode>(&instruction)) {
      ++phis;
      incoming += phi->getNumIncomingValues();
    }
    autophase_operands(instruction, out);
  }
  out[BeginPhi] += phis > 0;
  out[ArgsPhi] += incoming;
  out[BBNoPhi] += phis == 0;
  out[BB03Phi] += phis > 0 && phis <= 3;
  out[BBHiPhi] += phis > 3;
  out[BBNumArgsHi] += incoming > 5;
  out[BBNumArgsLo] += incoming >= 1 && incoming <= 5;
  out[BlockLow] += size < 15;
  out[BlockMid] += size >= 15 && size <= 500;
}

struct Property {
  const char *name;
  int64_t FunctionPropertiesInfo::*field;
};
#define PROPERTY(NAME) {#NAME, &FunctionPropertiesInfo::NAME}
// clang-format off: a table
constexpr Property properties[] = {
    PROPERTY(BasicBlockCount), PROPERTY(BlocksReachedFromConditionalInstruction), PROPERTY(Uses),
    PROPERTY(DirectCallsToDefinedFunctions), PROPERTY(LoadInstCount), PROPERTY(StoreInstCount),
    PROPERTY(MaxLoopDepth), PROPERTY(TopLevelLoopCount), PROPERTY(TotalInstructionCount)};
// clang-format on
#undef PROPERTY

} // namespace

std::vector<std::string> opcode_count_names() {
  std::vector<std::string> names{"TotalInsts", "TotalBlocks", "TotalFuncs"};
  for (const Column &column : opcode_columns)
    names.push_back(column.name);
  return names;
}

std::vector<std::string> function_property_names() {
  std::vector<std::string> names;
  for (const Property &property : properties)
    names.push_back(property.name);
  return names;
}

int64_t instruction_count(const Module &module) { return module.ir().getInstructionCount(); }

std::vector<std::pair<std::string, int64_t>> instruction_count_by_function(const Module &module) {
  std::vector<std::pair<std::string, int64_t>> counts;
  for (const Function &function : module.ir())
    if (!function.isDeclaration())
      counts.emplace_back(function.getName().str(), function.getInstructionCount());
  return counts;
}

void opcode_counts(const Module &module, const std::string *name, int64_t *out) {
  OpcodeHistogram histogram{};
  std::fill_n(out, opcode_count_size, 0);
  if (name) {
    const Function *function = module.ir().getFunction(*name);
    if (!function || function->isDeclaration())
      throw PipelineError("no function '" + *name + "' with a body");
    count_function(*function, out, histogram);
  } else {
    for (const Function &function : module.ir())
      count_function(function, out, histogram);
  }
  for (size_t i = 0; i < opcode_columns.size(); ++i)
    for (unsigned opcode : opcode_columns[i].opcodes)
      out[3 + i] += opcode ? histogram[opcode] : 0;
}

void autophase(const Module &module, int64_t *out) {
  OpcodeHistogram histogram{};
  int64_t totals[3] = {};
  std::fill_n(out, autophase_size, 0);
  for (const Function &function : module.ir()) {
    count_function(function, totals, histogram);
    for (const BasicBlock &block : function) {
      autophase_edges(block, out);
      autophase_block(block, out);
    }
  }
  autophase_opcodes(histogram, out);
  out[TotalInsts] = totals[0];
  out[TotalBlocks] = totals[1];
  out[TotalFuncs] = totals[2];
}

void function_properties(Module &module, std::vector<int64_t> &out) {
  out.clear();
  for (Function &function : module.ir()) {
    if (function.isDeclaration())
      continue;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    auto info = FunctionPropertiesInfo::getFunctionPropertiesInfo(function, dominators, loops, nullptr);
    for (const Property &property : properties)
      out.push_back(info.*property.field);
  }
}

} // namespace burnish
