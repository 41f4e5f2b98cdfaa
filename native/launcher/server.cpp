#include "server.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sched.h>
#include <set>
#include <string_view>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

extern char **environ;

namespace burnish {
namespace {

constexpr time_t RECENT_SECONDS = 60; // between two notes of one kind
constexpr int LOCK = 3;               // the descriptor of a server's lock; see burnish.cc.server
constexpr auto START_SECONDS = std::chrono::seconds(10);
constexpr auto LOOK = std::chrono::milliseconds(5); // between two attempts to connect

std::string content_of(const char *path) {
  std::string text(4096, '\0');
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t size = descriptor < 0 ? 0 : read(descriptor, text.data(), text.size());
  if (descriptor >= 0)
    close(descriptor);
  text.resize(size > 0 ? size : 0);
  return text;
}

// What a process inherits and a server could not take over from its callers: each of these has a server of its own.
std::string surroundings(const std::string &folder) {
  std::string text = folder + '\n' + content_of("/proc/self/cgroup");
  struct stat status = {};
  for (const auto &path : {std::string("/"), folder + "/burnish", folder + "/burnish-cc"})
    if (stat(path.c_str(), &status) == 0)
      text += std::to_string(status.st_dev) + ' ' + std::to_string(status.st_ino) + ' ' +
              std::to_string(status.st_mtim.tv_sec) + '\n';
  for (const char *kind : {"mnt", "user", "pid", "net", "ipc"}) {
    std::array<char, 128> name = {};
    auto link = std::string("/proc/self/ns/") + kind;
    if (readlink(link.c_str(), name.data(), name.size() - 1) > 0)
      text += name.data();
  }
  for (int kind = 0; kind < RLIM_NLIMITS; ++kind) {
    struct rlimit limit = {};
    getrlimit(static_cast<__rlimit_resource>(kind), &limit);
    text += std::to_string(limit.rlim_cur) + ' ' + std::to_string(limit.rlim_max) + '\n';
  }
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
    text.append(reinterpret_cast<const char *>(&cpus), sizeof cpus);
  text += std::to_string(getpriority(PRIO_PROCESS, 0)) + '\n';
  for (char **variable = environ; *variable; ++variable)
    if (starts_with_any(*variable, {"PYTHON", "LD_", "MALLOC_", "GLIBC_", "VIRTUAL_ENV="}))
      text += std::string(*variable) + '\n';
  return text;
}

std::string digest(std::string_view text) { // FNV-1a, twice, by different beginnings
  std::string result;
  for (uint64_t value : {0xcbf29ce484222325ull, 0x84222325cbf29ce4ull}) {
    for (unsigned char byte : text)
      value = (value ^ byte) * 0x100000001b3ull;
    char hex[17];
    std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(value));
    result += hex;
  }
  return result;
}

// Return the folder of sockets and notes, which this user alone may enter; empty if others may, or made it.
std::string private_folder() {
  const char *runtime = std::getenv("XDG_RUNTIME_DIR");
  auto folder =
      runtime && *runtime == '/' ? std::string(runtime) + "/burnish" : "/tmp/burnish-" + std::to_string(getuid());
  mkdir(folder.c_str(), 0700);
  struct stat status = {};
  bool ours = lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == getuid() &&
              !(status.st_mode & 077);
  return ours ? folder : "";
}

// Read exactly one byte, or an int; false where the other side is gone.
template <typename T> bool receive(int connection, T &value) {
  size_t have = 0;
  while (have < sizeof value) {
    auto got = read(connection, reinterpret_cast<char *>(&value) + have, sizeof value - have);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    have += got;
  }
  return true;
}

bool send_all(int connection, std::string_view data) {
  while (!data.empty()) {
    auto sent = send(connection, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    data.remove_prefix(sent);
  }
  return true;
}

// The command, where it is given, its variables, and its standard input, output and errors.
bool ask(int connection, const Words &arguments) {
  std::string body;
  auto add = [&](std::string_view word) { body.append(word).push_back('\0'); };
  std::array<char, PATH_MAX> here = {};
  if (!getcwd(here.data(), here.size()))
    return false;
  mode_t mask = umask(0);
  umask(mask);
  add(here.data());
  add(std::to_string(mask));
  add(std::to_string(arguments.size()));
  for (const auto &argument : arguments)
    add(argument);
  for (char **variable = environ; *variable; ++variable)
    add(*variable);
  uint64_t size = body.size();
  std::array<int, 3> standard = {0, 1, 2};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof standard)> control = {};
  iovec first = {&size, sizeof size};
  msghdr message = {};
  message.msg_iov = &first, message.msg_iovlen = 1;
  message.msg_control = control.data(), message.msg_controllen = control.size();
  auto *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof standard);
  std::memcpy(CMSG_DATA(header), standard.data(), sizeof standard);
  return sendmsg(connection, &message, MSG_NOSIGNAL) == sizeof size && send_all(connection, body);
}

