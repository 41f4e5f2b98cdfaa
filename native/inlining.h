// A compile in which LLVM's inliner asks at each call, and the caller may answer.
#pragma once

#include "inline_advisor.h"
#include "network.h"

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

namespace llvm {
class thread;
}

namespace burnish {

// The compile of a copy of a module by clang<LEVEL>. Each call that may or may not be inlined is a question. Answers
// are stored by site, and LLVM's heuristic gives all others: without any answer, the result is that of clang<LEVEL>.
// There are no questions about always_inline, noinline, recursion and calls that cannot be inlined, and none at all
// once the module has grown to twice its size before inlining, as in LLVM's MLInlineAdvisor.
//
// The compile runs in its own thread and pauses at the requested questions. The object may be destroyed at any time.
class Inlining {
public:
  // With seed vectors, questions have the vectors of callee and caller.
  Inlining(const Module &opened, const std::string &level, InlineAnswers answers,
           std::shared_ptr<const SeedVectors> seed_vectors = nullptr);
  Inlining(const Inlining &) = delete;
  ~Inlining();

  // Each of these continues the compile; the heuristic answers all questions on the way. They throw the exceptions of
  // the compile (FatalError).
  bool ask();                          // to the first question without an answer; false if there is none
  bool reach(const std::string &site); // to an open question at a site; false if the compile does not reach it
  void finish();                       // to the end

  // Answers the question at which the compile pauses; throws InputError if it does not pause at one.
  void answer(bool inlined);

  // Lets a network give the heuristic's answers from here on, in the compile's own thread; its second output is to
  // inline. The compile does not pause for them, so use finish(). Throws InputError if the network takes other
  // features.
  void answer_by(std::shared_ptr<const Network> network);

  bool finished() const { return finished_; }
  const std::vector<InlineQuestion> &questions() const { return questions_; } // so far, in LLVM's order
  const SeedVectors *seed_vectors() const { return seed_vectors_.get(); }
  bool waits() const { return waits_; } // whether it pauses at the last of them
  // Returns the result of a finished compile and gives up its ownership; possible once.
  std::unique_ptr<Module> take();

private:
  class Decider;
  bool decide(InlineQuestion question);
  enum class Goal { ask, reach, finish, drop };
  bool go(Goal goal, const std::string &site = "");
  void compile(const std::string &level);
  void hand_over(std::unique_lock<std::mutex> &lock, bool to_compile);

  std::unique_ptr<Module> module_;
  InlineAnswers answers_;
  std::shared_ptr<const SeedVectors> seed_vectors_;
  std::shared_ptr<const Network> network_;
  std::vector<InlineQuestion> questions_;
  Goal goal_ = Goal::ask;
  std::string target_;
  bool waits_ = false, finished_ = false;
  std::exception_ptr error_;

  std::mutex mutex_; // guards `compiling_`, the turn; the thread whose turn it is owns all other members
  std::condition_variable changed_;
  bool compiling_ = false;
  std::unique_ptr<llvm::thread> thread_;
};

} // namespace burnish
