// burnish-cc, burnish-c++: clang, and burnish behind it where there is something to gain.
//
// A build calls its compiler thousands of times, mostly for what burnish has nothing to do with: configure scripts,
// preprocessing, linking, speed levels. All that is decided here, in a millisecond; Python starts for the rest.

#include "child.h"
#include "command.h"
#include "libraries.h"
#include "object.h"
#include "record.h"
#include "rust.h"
#include "server.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace burnish {
namespace {

// As in burnish.cc.refusals. Start files of the C library and of the compiler are in every program.
constexpr uint64_t LEAST_TEXT_BYTES = 128;
constexpr uint64_t LEAST_PROGRAM_TEXT_BYTES = LEAST_TEXT_BYTES + 384;
constexpr auto ASSEMBLY = "assembly has no passes to choose"; // as in burnish.cc.refusals
constexpr int WRONG_OPTION = 2;                               // burnish's exit codes
constexpr int DECLINED = 100;                                 // as in burnish.cc.direct

std::string own_folder() {
  std::array<char, 4096> path = {};
  auto length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  std::string whole(path.data(), length > 0 ? length : 0);
  return whole.substr(0, whole.rfind('/'));
}

// As burnish.llvm.toolchain.find_tool: the environment that burnish is installed in comes first, then PATH.
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
  std::string folder, clang; // or the GNU compiler, or rustc, in its place
  std::string other;         // the clang that the command names; empty: burnish's
  Libraries libraries;
};

const char *called(const Command &command) { return command.rust ? "rustc" : command.cxx ? "c++" : "cc"; }

// What Python is called with.
Words words_of(const Tools &tools, const Command &command, Words first, const Words &arguments) {
  first.insert(first.begin(), called(command));
  first.push_back("--caller=" + std::to_string(getpid()));
  if (!command.rust)
    first.push_back(command.gnu.empty() ? "--libraries=" + tools.libraries.which : "--gnu=" + tools.clang);
  if (!tools.other.empty())
    first.push_back("--clang=" + tools.other);
  first.insert(first.end(), command.own.begin(), command.own.end());
  if (!command.rest.empty()) {
    first.push_back("--");
    first.insert(first.end(), arguments.begin(), arguments.end());
  }
  return first;
}

// Say once in a while that clang is alone.
void say_not_started(const Command &command, const std::string &program, int code) {
  if (!noted_recently("not-started"))
    std::fprintf(stderr,
                 "burnish %s: %s cannot be run (exit code %d), so objects stay as clang made them; install it again: "
                 "pip install --force-reinstall burnish\n",
                 called(command), program.c_str(), code);
}

// Have burnish run clang.
int ask(const Tools &tools, const Command &command, const Words &arguments) {
  auto program = tools.folder + "/burnish";
  auto words = words_of(tools, command, {"--launched"}, arguments);
  if (tools.clang.empty() || command.rest.empty())
    return become(program, words);
  try_to_become(program, words);
  say_not_started(command, program, 127);
  return become(tools.clang, arguments);
}

// Have burnish make what clang's package has no back end for.
int cross(const Tools &tools, const Command &command, const Words &arguments) {
  if (!command.alone)
    if (auto code = served(tools.folder, words_of(tools, command, {"--launched"}, arguments)))
      return *code;
  return ask(tools, command, arguments);
}

// Have burnish improve what clang wrote, which stands whatever comes of that.
int improve(const Tools &tools, const Command &command, const Words &first, const Words &arguments) {
  auto program = tools.folder + "/burnish";
  auto words = words_of(tools, command, first, arguments);
  std::optional<int> code = command.alone ? std::nullopt : served(tools.folder, words);
  if (!code)
    code = run(program, words).code;
  if (*code == 0 || *code == WRONG_OPTION)
    return *code;
  say_not_started(command, program, *code);
  return 0;
}

std::string speed_reason(const Command &command) {
  return "-" + command.level + ": no objective for speed yet; --objective loaded-bytes makes every level smaller";
}

bool for_size(const Command &command) {
  return command.every_level || command.size_level() || (command.uses_profile && !command.whole_program);
}

// Why an object or a program is left as clang made it; empty: it is large enough. As in burnish.cc.refusals:
// without the object's own number, so that equal reasons are equal texts.
std::string too_small(const std::optional<ObjectFacts> &facts, bool program) {
  auto least = program ? LEAST_PROGRAM_TEXT_BYTES : LEAST_TEXT_BYTES;
  if (!facts || facts->text_bytes >= least)
    return "";
  return std::string(program ? "the whole program" : "the object") + " has less than " + std::to_string(least) +
         " bytes of code: too few to gain";
}

