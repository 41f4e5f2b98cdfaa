#include "spawn.h"

#include <cerrno>
#include <csignal>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace burnish {
namespace {

// Runs in the child of vfork, in the parent's memory: system calls only.
int become(const Start &start, char *const *arguments, char *const *environment, pid_t parent) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number)
    sigaction(number, &action, nullptr); // Python ignores some signals, and exec keeps ignored signals ignored
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
    return errno;
  if (getppid() != parent)
    return ESRCH;
  if (dup2(start.input, 0) < 0 || dup2(start.output, 1) < 0 || dup2(start.errors, 2) < 0)
    return errno;
  syscall(SYS_close_range, 3u, ~0u, 0u); // Linux 5.9; before, Python's own descriptors close at exec
  if (chdir(start.directory.c_str()) < 0)
    return errno;
  if (start.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(start.cpu, &set);
    sched_setaffinity(0, sizeof set, &set); // if that is not allowed, the program runs on any core
  }
  for (const auto &[resource, value] : start.limits) {
    struct rlimit limit = {value, value};
    if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) < 0)
      return errno;
  }
  execve(start.executable.c_str(), arguments, environment);
  return errno;
}

std::vector<char *> pointers(const std::vector<std::string> &texts) {
  std::vector<char *> list;
  for (const std::string &text : texts)
    list.push_back(const_cast<char *>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

} // namespace

int spawn(const Start &start) {
  std::vector<char *> arguments = pointers(start.arguments), environment = pointers(start.environment);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); // so that none of our handlers runs in the child
  pid_t parent = getpid();
  volatile int error = 0;
  pid_t child = vfork();
  if (child == 0) {
    error = become(start, arguments.data(), environment.data(), parent);
    _exit(127);
  }
  int failed = child < 0 ? errno : error;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child > 0 && failed)
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  return failed ? -failed : child;
}

int open_counter(uint32_t type, uint64_t config) {
  struct perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  attributes.disabled = 1;
  attributes.inherit = 1;
  attributes.enable_on_exec = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  long descriptor = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  return descriptor < 0 ? -errno : static_cast<int>(descriptor);
}

} // namespace burnish
