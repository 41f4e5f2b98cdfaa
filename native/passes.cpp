#include "passes.h"

#include "attributes.h"
#include "counts.h"
#include "hoist.h"
#include "levels.h"
#include "llvm_options.h"
#include "outline/outline.h"
#include "settle.h"
#include "sink/sink.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ValueSymbolTable.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/ArgumentPromotion.h"
#include "llvm/Transforms/IPO/Inliner.h"
#include "llvm/Transforms/IPO/ModuleInliner.h"
#include "llvm/Transforms/Scalar/JumpThreading.h"

#include <optional>

using namespace llvm;

namespace burnish {
namespace {

// The counter of a symbol table from which LLVM makes names unique, private to LLVM: an explicit instantiation
// may name it.
template <uint32_t ValueSymbolTable::*counter> struct Opened {
  friend uint32_t &last_unique(ValueSymbolTable &table) { return table.*counter; }
};
template struct Opened<&ValueSymbolTable::LastUnique>;
uint32_t &last_unique(ValueSymbolTable &table);

// Returns the body of "name<body>".
std::optional<StringRef> parameters(StringRef text, StringRef name) {
  if (text.consume_front(name) && text.consume_front("<") && text.consume_back(">"))
    return text;
  return std::nullopt;
}

std::optional<int> number(StringRef body, StringRef key) {
  int value;
  if (body.consume_front(key) && body.consume_front("=") && !body.getAsInteger(10, value) && value >= 0)
    return value;
  return std::nullopt;
}

// "call-cost=N[;max-frequency=F][;max-slowdown=P]"
std::optional<Outline::Options> outline_options(StringRef body) {
  auto [cost, rest] = body.split(';');
  auto call_cost = number(cost, "call-cost");
  if (!call_cost || body.ends_with(";"))
    return std::nullopt;
  Outline::Options options = Outline::usual(*call_cost);
  while (!rest.empty()) {
    StringRef option;
    std::tie(option, rest) = rest.split(';');
    if (auto frequency = number(option, "max-frequency"))
      options.max_frequency = frequency;
    else if (auto slowdown = number(option, "max-slowdown"))
      options.max_slowdown = slowdown;
    else
      return std::nullopt;
  }
  return options;
}

// One threshold for every call site, with any size attributes of the caller.
InlineParams inline_params(int threshold) {
  InlineParams params = getInlineParams(threshold);
  params.HintThreshold = params.OptSizeHintThreshold = threshold;
  params.OptSizeThreshold = params.OptMinSizeThreshold = threshold;
  return params;
}

using Elements = ArrayRef<PassBuilder::PipelineElement>;

// clang's pipeline from the pass on that has written a profile's counts into the module. Earlier passes are skipped,
// but for those that LLVM requires; these change nothing a second time.
struct Rest : RequiredPassInfoMixin<Rest> {
  ModulePassManager passes;
  bool *skips; // read by the callback that skips passes

  Rest(ModulePassManager passes, bool *skips) : passes(std::move(passes)), skips(skips) {}

