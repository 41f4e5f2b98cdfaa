#include "child.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace burnish {
namespace {

constexpr int CANNOT_START = 127; // as of a shell

volatile pid_t child = 0;
volatile sig_atomic_t stopped_by = 0;

void pass_on(int signal) {
  stopped_by = signal;
  if (child > 0)
    kill(child, signal);
}

std::vector<char *> pointers(const std::string &program, const Words &arguments) {
  std::vector<char *> result = {const_cast<char *>(program.c_str())};
  for (const auto &argument : arguments)
    result.push_back(const_cast<char *>(argument.c_str()));
  result.push_back(nullptr);
  return result;
}

double seconds(const timeval &time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); }

// Become the program in a child, which ends with its parent.
[[noreturn]] void begin(const std::string &program, const std::vector<char *> &words, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent) // it may have ended before
    execv(program.c_str(), words.data());
  _exit(CANNOT_START);
}

} // namespace

void die_of(int signal) {
  std::signal(signal, SIG_DFL);
  raise(signal);
  _exit(128 + signal);
}

void try_to_become(const std::string &program, const Words &arguments) {
  execv(program.c_str(), pointers(program, arguments).data());
}

int become(const std::string &program, const Words &arguments) {
  try_to_become(program, arguments);
  std::fprintf(stderr, "burnish: %s: %s\n", program.c_str(), std::strerror(errno));
  return CANNOT_START;
}

Ended run(const std::string &program, const Words &arguments) {
  struct sigaction action = {}, before = {};
  action.sa_handler = pass_on;
  sigset_t heard;
  sigemptyset(&heard);
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {
      sigaction(signal, &action, nullptr); // what is caught is the default again in a child; what is ignored stays so
      sigaddset(&heard, signal);
    }
  // none of them may come between the child's start and when its number is known
  sigset_t old;
  sigprocmask(SIG_BLOCK, &heard, &old);
  auto words = pointers(program, arguments);
  pid_t parent = getpid();
  pid_t started = fork();
  if (started == 0) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
      if (sigismember(&heard, signal))
        std::signal(signal, SIG_DFL);
    sigprocmask(SIG_SETMASK, &old, nullptr);
    begin(program, words, parent);
  }
  child = started;
  sigprocmask(SIG_SETMASK, &old, nullptr);
  if (started < 0) {
    std::fprintf(stderr, "burnish: %s: %s\n", program.c_str(), std::strerror(errno));
    return {CANNOT_START, 0, 0};
  }
  int status = 0;
  rusage used = {};
  while (wait4(started, &status, 0, &used) < 0 && errno == EINTR) {
  }
  child = 0;
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    if (sigismember(&heard, signal))
      std::signal(signal, SIG_DFL); // from here on it is this process that is meant
  int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (stopped_by)
    die_of(signal ? signal : stopped_by);
  return {signal ? 128 + signal : WEXITSTATUS(status), signal, seconds(used.ru_utime) + seconds(used.ru_stime)};
}

} // namespace burnish
