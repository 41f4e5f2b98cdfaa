// burnish-cc, burnish-c++: clang, and burnish behind it where there is something to gain.
//
// A build calls its compiler thousands of times, mostly for what burnish has nothing to do with: configure scripts,
// preprocessing, linking, speed levels. All that is decided here, in a millisecond; Python starts for the rest.

#if defined(__x86_64__) || defined(__i386__)
#define NATIVE "x86"
#elif defined(__aarch64__)
#define NATIVE "AArch64"
#else
#define NATIVE "this machine's processors"
#endif

#include "child.h"
#include "command.h"
#include "libraries.h"
#include "object.h"
#include "record.h"
#include "server.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace burnish {
namespace {

// As in burnish.driver.worth. Start files of the C library and of the compiler are in every program.
constexpr uint64_t LEAST_TEXT_BYTES = 128;
constexpr uint64_t LEAST_PROGRAM_TEXT_BYTES = LEAST_TEXT_BYTES + 384;
constexpr auto ASSEMBLY = "assembly has no passes to choose"; // as in burnish.driver.refusals

std::string own_folder() {
  std::array<char, 4096> path = {};
  auto length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  std::string whole(path.data(), length > 0 ? length : 0);
  return whole.substr(0, whole.rfind('/'));
}

// As burnish.toolchain.find_tool: the environment that burnish is installed in comes first, then PATH.
std::string find_tool(const std::string &folder, const std::string &name) {
  auto here = folder + "/" + name;
  if (access(here.c_str(), X_OK) == 0)
    return here;
  std::string_view path = std::getenv("PATH") ? std::getenv("PATH") : "";
  while (!path.empty()) {
    auto colon = path.find(':');
    auto candidate = std::string(path.substr(0, colon)) + "/" + name;
    if (candidate[0] == '/' && access(candidate.c_str(), X_OK) == 0)
      return candidate;
    path = colon == path.npos ? std::string_view() : path.substr(colon + 1);
  }
  return "";
}

// What changes when clang writes a file; nothing for /dev/null, a link, no file.
using Stamp = std::array<long, 3>;
Stamp stamp(const std::string &path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
    return {};
  return {long(status.st_ino), status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

struct Tools {
  std::string folder, clang;
  Libraries libraries;
};

int hand_over(const Tools &tools, const Command &command, Words first, const Words &arguments) {
  first.insert(first.begin(), command.cxx ? "c++" : "cc");
  first.push_back("--caller=" + std::to_string(getpid()));
  first.push_back("--libraries=" + tools.libraries.which);
  first.insert(first.end(), command.own.begin(), command.own.end());
  if (!command.rest.empty()) {
    first.push_back("--");
    first.insert(first.end(), arguments.begin(), arguments.end());
  }
  if (first[1].starts_with("--compiled") && !command.alone)
    if (auto code = served(tools.folder, first))
      return *code;
  return become(tools.folder + "/burnish", first);
}

std::string speed_reason(const Command &command) {
  return "-" + command.level + ": no objective for speed yet; --objective loaded-bytes makes every level smaller";
}

// As in burnish.driver.worth: without the object's own number, so that equal reasons are equal texts.
std::string few(const Command &command) {
  auto least = command.links ? LEAST_PROGRAM_TEXT_BYTES : LEAST_TEXT_BYTES;
  return std::string(command.links ? "the whole program" : "the object") + " has less than " + std::to_string(least) +
         " bytes of code: too few to gain";
}

// Log what is not worth a search; return what is.
Words worthwhile(const Command &command, const Words &ran, const std::map<std::string, Stamp> &before) {
  Words result;
  for (size_t i = 0; i < command.sources.size(); ++i) {
    const auto &output = command.outputs[i];
    auto now = stamp(output);
    if (now == Stamp() || now == before.at(output))
      continue;
    auto facts = read_object(output);
    auto clang = facts ? facts->clang : "";
    // what an object loads is counted by who reads the log, and only of those that can be at any address
    bool counted = !command.links && command.position_independent;
    Line line = {command.sources[i], output, command.level, "", "", counted ? facts : std::nullopt, clang, ran};
    if (is_assembly(command.sources[i])) {
      line.level = "", line.action = "passed through", line.reason = ASSEMBLY;
    } else if (!command.every_level && !command.size_level()) {
      line.action = "passed through", line.reason = speed_reason(command);
    } else if (facts && facts->text_bytes < (command.links ? LEAST_PROGRAM_TEXT_BYTES : LEAST_TEXT_BYTES)) {
      line.action = "kept";
      line.reason = few(command);
    } else {
      result.push_back(output);
      continue;
    }
    append_line(command, line);
  }
  return result;
}

int compile(const Tools &tools, const Command &command, const Words &arguments) {
  std::map<std::string, Stamp> before;
  for (const auto &output : command.outputs)
    before[output] = stamp(output);
  auto ended = run(tools.clang, arguments);
  if (ended.code)
    return ended.code;
  Words ran = {tools.clang};
  ran.insert(ran.end(), arguments.begin(), arguments.end());
  auto written = worthwhile(command, ran, before);
  if (written.empty())
    return 0;
  char seconds[64];
  std::snprintf(seconds, sizeof seconds, "--compiled=%.6f@%.6f", ended.seconds, ended.at);
  Words first = {seconds};
  for (const auto &output : written)
    first.push_back("--written=" + output);
  return hand_over(tools, command, first, arguments);
}

int start(bool cxx, const Words &given) {
  auto command = read_command(cxx, given);
  Tools tools;
  tools.folder = own_folder();
  auto clang = cxx ? "clang++" : "clang";
  tools.clang = find_tool(tools.folder, clang);
  // Its package makes clang's links when the environment's Python starts for the first time.
  if (auto python = tools.folder + "/python"; tools.clang.empty() && access(python.c_str(), X_OK) == 0) {
    run(python, {"-c", ""});
    tools.clang = find_tool(tools.folder, clang);
  }
  if (tools.clang.empty()) // Python says what to do
    return hand_over(tools, command, {"--launched"}, command.rest);
  tools.libraries = find_libraries(command, tools.clang);
  auto arguments = tools.libraries.arguments;
  arguments.insert(arguments.end(), command.rest.begin(), command.rest.end());
  if (!command.foreign.empty()) {
    int code = run(tools.clang, arguments).code;
    if (code)
      std::fprintf(stderr,
                   "burnish %s: %s: the clang and the LLVM that come with burnish make code for " NATIVE " alone\n",
                   cxx ? "c++" : "cc", command.foreign.c_str());
    return code;
  }
  switch (command.way) {
  case Way::Clang: return become(tools.clang, arguments);
  case Way::Ask: return hand_over(tools, command, {"--launched"}, arguments);
  case Way::Compile: return compile(tools, command, arguments);
  }
  return 1;
}

} // namespace
} // namespace burnish

int main(int count, char **words) {
  std::string name = count ? words[0] : "";
  return burnish::start(name.ends_with("++"), burnish::Words(words + (count ? 1 : 0), words + count));
}