  PreservedAnalyses run(llvm::Module &module, ModuleAnalysisManager &analyses) {
    *skips = true;
    auto preserved = passes.run(module, analyses);
    *skips = false;
    return preserved;
  }
};

// `counted`: the kind of the profile that the module has counts of; `skips`: see Rest.
void register_parameterised(PassBuilder &builder, TargetMachine *target, std::optional<ProfileKind> counted,
                            bool *skips) {
  builder.registerPipelineParsingCallback([=](StringRef name, ModulePassManager &passes, Elements) {
    if (auto body = parameters(name, "clang")) {
      auto [level, option] = body->split(';');
      auto threshold = number(option, "inline-threshold");
      if (!option.empty() && !threshold)
        return false;
      try {
        Level parsed = parse_level(level);
        int limit = threshold.value_or(-1);
        if (counted && parsed.speed != OptimizationLevel::O0)
          passes.addPass(Rest(clang_pipeline(target, parsed, limit, rest_of(*counted)), skips));
        else
          passes.addPass(clang_pipeline(target, parsed, limit));
      } catch (const PipelineError &) {
        return false;
      }
      return true;
    }
    if (auto body = parameters(name, "inliner-wrapper"))
      if (auto n = number(*body, "threshold")) {
        passes.addPass(ModuleInlinerWrapperPass(inline_params(*n)));
        return true;
      }
    if (auto body = parameters(name, "module-inline"))
      if (auto n = number(*body, "threshold")) {
        passes.addPass(ModuleInlinerPass(inline_params(*n)));
        return true;
      }
    if (auto body = parameters(name, "outline"))
      if (auto options = outline_options(*body)) {
        passes.addPass(Outline(*options));
        return true;
      }
    return false;
  });
  builder.registerPipelineParsingCallback([](StringRef name, CGSCCPassManager &passes, Elements) {
    if (auto body = parameters(name, "argpromotion"))
      if (auto n = number(*body, "max-elements")) {
        passes.addPass(ArgumentPromotionPass(*n));
        return true;
      }
    return false;
  });
  builder.registerPipelineParsingCallback([](StringRef name, FunctionPassManager &passes, Elements) {
    if (name == "hoist-common" || name == "hoist-common<no-free>") {
      passes.addPass(Hoist(/*free=*/name == "hoist-common"));
      return true;
    }
    if (name == "sink-common") {
      passes.addPass(Sink());
      return true;
    }
    if (auto body = parameters(name, "frame-pointer"))
      if (auto n = number(*body, "calls")) {
        passes.addPass(FramePointer(*n));
        return true;
      }
    if (name == "no-jump-tables") {
      passes.addPass(NoJumpTables());
      return true;
    }
    if (name == "no-minsize") {
      passes.addPass(NoMinSize());
      return true;
    }
    if (auto body = parameters(name, "jump-threading"))
      if (auto n = number(*body, "threshold")) {
        passes.addPass(JumpThreadingPass(*n));
        return true;
      }
    return false;
  });
}

} // namespace

// Kept with the module, because registering all analyses takes longer than most passes on a small module. Emptied
// before each run, so that a pass' result depends on the module alone.
struct Managers {
  std::string level;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PassInstrumentationCallbacks callbacks;
  OptNoneInstrumentation optnone{/*DebugLogging=*/false};
  bool skips = false; // see Rest
  PassBuilder builder;

  Managers(TargetMachine *target, const std::string &level, const llvm::Module &module, const Prepare &prepare = {})
      : level(level), builder(target, clang_tuning(parse_level(level))) {
    if (prepare)
      prepare(modules, callbacks);
    auto counted = counted_profile(module);
    if (has_settled_functions(module)) {
      callbacks.registerShouldRunOptionalPassCallback(may_change);
      counted = std::nullopt; // the whole of a pipeline may run on the other functions
    }
    if (counted)
      callbacks.registerShouldRunOptionalPassCallback([this, last = counting_pass(*counted)](StringRef pass, Any) {
        bool runs = !skips;
        skips = skips && pass != last;
        return runs;
      });
    // Registered before the builder's, so that these are used. A builder with callbacks would store the name of every
    // pass class in them, which takes longer than most passes on a small module.
    auto instrumentation = [this] { return PassInstrumentationAnalysis(&callbacks); };
    loops.registerPass(instrumentation);
    functions.registerPass(instrumentation);
    sccs.registerPass(instrumentation);
    modules.registerPass(instrumentation);
    optnone.registerCallbacks(callbacks);
    register_parameterised(builder, target, counted, &skips);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(sccs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, sccs, modules);
  }

