#include "graph.h"
#include "texts.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace burnish {
namespace {

constexpr int64_t nowhere = -1; // for nodes without a function or block
constexpr int64_t external = 0; // the node and the function that stand for all code outside the module
constexpr StringLiteral external_text = "[external]";
constexpr StringLiteral function_text = "[function]";

enum Kind : int64_t { InstructionNode, VariableNode, ConstantNode, TypeNode };
enum FunctionKind : int64_t { External, Defined, Declared };

void append(std::vector<int64_t> &rows, std::initializer_list<int64_t> row) { rows.insert(rows.end(), row); }

// Intrinsics are instructions in the form of calls, not functions of the program.
bool is_function(const Function &function) { return !function.isIntrinsic(); }

// Returns whether code outside the module may call the function, or implements it.
bool meets_outside(const Function &function) {
  return function.isDeclaration() || !function.hasLocalLinkage() || function.hasAddressTaken();
}

const Function *callee_of(const CallBase &call) {
  return dyn_cast<Function>(call.getCalledOperand()->stripPointerCastsAndAliases());
}

// A call of a known function, or of a pointer (nullptr).
bool leaves_function(const CallBase &call, const Function *callee) {
  return callee ? is_function(*callee) : !call.isInlineAsm();
}

class ProgramGraph {
public:
  explicit ProgramGraph(bool types) : types_(types) {}

  Graph build(const llvm::Module &module) {
    reserve(module.getInstructionCount());
    add_node(InstructionNode, texts_.fixed(external_text), external, nowhere);
    int64_t number = external, block = 0;
    for (const Function &function : module)
      if (is_function(function))
        add_function(function, ++number, block);
    for (const Function &function : module)
      if (is_function(function))
        connect_function(function);
    connect_constants();
    if (types_)
      connect_types();
    graph_.texts = texts_.take();
    return std::move(graph_);
  }

private:
  struct Boundary {
    int64_t entry;
    SmallVector<int64_t, 2> exits;
  };

  // Most instructions have a result, and three or four edges.
  void reserve(size_t instructions) {
    graph_.nodes.reserve(instructions * 2 * program_graph_columns);
    graph_.edges.reserve(instructions * 4 * graph_edge_columns);
    nodes_.reserve(instructions);
  }

  int64_t add_node(Kind kind, int64_t text, int64_t function, int64_t block) {
    append(graph_.nodes, {kind, text, function, block});
    return count_++;
  }

  int64_t add_variable(const Type *type, int64_t function, int64_t block) {
    int64_t node = add_node(VariableNode, texts_.type(type), function, block);
    if (types_)
      typed_.emplace_back(type, node);
    return node;
  }

  void add_edge(int64_t source, int64_t target, Flow flow, int64_t position) {
    append(graph_.edges, {source, target, flow, position});
  }

  // First all nodes that a function owns, because uses may come before definitions. The node of an instruction's
  // result follows the instruction's node.
  void add_function(const Function &function, int64_t number, int64_t &block) {
    Boundary &boundary = boundaries_[&function];
    if (function.isDeclaration()) {
      boundary.entry = add_node(InstructionNode, texts_.declaration(function), number, nowhere);
      boundary.exits.push_back(boundary.entry);
      return;
    }
    for (const Argument &argument : function.args())
      nodes_[&argument] = add_variable(argument.getType(), number, nowhere);
    for (const BasicBlock &basic_block : function) {
      for (const Instruction &instruction : basic_block) {
        nodes_[&instruction] = add_node(InstructionNode, texts_.instruction(instruction), number, block);
        if (!instruction.getType()->isVoidTy())
          add_variable(instruction.getType(), number, block);
      }
      const Instruction *end = basic_block.getTerminator();
      if (!end->getNumSuccessors() && !isa<UnreachableInst>(end))
        boundary.exits.push_back(nodes_.lookup(end));
      ++block;
    }
    boundary.entry = first_of(function.getEntryBlock());
  }

