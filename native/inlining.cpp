#include "inlining.h"

#include "levels.h"

#include "llvm/Support/thread.h"

using namespace llvm;

namespace burnish {
namespace {

constexpr unsigned STACK_BYTES = 16 << 20; // more than a process' first thread has

} // namespace

// The decider that the compile asks. Inlining itself is not a decider, because nanobind needs type information of
// classes with virtual functions, and LLVM is built without it.
class Inlining::Decider final : public InlineDecider {
public:
  explicit Decider(Inlining &inlining) : inlining_(inlining) {}

  bool decide(InlineQuestion question) override { return inlining_.decide(std::move(question)); }
  bool dropped() const override { return inlining_.goal_ == Goal::drop; }
  const SeedVectors *seed_vectors() const override { return inlining_.seed_vectors_.get(); }

private:
  Inlining &inlining_;
};

Inlining::Inlining(const Module &opened, const std::string &level, InlineAnswers answers,
                   std::shared_ptr<const SeedVectors> seed_vectors)
    : module_(opened.clone()), answers_(std::move(answers)), seed_vectors_(std::move(seed_vectors)) {
  parse_level(level); // throws here, not at the first question
  thread_ = std::make_unique<llvm::thread>(std::optional(STACK_BYTES), [this, level] { compile(level); });
}

Inlining::~Inlining() {
  if (!finished_)
    go(Goal::drop);
  thread_->join();
}

bool Inlining::ask() { return go(Goal::ask); }

bool Inlining::reach(const std::string &site) { return go(Goal::reach, site); }

void Inlining::finish() { go(Goal::finish); }

void Inlining::answer(bool inlined) {
  if (!waits_)
    throw InputError("the compile waits at no question");
  answers_[questions_.back().site] = inlined;
}

void Inlining::answer_by(std::shared_ptr<const Network> network) {
  size_t features = inlining_feature_names().size();
  if (network->inputs() != features || network->outputs() != 2)
    throw InputError("a network of " + std::to_string(network->inputs()) + " features and " +
                     std::to_string(network->outputs()) + " outputs; expected " + std::to_string(features) + " and 2");
  network_ = std::move(network);
}

std::unique_ptr<Module> Inlining::take() {
  if (!finished_ || error_ || !module_)
    throw InputError("the compile is not finished, or its result was taken");
  return std::move(module_);
}

// Continues the compile to a goal; returns whether it is paused there.
bool Inlining::go(Goal goal, const std::string &site) {
  bool there = waits_ && !answers_.count(questions_.back().site) &&
               (goal == Goal::ask || (goal == Goal::reach && questions_.back().site == site));
  if (!finished_ && !there) {
    goal_ = goal;
    target_ = site;
    waits_ = false;
    std::unique_lock lock(mutex_);
    hand_over(lock, true);
  }
  if (error_ && goal != Goal::drop)
    std::rethrow_exception(error_);
  return waits_;
}

// Gives the turn to the other thread, and returns when it is given back.
void Inlining::hand_over(std::unique_lock<std::mutex> &lock, bool to_compile) {
  compiling_ = to_compile;
  changed_.notify_all();
  changed_.wait(lock, [&] { return compiling_ != to_compile; });
}

// The thread.
void Inlining::compile(const std::string &level) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return compiling_; });
  Decider decider(*this);
  try {
    run_pipeline(*module_, "clang<" + level + ">", level, asking(decider));
  } catch (...) {
    error_ = std::current_exception();
  }
  finished_ = true;
  compiling_ = false;
  changed_.notify_all();
}

bool Inlining::decide(InlineQuestion question) {
  question.inlined = question.heuristic;
  questions_.push_back(std::move(question));
  auto answer = answers_.find(questions_.back().site);
  bool stop = goal_ == Goal::ask || (goal_ == Goal::reach && questions_.back().site == target_);
  if (answer == answers_.end() && stop) {
    waits_ = true;
    std::unique_lock lock(mutex_, std::adopt_lock); // compile() holds it
    hand_over(lock, false);
    lock.release();
    answer = answers_.find(questions_.back().site);
  }
  if (answer != answers_.end())
    questions_.back().inlined = answer->second;
  else if (network_ && goal_ != Goal::drop)
    questions_.back().inlined = network_->choose(questions_.back().features.data()) == 1;
  return questions_.back().inlined;
}

} // namespace burnish
