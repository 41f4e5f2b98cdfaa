// Code generation in which some of LLVM's decisions are made by somebody else, for each function.
#pragma once

#include "codegen.h"
#include "evictions.h"
#include "module.h"
#include "outlined.h"

#include <set>
#include <tuple>
#include <unordered_map>

namespace burnish {

// In which order the register allocator takes live ranges. Its classes (those that it must allocate last or first, by
// LLVM's DefaultPriorityAdvisor) stay as they are; within a class it is by LLVM's priority (in which what is larger
// comes earlier), by chance, or by LLVM's priority times a factor between 0.5 and 1.5 by chance.
enum class Priority { llvm, random, noisy };

// Of one function. As constructed: what LLVM does.
struct FunctionDecisions {
  std::set<std::string> skipped; // optional passes, by the names that LLVM's OptPassGate is asked with
  Priority priority = Priority::llvm;
  uint64_t seed = 0; // of the priority
};

// Of a module.
struct Decisions {
  FunctionDecisions others; // of functions that are not named
  std::unordered_map<std::string, FunctionDecisions> functions;
  Outline outline = Outline::none; // by the machine outliner
};

// What else to say of a code generation.
struct GenerationRequest {
  bool scores = false;                           // of the register allocation, instructions that are executed, gotos
  bool gate = false;                             // ask LLVM which passes are optional
  EvictionPolicy *policy = nullptr;              // that is asked which live ranges to evict
  const std::vector<uint64_t> *counts = nullptr; // of all blocks of the module: see block_counts.h
};

struct Generated {
  std::string object;
  // Of a call of each function, by static block frequencies: LLVM's calculateRegAllocScore, which weighs copies,
  // loads, stores and rematerializations; and how many machine instructions are executed, outlined ones included.
  std::vector<std::pair<std::string, double>> allocation_scores, executed;
  // Of each function, what a call of it is expected to take with all that it calls: see machine_time.h.
  std::vector<std::tuple<std::string, double, bool>> run_times;
  // Likewise, but of all calls together, by how often blocks were counted to be executed.
  std::vector<std::pair<std::string, double>> counted_scores, counted_executed;
  // From how many places of its machine code a function goes on by a computed goto, of those that do.
  std::vector<std::pair<std::string, int64_t>> computed_gotos;
  std::vector<std::string> optional; // the passes that the gate was asked about, by the alphabet
};

// What emit_object gives where nothing is decided, byte for byte. The module is not changed.
Generated generate(const Module &module, const BackEnd &back_end, const Decisions &decisions,
                   const GenerationRequest &request);

} // namespace burnish
