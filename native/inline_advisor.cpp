#include "inline_advisor.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/EphemeralValuesCache.h"
#include "llvm/Analysis/IR2Vec.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/InlineModelFeatureMaps.h"
#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/MLInlineAdvisor.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/TensorSpec.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"

using namespace llvm;

namespace burnish {
namespace {

// The model runner for LLVM's advisor, which receives a call's features and returns the answer. With a vocabulary, the
// last two features are the vectors of the callee and of the caller.
class Row final : public MLModelRunner {
public:
  Row(LLVMContext &context, const std::vector<TensorSpec> &specs)
      : MLModelRunner(context, Kind::Interactive, specs.size()),
        values(MLInlineAdvisor::getInitialFeatureMap().size()) {
    size_t numbers = 0;
    for (size_t i = values.size(); i < specs.size(); ++i)
      numbers += specs[i].getElementCount();
    vectors.resize(numbers);
    float *next = vectors.data();
    for (size_t i = 0; i < specs.size(); ++i) {
      setUpBufferForTensor(i, specs[i], i < values.size() ? static_cast<void *>(&values[i]) : next);
      next += i < values.size() ? 0 : specs[i].getElementCount();
    }
  }

  std::vector<int64_t> values;
  std::vector<float> vectors;
  int64_t inlined = 0;

private:
  void *evaluateUntyped() override { return &inlined; }
};

// The decisions of DefaultInlineAdvisor, with their costs, which LLVM's class does not expose.
struct Heuristic {
  FunctionAnalysisManager &analyses;
  InlineParams params;

  // Returns no cost if the heuristic would not inline; sets `weighed` to the cost of this call.
  std::optional<InlineCost> operator()(CallBase &call, std::optional<InlineCost> &weighed) const {
    Function &caller = *call.getCaller(), &callee = *call.getCalledFunction();
    auto *profile =
        analyses.getResult<ModuleAnalysisManagerFunctionProxy>(caller).getCachedResult<ProfileSummaryAnalysis>(
            *caller.getParent());
    auto &remarks = analyses.getResult<OptimizationRemarkEmitterAnalysis>(caller);
    auto &target = analyses.getResult<TargetIRAnalysis>(callee);
    auto assumptions = [&](Function &f) -> AssumptionCache & { return analyses.getResult<AssumptionAnalysis>(f); };
    auto frequencies = [&](Function &f) -> BlockFrequencyInfo & {
      return analyses.getResult<BlockFrequencyAnalysis>(f);
    };
    auto library = [&](Function &f) -> const TargetLibraryInfo & {
      return analyses.getResult<TargetLibraryAnalysis>(f);
    };
    auto ephemeral = [&](Function &f) -> EphemeralValuesCache & {
      return analyses.getResult<EphemeralValuesAnalysis>(f);
    };
    auto weigh = [&](CallBase &other) {
      InlineCost cost = getInlineCost(other, params, target, assumptions, library, frequencies, profile,
                                      /*ORE=*/nullptr, ephemeral);
      if (&other == &call)
        weighed = cost;
      return cost;
    };
    return shouldInline(call, target, weigh, remarks, params.EnableDeferral.value_or(false));
  }
};

// LLVM folds constants to estimate a cost, and the folded expressions remain at the head of the use lists of globals.
// This class removes expressions created since its construction, so that these lists, and all results that depend on
// them, are as without the estimate.
class Folded {
public:
  explicit Folded(llvm::Module &module) : module(module) {
    for (GlobalValue &global : module.global_values())
      first.push_back(global.use_empty() ? nullptr : &*global.use_begin());
  }

  void drop() const {
    const Use *const *before = first.data();
    for (GlobalValue &global : module.global_values()) {
      while (!global.use_empty() && &*global.use_begin() != *before && destroyed(*global.use_begin()->getUser()))
        ;
      ++before;
    }
  }

private:
  // Users of a new constant are new constants; a constant that code or a global uses is not new, and remains.
  static bool destroyed(User &user) {
    auto *constant = dyn_cast<Constant>(&user);
    if (!constant || isa<GlobalValue>(constant))
      return false;
    while (!constant->use_empty())
      if (!destroyed(*cast<User>(*constant->user_begin())))
        return false;
    constant->destroyConstant();
    return true;
  }

  llvm::Module &module;
  std::vector<const Use *> first; // of each global
};

// LLVM's advisor keeps statistics (numbers of functions and calls, the size of the module) and computes the features.
// It asks a model; this class asks the decider instead.
class AskingAdvisor final : public MLInlineAdvisor {
public:
  AskingAdvisor(llvm::Module &module, ModuleAnalysisManager &managers, Heuristic heuristic, InlineDecider &decider)
      : MLInlineAdvisor(
            module, managers,
            [&](const std::vector<TensorSpec> &specs) { return std::make_unique<Row>(module.getContext(), specs); },
            [](CallBase &) { return false; }),
        calls(managers.getResult<LazyCallGraphAnalysis>(module)), heuristic(heuristic), decider(decider) {}

private:
  LazyCallGraph &calls;
  Heuristic heuristic;
  InlineDecider &decider;
  std::optional<InlineCost> answer, weighed; // the heuristic's, of the call at hand
  bool asked = false;