using Stamps = std::map<std::string, Stamp>;

bool is_written(const std::string &output, const Stamps &before) {
  auto now = stamp(output);
  return now != Stamp() && now != before.at(output);
}

// Log what is not worth a search; return what is.
Words worthwhile(const Command &command, const Words &ran, const Stamps &before) {
  Words result;
  for (size_t i = 0; i < command.sources.size(); ++i) {
    const auto &output = command.outputs[i];
    if (!is_written(output, before))
      continue;
    auto facts = read_object(output);
    auto small = too_small(facts, command.links);
    bool unit = command.whole_program && !command.links; // however small
    // what an object loads is counted by who reads the log, and only of those that can be at any address
    bool counted = !command.links && command.position_independent;
    Line line = {command.sources[i],        output, command.level, "", "", counted ? facts : std::nullopt,
                 facts ? facts->clang : "", ran};
    if (is_assembly(command.sources[i])) {
      line.level = "", line.action = "passed through", line.reason = ASSEMBLY;
    } else if (!for_size(command)) {
      line.action = "passed through", line.reason = speed_reason(command);
    } else if (!small.empty() && !unit) {
      line.action = "kept", line.reason = small;
    } else {
      result.push_back(output);
      continue;
    }
    append_line(command, line);
  }
  return result;
}

// The same for a program that is to be one module.
Words worthwhile_program(const Command &command, const Words &ran, const Stamps &before) {
  if (!is_written(command.program, before))
    return {};
  if (!command.sources.empty() && !for_size(command))
    return command.sources.size() == 1 ? worthwhile(command, ran, before) : Words{command.program};
  auto facts = read_object(command.program);
  auto small = too_small(facts, true);
  if (small.empty())
    return {command.program};
  append_line(command, {"0 units", command.program, "", "kept", small, std::nullopt, facts->clang, ran});
  return {};
}

// Have burnish make an object by clang's front end and a back end of its own. Nothing where it is not known to make
// clang's object, too: then clang runs.
std::optional<int> direct(const Tools &tools, const Command &command, const Words &arguments) {
  bool simple = command.sources.size() == 1 && !is_assembly(command.sources[0]) && !command.links && for_size(command);
  bool others = !command.gnu.empty() || !tools.other.empty() || command.uses_profile;
  if (!simple || others || command.alone || !command.remembers)
    return {};
  auto code = served(tools.folder, words_of(tools, command, {"--direct"}, arguments), DECLINED);
  return code == DECLINED ? std::nullopt : code;
}

int compile(const Tools &tools, const Command &command, const Words &arguments) {
  if (auto code = direct(tools, command, arguments))
    return *code;
  Stamps before;
  for (const auto &output : command.outputs)
    before[output] = stamp(output);
  if (command.links)
    before[command.program] = stamp(command.program);
  auto ended = run(tools.clang, arguments);
  if (ended.signal)
    die_of(ended.signal);
  if (ended.code)
    return ended.code;
  Words ran = {tools.clang};
  ran.insert(ran.end(), arguments.begin(), arguments.end());
  bool whole = command.whole_program && command.links;
  auto written = whole ? worthwhile_program(command, ran, before) : worthwhile(command, ran, before);
  if (written.empty())
    return 0;
  char seconds[64];
  std::snprintf(seconds, sizeof seconds, "--compiled=%.6f", ended.seconds);
  Words first = {seconds};
  for (const auto &output : written)
    first.push_back("--written=" + output);
  return improve(tools, command, first, arguments);
}

// Print clang's options for the C++ library that burnish chooses, a line each; burnish.llvm.toolchain reads them.
int print_library_options(bool cxx, const Words &arguments) {
  auto command = read_command(cxx, arguments);
  for (const auto &word : find_libraries(command, find_tool(own_folder(), "clang++")).arguments)
    std::printf("%s\n", word.c_str());
  return 0;
}

// Return the path of a compiler that the command names. A missing compiler becomes the command's error.
std::string find_compiler(Command &command, const std::string &folder, const std::string &name) {
  auto path = name.find('/') == name.npos ? find_tool(folder, name) : name;
  if (command.error.empty() && (path.empty() || access(path.c_str(), X_OK) != 0))
    command.error =
        name + ": no such compiler" +
        (path.empty() ? " in PATH" + std::string(command.gnu.empty() ? "" : "; burnish targets names packages") : "");
  return path;
}