  void clear() {
    modules.clear();
    sccs.clear();
    functions.clear();
    loops.clear();
  }
};

namespace {

Managers &fresh_managers(Module &module, const std::string &level) {
  if (!module.managers || module.managers->level != level)
    module.managers = std::make_shared<Managers>(module.find_target(), level, module.ir());
  module.managers->clear();
  return *module.managers;
}

template <class Passes> Passes parse(PassBuilder &builder, const std::string &pipeline) {
  Passes passes;
  if (auto error = builder.parsePassPipeline(passes, pipeline))
    throw PipelineError(toString(std::move(error)));
  return passes;
}

// createModuleToFunctionPassAdaptor, for some functions only.
struct OnFunctions : RequiredPassInfoMixin<OnFunctions> {
  FunctionPassManager passes;
  std::vector<Function *> functions;

  PreservedAnalyses run(llvm::Module &module, ModuleAnalysisManager &analyses) {
    auto &manager = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    auto preserved = PreservedAnalyses::all();
    for (Function *function : functions) {
      auto kept = passes.run(*function, manager);
      manager.invalidate(*function, kept);
      preserved.intersect(std::move(kept));
    }
    preserved.preserve<FunctionAnalysisManagerModuleProxy>();
    return preserved;
  }
};

bool run_passes(Module &module, ModulePassManager &passes, Managers &managers) {
  // A copy by bitcode counts from 0. Outlined functions would have other names there, and entries of a trace with
  // these names could not be applied.
  last_unique(module.ir().getValueSymbolTable()) = module.last_number;
  module.changed(); // with any report: some passes report no change after changing an attribute or a use list
  bool changed = !passes.run(module.ir(), managers.modules).areAllPreserved();
  settle(module.ir());
  managers.clear(); // its results point into the module, which may change now
  return changed;
}

std::vector<Function *> find_functions(llvm::Module &module, const std::vector<std::string> &names) {
  std::vector<Function *> found;
  for (const std::string &name : names) {
    Function *function = module.getFunction(name);
    if (!function || function->isDeclaration())
      throw PipelineError("no function '" + name + "' with a body");
    found.push_back(function);
  }
  return found;
}

} // namespace

bool run_pipeline(Module &module, const std::string &pipeline, const std::string &level,
                  const std::vector<std::string> *functions) {
  Managers &managers = fresh_managers(module, level);
  ModulePassManager passes;
  if (functions) {
    OnFunctions some;
    some.functions = find_functions(module.ir(), *functions);
    some.passes = parse<FunctionPassManager>(managers.builder, pipeline);
    passes.addPass(std::move(some));
  } else {
    passes = parse<ModulePassManager>(managers.builder, pipeline);
  }
  std::shared_lock<std::shared_mutex> together(llvm_options_mutex()); // loop-reduce reads some
  return run_passes(module, passes, managers);
}

bool run_pipeline(Module &module, const std::string &pipeline, const std::string &level, const Prepare &prepare) {
  Managers managers(module.find_target(), level, module.ir(), prepare);
  auto passes = parse<ModulePassManager>(managers.builder, pipeline);
  return run_passes(module, passes, managers);
}

bool run_passes(Module &module, ModulePassManager passes, const std::string &level, const Prepare &prepare) {
  Managers managers(module.find_target(), level, module.ir(), prepare);
  return run_passes(module, passes, managers);
}

void check_pipeline(const std::string &pipeline, bool function_level) {
  Module nothing("; a module without a line\n", "nothing"); // some passes need the target
  Managers managers(nothing.find_target(), "Oz", nothing.ir());
  if (function_level)
    parse<FunctionPassManager>(managers.builder, pipeline);
  else
    parse<ModulePassManager>(managers.builder, pipeline);
}

void honour_mandatory(Module &module) {
  run_pipeline(module, "clang<O0>", "O0", nullptr);
  if (!module.ir().debug_compile_units().empty()) // as clang above -O0: keeps locations of promoted variables
    run_pipeline(module, "function(declare-to-assign)", "O0", nullptr);
}

std::string pass_catalogue() {
  std::string text;
  raw_string_ostream stream(text);
  PassBuilder().printPassNames(stream);
  return text;
}

} // namespace burnish