  bool reachable(CallBase &call) {
    return FAM.getResult<DominatorTreeAnalysis>(*call.getCaller()).isReachableFromEntry(call.getParent());
  }

  // Returns whether LLVM's statistics could keep a deleted function: caller and callee are in different SCCs.
  bool may_be_missed(CallBase &call) {
    auto *caller = calls.lookup(*call.getCaller()), *callee = calls.lookup(*call.getCalledFunction());
    return caller && callee && calls.lookupSCC(*caller) != calls.lookupSCC(*callee);
  }

  std::unique_ptr<InlineAdvice> leave(CallBase &call) {
    return std::make_unique<InlineAdvice>(this, call, getCallerORE(call), false);
  }

  std::unique_ptr<InlineAdvice> by_heuristic(CallBase &call) {
    std::optional<InlineCost> weighed;
    auto cost = heuristic(call, weighed);
    return std::make_unique<DefaultInlineAdvice>(this, call, cost, getCallerORE(call));
  }

  // Without a question, LLVM's advisor inlines only mandatory calls. Here the heuristic decides then.
  std::unique_ptr<InlineAdvice> getAdviceImpl(CallBase &call) override {
    if (decider.dropped())
      return leave(call);
    if (isForcedToStop())
      return by_heuristic(call);
    if (!reachable(call)) // LLVM's statistics do not support these
      return may_be_missed(call) ? by_heuristic(call) : leave(call);
    weighed.reset();
    answer = heuristic(call, weighed); // first, so that the statistics do not affect the answer
    Folded folded(*call.getModule());
    asked = false;
    auto advice = MLInlineAdvisor::getAdviceImpl(call);
    folded.drop();
    if (asked || advice->isInliningRecommended())
      return advice;
    advice->recordUnattemptedInlining();
    return std::make_unique<DefaultInlineAdvice>(this, call, answer, getCallerORE(call));
  }

  // LLVM's advisor does not inline mandatory calls in unreachable code, either.
  std::unique_ptr<InlineAdvice> getMandatoryAdvice(CallBase &call, bool inlined) override {
    if (inlined && !reachable(call) && may_be_missed(call))
      return InlineAdvisor::getMandatoryAdvice(call, inlined);
    return MLInlineAdvisor::getMandatoryAdvice(call, inlined);
  }

  std::unique_ptr<MLInlineAdvice> getAdviceFromModel(CallBase &call, OptimizationRemarkEmitter &remarks) override {
    auto &row = static_cast<Row &>(*ModelRunner);
    InlineQuestion question;
    question.site = decider.name(call.getCaller()->getName().str(), call.getCalledFunction()->getName().str());
    question.features = row.values;
    question.vectors = row.vectors;
    question.heuristic = answer.has_value();
    if (weighed && weighed->isVariable()) {
      question.computed = true;
      question.cost = weighed->getCost();
      question.threshold = weighed->getThreshold();
    }
    asked = true;
    row.inlined = decider.decide(std::move(question)) && !decider.dropped();
    return MLInlineAdvisor::getAdviceFromModel(call, remarks);
  }
};

// The factory is a plain function, and is not given the managers.
thread_local InlineDecider *asked_one = nullptr;
thread_local ModuleAnalysisManager *module_analyses = nullptr;

InlineAdvisor *make_advisor(llvm::Module &module, FunctionAnalysisManager &functions, InlineParams params,
                            InlineContext) {
  if (asked_one->seed_vectors()) // LLVM computes vectors if this analysis has a result
    module_analyses->getResult<IR2VecVocabAnalysis>(module);
  return new AskingAdvisor(module, *module_analyses, {functions, params}, *asked_one);
}

} // namespace

Prepare asking(InlineDecider &decider) {
  return [&decider](ModuleAnalysisManager &analyses, PassInstrumentationCallbacks &callbacks) {
    asked_one = &decider;
    module_analyses = &analyses;
    if (const SeedVectors *seed = decider.seed_vectors())
      seed->provide(analyses);
    analyses.registerPass([] { return PluginInlineAdvisorAnalysis(make_advisor); });
    callbacks.registerShouldRunOptionalPassCallback([&decider](StringRef, Any) { return !decider.dropped(); });
  };
}

std::string InlineDecider::name(const std::string &caller, const std::string &callee) {
  std::string pair = caller + " > " + callee; // names may contain " > ": equal texts are counted together
  return pair + " #" + std::to_string(++counts_[pair]);
}

namespace {

class Given final : public InlineDecider {
public:
  explicit Given(const InlineAnswers &answers) : answers_(answers) {}

  bool decide(InlineQuestion question) override {
    auto answer = answers_.find(question.site);
    return answer == answers_.end() ? question.heuristic : answer->second;
  }

private:
  const InlineAnswers &answers_;
};

} // namespace

bool run_with_answers(Module &module, const std::string &pipeline, const std::string &level,
                      const InlineAnswers &answers) {
  Given given(answers);
  return run_pipeline(module, pipeline, level, asking(given));
}

std::vector<std::string> inlining_feature_names() {
  std::vector<std::string> names;
  for (const TensorSpec &spec : MLInlineAdvisor::getInitialFeatureMap())
    names.push_back(spec.name());
  return names;
}

} // namespace burnish
