#include "jit.h"

#include "llvm_options.h"
#include "module.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <ctime>
#include <shared_mutex>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

using namespace llvm;

namespace burnish {
namespace {

template <class T> T checked(Expected<T> value, const char *what) {
  if (!value)
    throw FatalError(std::string(what) + ": " + toString(value.takeError()));
  return std::move(*value);
}

orc::JITTargetMachineBuilder builder_for(const Machine &machine) {
  auto builder = checked(orc::JITTargetMachineBuilder::detectHost(), "no code can be generated here");
  builder.setCPU(machine.cpu);
  builder.getFeatures() = SubtargetFeatures(machine.features);
  builder.setCodeGenOptLevel(CodeGenOptLevel::Aggressive);
  return builder;
}

std::unique_ptr<llvm::Module> parse(const std::string &ir, LLVMContext &context) {
  SMDiagnostic error;
  auto module = parseAssemblyString(ir, error, context);
  if (!module)
    throw FatalError("line " + std::to_string(error.getLineNo()) + ": " + error.getMessage().str() + ": " +
                     error.getLineContents().str());
  return module;
}

void optimize(llvm::Module &module, TargetMachine &target, const std::string &passes) {
  module.setTargetTriple(target.getTargetTriple());
  module.setDataLayout(target.createDataLayout());
  if (passes.empty())
    return;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&target);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  ModulePassManager pipeline;
  if (Error error = builder.parsePassPipeline(pipeline, passes))
    throw PipelineError(toString(std::move(error)));
  pipeline.run(module, modules);
}

// Writes memory back and removes it from the caches; does nothing on other processors than x86-64 and AArch64.
void flush(const Cold &memory) {
  constexpr uint64_t line = 64; // bytes
  for (uint64_t at = memory.first / line * line; at < memory.first + memory.second; at += line) {
#if defined(__x86_64__)
    _mm_clflush(reinterpret_cast<const void *>(at));
#elif defined(__aarch64__)
    asm volatile("dc civac, %0" ::"r"(at) : "memory");
#endif
  }
#if defined(__x86_64__)
  _mm_mfence();
#elif defined(__aarch64__)
  asm volatile("dsb ish" ::: "memory");
#endif
}

double seconds_of(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

} // namespace

Machine host_machine() {
  initialize_target();
  SubtargetFeatures features;
  for (const auto &[name, has] : sys::getHostCPUFeatures())
    features.AddFeature(name, has);
  return {sys::getHostCPUName().str(), features.getString()};
}

Machine machine_of(const std::string &cpu) {
  initialize_target();
  Triple triple(sys::getDefaultTargetTriple());
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    throw FatalError(error);
  std::unique_ptr<MCSubtargetInfo> generic(target->createMCSubtargetInfo(triple, "", ""));
  if (!generic->isCPUStringValid(cpu))
    throw InputError("no CPU named '" + cpu + "'; clang --print-supported-cpus lists them");
  std::unique_ptr<MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, cpu, ""));
  SubtargetFeatures features;
  for (const SubtargetFeatureKV *feature : known->getEnabledProcessorFeatures())
    features.AddFeature(feature->key());
  return {cpu, features.getString()};
}

Kernel::Kernel(const std::string &ir, const std::string &name, const std::string &passes, const Machine &machine) {
  initialize_target();
  auto builder = builder_for(machine);
  auto context = std::make_unique<LLVMContext>();
  auto module = parse(ir, *context);
  optimize(*module, *checked(builder.createTargetMachine(), "no code can be generated for this CPU"), passes);
  jit_ = checked(orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(builder)).create(), "LLJIT");
  if (Error error = jit_->addIRModule({std::move(module), std::move(context)}))
    throw FatalError(toString(std::move(error)));
  function_ = checked(jit_->lookup(name), "lookup").toPtr<Compiled>();
}

Kernel::~Kernel() = default;

void Kernel::run(const std::vector<uint64_t> &pointers) const { function_(pointers.data()); }

std::vector<double> Kernel::time(const std::vector<uint64_t> &pointers, int samples, double batch_seconds,
                                 bool passing) const {
  return time_calls(function_, pointers, samples, batch_seconds, passing);
}

std::vector<double> time_calls(Compiled function, const std::vector<uint64_t> &pointers, int samples,
                               double batch_seconds, bool passing) {
  constexpr double long_enough = 100; // times all batches: such a call is not affected by page faults and cold caches
  clockid_t clock = passing ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
  double once = 0, start = 0;
  for (double least : {long_enough, 1.0}) { // the first call has the page faults and cold caches
    start = seconds_of(clock);
    function(pointers.data());
    once = std::max(seconds_of(clock) - start, 1e-7);
    if (once > least * samples * batch_seconds)
      return {once};
  }
  int calls = std::max(1, int(batch_seconds / once));
  std::vector<double> seconds;
  for (int i = 0; i < samples; ++i) {
    start = seconds_of(clock);
    for (int call = 0; call < calls; ++call)
      function(pointers.data());
    seconds.push_back((seconds_of(clock) - start) / calls);
  }
  return seconds;
}

std::vector<double> time_cold_calls(Compiled function, const std::vector<uint64_t> &pointers, int samples,
                                    const std::vector<Cold> &cold) {
  function(pointers.data()); // for the page faults
  std::vector<double> seconds;
  for (int i = 0; i < samples; ++i) {
    for (const Cold &memory : cold)
      flush(memory);
    double start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    function(pointers.data());
    seconds.push_back(seconds_of(CLOCK_THREAD_CPUTIME_ID) - start);
  }
  return seconds;
}

std::string compile_object(const std::string &ir, const std::string &passes, const Machine &machine) {
  initialize_target();
  LLVMContext context;
  auto module = parse(ir, context);
  auto builder = builder_for(machine);
  builder.setRelocationModel(Reloc::PIC_).setCodeModel(CodeModel::Small); // as a C compiler's objects are
  auto target = checked(builder.createTargetMachine(), "no code can be generated for this CPU");
  optimize(*module, *target, passes);
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager emit;
  std::shared_lock<std::shared_mutex> together(llvm_options_mutex());
  if (target->addPassesToEmitFile(emit, stream, nullptr, CodeGenFileType::ObjectFile))
    throw FatalError("the target cannot emit object files");
  emit.run(*module);
  return std::string(bytes.data(), bytes.size());
}

} // namespace burnish