  int64_t first_of(const BasicBlock &block) const { return nodes_.lookup(&block.front()); }

  void connect_function(const Function &function) {
    for (const BasicBlock &block : function) {
      int64_t last = nowhere;
      for (const Instruction &instruction : block) {
        int64_t node = nodes_.lookup(&instruction);
        if (last != nowhere)
          add_edge(last, node, ControlFlow, 0);
        connect_data(instruction, node);
        if (auto *call = dyn_cast<CallBase>(&instruction))
          connect_call(*call, node);
        last = node;
      }
      for (auto [position, successor] : enumerate(successors(&block)))
        add_edge(last, first_of(*successor), ControlFlow, position);
    }
    if (meets_outside(function))
      connect_boundary(external, boundaries_.find(&function)->second);
  }

  void connect_data(const Instruction &instruction, int64_t node) {
    auto *call = dyn_cast<CallBase>(&instruction);
    for (const Use &use : instruction.operands()) {
      const Value *operand = use.get();
      if (isa<BasicBlock, MetadataAsValue, InlineAsm>(operand) || (call && call->isCallee(&use) && callee_of(*call)))
        continue;
      add_edge(data_node(operand), node, DataFlow, use.getOperandNo());
    }
    if (auto *branch = dyn_cast<SwitchInst>(&instruction)) // its case values are not operands
      for (auto branch_case : branch->cases())
        add_edge(constant_node(*branch_case.getCaseValue()), node, DataFlow, branch_case.getSuccessorIndex());
    if (!instruction.getType()->isVoidTy())
      add_edge(node, node + 1, DataFlow, 0);
  }

  int64_t data_node(const Value *value) {
    if (isa<Instruction>(value))
      return nodes_.lookup(value) + 1;
    if (auto *constant = dyn_cast<Constant>(value))
      return constant_node(*constant);
    return nodes_.lookup(value);
  }

  int64_t constant_node(const Constant &constant) {
    auto [entry, added] = nodes_.try_emplace(&constant, count_);
    int64_t node = entry->second;
    if (added) {
      add_node(ConstantNode, texts_.constant(constant), nowhere, nowhere);
      constants_.push_back(&constant);
      auto *variable = dyn_cast<GlobalVariable>(&constant);
      if (types_)
        typed_.emplace_back(variable ? variable->getValueType() : constant.getType(), node);
    }
    return node;
  }

  void connect_call(const CallBase &call, int64_t node) {
    const Function *callee = callee_of(call);
    if (!leaves_function(call, callee))
      return;
    if (callee) {
      connect_boundary(node, boundaries_.find(callee)->second);
    } else {
      add_edge(node, external, CallFlow, 0);
      add_edge(external, node, CallFlow, 0);
    }
  }

  void connect_boundary(int64_t site, const Boundary &boundary) {
    add_edge(site, boundary.entry, CallFlow, 0);
    for (int64_t exit : boundary.exits)
      add_edge(exit, site, CallFlow, 0);
  }

  // The operands of a constant expression are data, because it is an instruction inside an operand.
  void connect_constants() {
    for (size_t i = 0; i < constants_.size(); ++i) // which grows
      if (auto *expression = dyn_cast<ConstantExpr>(constants_[i])) {
        int64_t node = nodes_.lookup(expression);
        for (const Use &use : expression->operands())
          add_edge(constant_node(*cast<Constant>(use.get())), node, DataFlow, use.getOperandNo());
      }
  }

  void connect_types() {
    MapVector<const Type *, int64_t> types;
    auto node_of = [&](const Type *type) {
      auto [entry, added] = types.try_emplace(type, count_);
      if (added)
        add_node(TypeNode, texts_.type(type), nowhere, nowhere);
      return entry->second;
    };
    for (auto [type, node] : typed_)
      add_edge(node_of(type), node, TypeFlow, 0);
    for (size_t i = 0; i < types.size(); ++i) { // which grows
      auto [type, node] = *(types.begin() + i);
      for (unsigned position = 0; position < type->getNumContainedTypes(); ++position)
        add_edge(node_of(type->getContainedType(position)), node, TypeFlow, position);
    }
  }

