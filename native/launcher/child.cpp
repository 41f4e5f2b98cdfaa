#include "child.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace burnish {
namespace {

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

double monotonic() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

[[noreturn]] void die_of(int signal) {
  std::signal(signal, SIG_DFL);
  raise(signal);
  _exit(128 + signal);
}

} // namespace

int become(const std::string &program, const Words &arguments) {
  execv(program.c_str(), pointers(program, arguments).data());
  std::fprintf(stderr, "burnish: %s: %s\n", program.c_str(), std::strerror(errno));
  return 127;
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
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &old);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t started = 0;
  double begin = monotonic();
  int error =
      posix_spawn(&started, program.c_str(), nullptr, &attributes, pointers(program, arguments).data(), environ);
  child = started;
  sigprocmask(SIG_SETMASK, &old, nullptr);
  if (error) {
    std::fprintf(stderr, "burnish: %s: %s\n", program.c_str(), std::strerror(error));
    return {127, 0, 0};
  }
  int status = 0;
  while (waitpid(started, &status, 0) < 0 && errno == EINTR) {
  }
  child = 0;
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    if (sigismember(&heard, signal))
      std::signal(signal, SIG_DFL); // from here on it is this process that is meant
  if (WIFSIGNALED(status))
    die_of(WTERMSIG(status));
  if (stopped_by)
    die_of(stopped_by);
  double end = monotonic();
  return {WEXITSTATUS(status), end - begin, end};
}

} // namespace burnish