// Start a server that belongs to no terminal and no build: it holds nothing of this process open but its lock.
void start_server(const std::string &folder, const std::string &path, int lock) {
  pid_t middle = fork();
  if (middle > 0)
    waitpid(middle, nullptr, 0);
  if (middle != 0)
    return;
  setsid();
  if (fork() != 0)
    _exit(0);
  int nothing = open("/dev/null", O_RDWR);
  for (int standard : {0, 1, 2})
    dup2(nothing, standard);
  if (lock == LOCK)
    fcntl(lock, F_SETFD, 0);
  else
    dup2(lock, LOCK);
  syscall(SYS_close_range, LOCK + 1u, ~0u, 0u);
  if (chdir("/") != 0)
    _exit(1);
  // LLVM takes much memory in a short time: large pages save a tenth of its page faults. The user's choice stays.
  setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);
  auto program = folder + "/burnish", option = "--serve=" + path;
  execl(program.c_str(), program.c_str(), "cc", option.c_str(), nullptr);
  _exit(127);
}

// Remove the files of servers that were killed or never started; those of one that lives or starts are locked.
void sweep(const std::string &folder) {
  std::set<std::string> paths;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (entry->path().stem().native().size() == digest("").size())
      paths.insert((entry->path().parent_path() / entry->path().stem()).native());
  for (const auto &path : paths) {
    int lock = open((path + ".lock").c_str(), O_RDWR | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0)
      for (const char *ending : {"", ".lock"})
        unlink((path + ending).c_str());
    if (lock >= 0)
      close(lock);
  }
}

// Whether the file was written or this was called for it within the last minute.
bool touched_recently(const std::string &path) {
  struct stat status = {};
  bool recent = stat(path.c_str(), &status) == 0 && std::time(nullptr) - status.st_mtim.tv_sec <= RECENT_SECONDS;
  int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor >= 0) {
    futimens(descriptor, nullptr);
    close(descriptor);
  }
  return recent;
}

// Take the lock of servers; -1 where one is running or starting.
int take_lock(const std::string &path) {
  int lock = open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
    close(lock);
    return -1;
  }
  return lock;
}

// Connect to the server; without one, start it.
bool connect_to(int connection, const sockaddr_un &address, const std::string &folder, const std::string &path) {
  auto connects = [&] {
    return connect(connection, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
  };
  if (connects())
    return true;
  static bool tried = false;
  if (std::exchange(tried, true))
    return false;
  if (int lock = take_lock(path); lock >= 0) {
    sweep(path.substr(0, path.rfind('/')));
    start_server(folder, path, lock);
    close(lock);
  }
  for (auto end = std::chrono::steady_clock::now() + START_SECONDS; std::chrono::steady_clock::now() < end;) {
    if (connects())
      return true;
    std::this_thread::sleep_for(LOOK);
    if (int lock = take_lock(path); lock >= 0) { // it has ended
      close(lock);
      return false;
    }
  }
  return false;
}

} // namespace

std::optional<int> served(const std::string &folder, const Words &arguments, int died) {
  auto place = private_folder();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  auto path = place + "/" + digest(surroundings(folder));
  if (place.empty() || path.size() >= sizeof address.sun_path)
    return {};
  std::memcpy(address.sun_path, path.c_str(), path.size());
  int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (!connect_to(connection, address, folder, path)) {
    close(connection);
    return {};
  }
  char begun = 0;
  int32_t code = 0;
  if (!ask(connection, arguments) || !receive(connection, begun)) { // it was about to end
    close(connection);
    return {};
  }
  return receive(connection, code) ? code : died;
}

bool noted_recently(const std::string &name) {
  auto place = private_folder();
  return !place.empty() && touched_recently(place + "/" + name);
}

} // namespace burnish
