// A compile in which LLVM's inliner asks at each call, and somebody else may answer.
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

// A copy of a module on its way through clang<LEVEL>. Each call that may or may not be inlined is a question; answers
// are by site, and where there is none LLVM's heuristic answers: without any, the module becomes what clang<LEVEL>
// makes of it. always_inline, noinline, recursion and what cannot be inlined are no questions, nor is anything once
// the module has grown to twice its size before inlining, as in LLVM's MLInlineAdvisor.
//
// The compile waits in a thread of its own wherever it is asked to; whoever is done with it may drop it at any time.
class Inlining {
public:
  Inlining(const Module &opened, const std::string &level, InlineAnswers answers);
  Inlining(const Inlining &) = delete;
  ~Inlining();

  // Each goes on; the heuristic answers what is passed by. Throws what the compile throws (FatalError).
  bool ask();                          // to the first question without an answer; false where there is none
  bool reach(const std::string &site); // to an open question at a site; false where it does not come
  void finish();                       // to the end

  // Answers the question that the compile waits at; throws InputError where it waits at none.
  void answer(bool inlined);

  // From here on a network answers what would be the heuristic's, in the compile's own thread: of its outputs, the
  // second is to inline. Nothing waits for it, so it is for finish(). Throws InputError where it takes other features.
  void answer_by(std::shared_ptr<const Network> network);

  bool finished() const { return finished_; }
  const std::vector<InlineQuestion> &questions() const { return questions_; } // so far, in LLVM's order
  bool waits() const { return waits_; }                                       // at the last of them
  // The result of a finished compile, once: the caller's.
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
  std::shared_ptr<const Network> network_;
  std::vector<InlineQuestion> questions_;
  Goal goal_ = Goal::ask;
  std::string target_;
  bool waits_ = false, finished_ = false;
  std::exception_ptr error_;

  std::mutex mutex_; // whose turn it is; all else belongs to whose turn it is
  std::condition_variable changed_;
  bool compiling_ = false;
  std::unique_ptr<llvm::thread> thread_;
};

} // namespace burnish