  const bool types_;
  Graph graph_;
  Texts texts_;
  int64_t count_ = 0;
  DenseMap<const Value *, int64_t> nodes_; // of instructions, arguments, constants
  DenseMap<const Function *, Boundary> boundaries_;
  std::vector<const Constant *> constants_; // in the order of their nodes
  std::vector<std::pair<const Type *, int64_t>> typed_;
};

void append_block(std::vector<int64_t> &rows, const BasicBlock &block, int64_t function, int64_t depth) {
  int64_t instructions = 0, phis = 0, loads = 0, stores = 0, calls = 0;
  for (const Instruction &instruction : block) {
    ++instructions;
    phis += isa<PHINode>(instruction);
    loads += isa<LoadInst>(instruction);
    stores += isa<StoreInst>(instruction);
    auto *call = dyn_cast<CallBase>(&instruction);
    calls += call && leaves_function(*call, callee_of(*call));
  }
  append(rows, {function, instructions, phis, loads, stores, calls, depth});
}

void append_function(std::vector<int64_t> &rows, const Function &function) {
  FunctionKind kind = function.isDeclaration() ? Declared : Defined;
  append(rows, {kind, function.getInstructionCount(), int64_t(function.size()), function.hasLocalLinkage()});
}

} // namespace

Graph program_graph(const Module &module, bool types) { return ProgramGraph(types).build(module.ir()); }

Graph block_graph(const Module &module) {
  Graph graph;
  int64_t number = external, count = 0;
  for (Function &function : module.ir()) {
    number += is_function(function);
    if (function.isDeclaration())
      continue;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    DenseMap<const BasicBlock *, int64_t> nodes;
    for (const BasicBlock &block : function) {
      nodes[&block] = count++;
      append_block(graph.nodes, block, number, loops.getLoopDepth(&block));
    }
    for (const BasicBlock &block : function)
      for (auto [position, successor] : enumerate(successors(&block)))
        append(graph.edges, {nodes.lookup(&block), nodes.lookup(successor), ControlFlow, int64_t(position)});
  }
  return graph;
}

Graph call_graph(const Module &module) {
  Graph graph;
  DenseMap<const Function *, int64_t> nodes;
  graph.nodes = {External, 0, 0, 0};
  graph.texts.push_back(external_text.str());
  for (const Function &function : module.ir())
    if (is_function(function)) {
      nodes[&function] = graph.texts.size();
      graph.texts.push_back(function.getName().str());
      append_function(graph.nodes, function);
    }
  for (const Function &function : module.ir())
    if (is_function(function) && !function.isDeclaration() && meets_outside(function))
      append(graph.edges, {external, nodes.lookup(&function), CallFlow, 0});
  for (const Function &function : module.ir()) {
    MapVector<int64_t, int64_t> sites; // by callee, in the order of their first call
    for (const BasicBlock &block : function)
      for (const Instruction &instruction : block)
        if (auto *call = dyn_cast<CallBase>(&instruction))
          if (const Function *callee = callee_of(*call); leaves_function(*call, callee))
            ++sites[callee ? nodes.lookup(callee) : external];
    for (auto [callee, count] : sites)
      append(graph.edges, {nodes.lookup(&function), callee, CallFlow, count});
  }
  return graph;
}

Sequence instruction_sequence(const Module &module) {
  Sequence sequence;
  Texts texts;
  for (const Function &function : module.ir()) {
    if (function.isDeclaration())
      continue;
    sequence.tokens.push_back(texts.fixed(function_text));
    for (const BasicBlock &block : function)
      for (const Instruction &instruction : block)
        sequence.tokens.push_back(texts.instruction(instruction));
  }
  sequence.texts = texts.take();
  return sequence;
}

} // namespace burnish
