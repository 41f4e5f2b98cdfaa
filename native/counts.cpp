#include "counts.h"

#include "levels.h"
#include "passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ProfileSummary.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Instrumentation/PGOForceFunctionAttrs.h"

#include <utility>

using namespace llvm;

namespace burnish {
namespace {

constexpr StringLiteral MARK = "burnish.profile", SETTLED = "burnish.settled";
constexpr StringLiteral COUNTERS = "counters", SAMPLES = "samples";

PGOOptions options_for(const ProfileUse &use) {
  auto action = use.kind == ProfileKind::counters ? PGOOptions::IRUse : PGOOptions::SampleUse;
  return {use.path,
          "",
          "",
          "",
          action,
          PGOOptions::NoCSAction,
          PGOOptions::ColdFuncOpt::Default,
          /*DebugInfoForProfiling=*/use.discriminators};
}

constexpr uint64_t SELDOM = 10000; // a hundred functions as often as this one are 1 % of the counts

// Marks functions for size whose blocks have few of the profile's counts.
struct Seldom : RequiredPassInfoMixin<Seldom> {
  PreservedAnalyses run(llvm::Module &module, ModuleAnalysisManager &analyses) {
    uint64_t total = total_count(module);
    if (!total)
      return PreservedAnalyses::all();
    auto &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    for (Function &function : module) {
      if (function.isDeclaration() || function.hasOptNone() || !function.getEntryCount())
        continue;
      auto &frequencies = functions.getResult<BlockFrequencyAnalysis>(function);
      uint64_t sum = 0;
      for (const BasicBlock &block : function)
        sum = SaturatingAdd(sum, frequencies.getBlockProfileCount(&block).value_or(0));
      if (sum <= total / SELDOM) {
        function.removeFnAttr(Attribute::OptimizeForSize);
        function.addFnAttr(Attribute::MinSize);
      }
    }
    return PreservedAnalyses::none();
  }
};

// Sets LLVM's global option for the lifetime of the object.
class Inference {
public:
  explicit Inference(bool on) {
    auto &known = cl::getRegisteredOptions();
    if (auto found = known.find("sample-profile-use-profi"); found != known.end())
      option = static_cast<cl::opt<bool> *>(found->second);
    if (option)
      before = std::exchange(static_cast<bool &>(option->getValue()), on);
  }
  Inference(const Inference &) = delete;
  Inference &operator=(const Inference &) = delete;
  ~Inference() {
    if (option)
      option->setValue(before);
  }

private:
  cl::opt<bool> *option = nullptr;
  bool before = false;
};

} // namespace

StringRef counting_pass(ProfileKind kind) {
  return kind == ProfileKind::counters ? "PGOInstrumentationUse" : "SampleProfileLoaderPass";
}

PGOOptions rest_of(ProfileKind kind) { return options_for({kind, "read"}); }

std::optional<ProfileKind> counted_profile(const llvm::Module &module) {
  const NamedMDNode *mark = module.getNamedMetadata(MARK);
  if (!mark || !mark->getNumOperands())
    return std::nullopt;
  const auto *kind = dyn_cast<MDString>(mark->getOperand(0)->getOperand(0));
  return kind && kind->getString() == SAMPLES ? ProfileKind::samples : ProfileKind::counters;
}

std::unique_ptr<Module> with_counts(const Module &module, const std::string &level, const ProfileUse &use) {
  auto copy = module.clone();
  LLVMContext &context = copy->ir().getContext();
  StringRef kind = use.kind == ProfileKind::counters ? COUNTERS : SAMPLES;
  copy->ir().getOrInsertNamedMetadata(MARK)->addOperand(MDNode::get(context, MDString::get(context, kind)));
  std::string counted;
  Inference inference(use.infers);
  Prepare keep = [&](ModuleAnalysisManager &, PassInstrumentationCallbacks &callbacks) {
    callbacks.registerShouldRunOptionalPassCallback([&](StringRef, Any) { return counted.empty(); });
    callbacks.registerAfterPassCallback([&](StringRef pass, Any ir, const PreservedAnalyses &) {
      const auto **found = any_cast<const llvm::Module *>(&ir);
      if (pass != counting_pass(use.kind) || !found || !counted.empty())
        return;
      raw_string_ostream stream(counted);
      WriteBitcodeToFile(**found, stream, /*ShouldPreserveUseListOrder=*/true);
    });
  };
  run_passes(*copy, clang_pipeline(copy->find_target(), parse_level(level), -1, options_for(use)), level, keep);
  if (counted.empty())
    throw FatalError("clang's pipeline at -" + level + " does not read the profile");
  return std::make_unique<Module>(counted, module.ir().getModuleIdentifier());
}

std::unique_ptr<Module> with_small_cold_functions(const Module &module, const std::string &level, Cold cold) {
  auto small = module.clone();
  ModulePassManager shrink;
  shrink.addPass(PGOForceFunctionAttrsPass(PGOOptions::ColdFuncOpt::MinSize));
  if (cold != Cold::llvms)
    shrink.addPass(Seldom());
  run_passes(*small, std::move(shrink), level, {});
  auto is_small = [](const Function &one) { return one.hasMinSize() && !one.isDeclaration(); };
  if (none_of(small->ir(), is_small))
    return nullptr;
  StringSet<> kept; // functions whose calls must not be inlined for now
  if (cold == Cold::not_inlined)
    for (Function &function : small->ir())
      if (is_small(function) && !function.hasFnAttribute(Attribute::AlwaysInline) &&
          !function.hasFnAttribute(Attribute::NoInline)) {
        function.addFnAttr(Attribute::NoInline);
        kept.insert(function.getName());
      }
  run_pipeline(*small, "clang<" + level + ">", level, nullptr);
  for (Function &function : small->ir()) {
    if (kept.contains(function.getName()))
      function.removeFnAttr(Attribute::NoInline);
    if (!function.isDeclaration() && !function.hasMinSize())
      function.addFnAttr(SETTLED);
  }
  small->ir().getOrInsertNamedMetadata(SETTLED);
  small->changed();
  return small->clone(); // with managers of its own, which skip settled functions
}

uint64_t total_count(const llvm::Module &module) {
  auto *summary = module.getProfileSummary(/*IsCS=*/false);
  std::unique_ptr<ProfileSummary> counts(summary ? ProfileSummary::getFromMD(summary) : nullptr);
  return counts ? counts->getTotalCount() : 0;
}

bool has_settled_functions(const llvm::Module &module) { return module.getNamedMetadata(SETTLED); }

bool may_change(StringRef pass, const Any &part) {
  auto is_settled = [](const Function &function) { return function.hasFnAttribute(SETTLED); };
  if (const auto *const *function = any_cast<const Function *>(&part))
    return !is_settled(**function);
  if (const auto *const *loop = any_cast<const Loop *>(&part))
    return !is_settled(*(*loop)->getHeader()->getParent());
  if (const auto *const *component = any_cast<const LazyCallGraph::SCC *>(&part))
    return none_of(**component, [&](const LazyCallGraph::Node &node) { return is_settled(node.getFunction()); });
  return pass == "GlobalDCEPass" || pass == "ConstantMergePass";
}

} // namespace burnish