// Return the path of the clang that the command names; empty: burnish's own.
std::string find_other(Command &command, const std::string &folder, const std::string &own) {
  if (command.clang.empty())
    return "";
  auto path = find_compiler(command, folder, command.clang);
  std::error_code error;
  return std::filesystem::equivalent(path, own, error) ? "" : path;
}

// Run the user's compiler, as clang otherwise.
int start_gnu(Command &command) {
  Tools tools;
  tools.folder = own_folder();
  tools.clang = find_compiler(command, tools.folder, command.gnu);
  tools.other = find_other(command, tools.folder, find_tool(tools.folder, "clang"));
  if (!command.error.empty()) {
    std::fprintf(stderr, "burnish %s: %s\n", called(command), command.error.c_str());
    return WRONG_OPTION;
  }
  switch (command.way) {
  case Way::Clang: return become(tools.clang, command.rest);
  case Way::Ask: return ask(tools, command, command.rest);
  case Way::Compile: return compile(tools, command, command.rest);
  }
  return 1;
}

// Run rustc, which cargo names in the first word, as clang otherwise.
int start_rust(const Words &given) {
  auto command = read_command(false, given);
  command.rust = true;
  Tools tools;
  tools.folder = own_folder();
  if (command.way == Way::Ask && command.rest.empty())
    return ask(tools, command, {});
  auto rustc = command.rest.empty() ? "" : command.rest[0];
  bool is_path = rustc.empty() || rustc.find('/') != rustc.npos;
  tools.clang = is_path ? rustc : find_tool(tools.folder, rustc);
  if (command.whole_program)
    command.error = "--whole-program: expected lto = true in the profile of Cargo.toml, or -C lto";
  if (!command.error.empty() || tools.clang.empty()) {
    auto missing = rustc.empty() ? "" : rustc + ": no such compiler in PATH; ";
    auto error = command.error.empty() ? missing + "expected rustc and its arguments" : command.error;
    std::fprintf(stderr, "burnish rustc: %s\n", error.c_str());
    return WRONG_OPTION;
  }
  Words arguments(command.rest.begin() + 1, command.rest.end());
  command.level = rust_level(command.rest);
  if (command.level.empty() || !for_size(command))
    return become(tools.clang, arguments);
  auto ended = run(tools.clang, arguments);
  if (ended.signal)
    die_of(ended.signal);
  if (ended.code)
    return ended.code;
  command.rest[0] = tools.clang;
  return improve(tools, command, {"--compiled=" + std::to_string(ended.seconds)}, command.rest);
}

int start(const std::string &program, const Words &given) {
  if (is_for_rust(program))
    return start_rust(given);
  bool cxx = program.ends_with("++");
  if (!given.empty() && given[0] == "--print-library-options")
    return print_library_options(cxx, Words(given.begin() + 1, given.end()));
  auto command = read_command(cxx, given, gnu_compiler_of(program), target_of(program));
  if (!command.gnu.empty())
    return start_gnu(command);
  Tools tools;
  tools.folder = own_folder();
  auto clang = command.cxx ? "clang++" : "clang";
  tools.clang = find_tool(tools.folder, clang);
  // Its package makes clang's links when the environment's Python starts for the first time.
  if (auto python = tools.folder + "/python"; tools.clang.empty() && access(python.c_str(), X_OK) == 0) {
    run(python, {"-c", ""});
    tools.clang = find_tool(tools.folder, clang);
  }
  tools.other = find_other(command, tools.folder, tools.clang);
  if (!command.error.empty()) {
    std::fprintf(stderr, "burnish %s: %s\n", called(command), command.error.c_str());
    return WRONG_OPTION;
  }
  if (!tools.other.empty()) {
    tools.clang = tools.other;
    tools.libraries.which = "as " + tools.other + " has it";
    if (cxx && tools.other.find("++", tools.other.rfind('/') + 1) == tools.other.npos)
      tools.libraries.arguments = {"--driver-mode=g++"};
  } else if (tools.clang.empty()) { // Python says what to do
    return ask(tools, command, command.rest);
  } else {
    tools.libraries = find_libraries(command, tools.clang);
  }
  auto arguments = tools.libraries.arguments;
  arguments.insert(arguments.end(), command.rest.begin(), command.rest.end());
  if (!command.foreign.empty())
    return cross(tools, command, arguments);
  switch (command.way) {
  case Way::Clang: return become(tools.clang, arguments);
  case Way::Ask: return ask(tools, command, arguments);
  case Way::Compile: return compile(tools, command, arguments);
  }
  return 1;
}

} // namespace
} // namespace burnish

int main(int count, char **words) {
  return burnish::start(count ? words[0] : "", burnish::Words(words + (count ? 1 : 0), words + count));
}
