#include "command.h"

#include "budget.h"
#include "misspelled.h"
#include "response_file.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace burnish {
namespace {

// clang-format off: tables
// burnish.cc.commands.cc reads and checks them.
const std::set<std::string_view> OWN = {"--objective", "--budget",   "--build-budget", "--search", "--policy",
                                        "--remember",  "--seed",     "--report", "--speed-limit", "--inline-policy", "--evict-policy",
                                        "--code-generation", "--clang", "--stack-limit", "--ram-limit",
                                        "--lock"};

// clang's options whose value is the next word (clang/Options/Options.td), as far as builds use them. One that is
// missing makes its value look like an input, which is no source.
const std::set<std::string_view> SEPARATE = {
    "-o",          "-x",           "-I",          "-D",           "-U",          "-L",
    "-l",          "-B",           "-F",          "-T",           "-u",          "-e",
    "-z",          "-MF",          "-MT",         "-MQ",          "-MJ",         "-Xclang",
    "-Xlinker",    "-Xassembler",  "-Xpreprocessor", "-Xanalyzer", "-mllvm",     "-mmlir",
    "-arch",       "-target",      "--target",    "-include",     "-imacros",    "-isystem",
    "-iquote",     "-idirafter",   "-isysroot",   "-iprefix",     "-iwithprefix", "-include-pch",
    "-cxx-isystem", "-isystem-after", "-iwithprefixbefore", "--param", "--sysroot", "-dumpdir",
    "-dumpbase",   "-framework",   "-G",          "-Tbss",        "-Tdata",      "-Ttext",
    "-serialize-diagnostics", "--serialize-diagnostics", "-resource-dir"};

// Where one of these is, clang writes no object, or does more than its jobs show; then the command is clang's alone.
const std::set<std::string_view> CLANGS = {
    "-E",  "-S",  "-M",  "-MM", "-###", "-v", "-help", "--help", "-fsyntax-only", "-emit-llvm", "-emit-ast",
    "--preprocess", "--assemble", "--dependencies", "--user-dependencies", "--precompile", "--analyze",
    "--version", "-dumpmachine", "-dumpversion", "-cc1", "-cc1as", "-verify-pch"};
const std::vector<std::string_view> CLANGS_PREFIXES = {
    "-MJ", "-fdriver-only", "-fproc-stat-report", "-gen-cdb-fragment-path", "-print-", "--print-"};

// What changes how the other words are to be read, or where files are; or has to be planned before clang runs, since
// the plan itself would remove the file that clang wrote.
const std::set<std::string_view> UNREAD = {"-x", "--language", "-Xclang", "-working-directory", "--config",
                                           "-serialize-diagnostics", "--serialize-diagnostics"};
const std::vector<std::string_view> UNREAD_PREFIXES = {
    "@", "-x", "--language=", "-working-directory=", "--config=", "--output", "--driver-mode", "--compile",
    "-fopenmp-targets", "--offload", "-save-temps", "--save-temps"};

const std::set<std::string_view> C = {"c", "i", "bc", "ll"};
const std::set<std::string_view> CXX = {"cc", "cpp", "cxx", "c++", "C", "CC", "cp", "CPP", "CXX", "C++", "ii"};
const std::set<std::string_view> ASSEMBLY = {"s", "S", "sx"};
// Compiled as well, each in a way of its own.
const std::set<std::string_view> OTHER = {"m",   "mi",  "mm",  "mii", "M",   "cu",   "cui", "cl",  "clcpp", "hip",
                                          "h",   "hh",  "H",   "hp",  "hpp", "hxx",  "h++", "tcc", "pch",   "pcm",
                                          "f",   "for", "f90", "F",   "F90", "ixx",  "cppm", "ccm", "cxxm", "c++m",
                                          "ast", "ifs", "rs",  "hlsl", "d"};
// clang-format on
const std::vector<std::string_view> GNU = {"gcc", "g++", "c++"};
// Options of link-time optimization. Without -flto clang refuses some of them.
const std::vector<std::string_view> OF_LTO = {"-flto",
                                              "-fno-lto",
                                              "-ffat-lto-objects",
                                              "-fno-fat-lto-objects",
                                              "-fwhole-program-vtables",
                                              "-fno-whole-program-vtables",
                                              "-fsplit-lto-unit",
                                              "-fno-split-lto-unit",
                                              "-fvirtual-function-elimination",
                                              "-fno-virtual-function-elimination"};
const std::set<std::string_view> LEVELS = {"O0", "O1", "O2", "O3", "Os", "Oz", "Og"};

std::string_view suffix(std::string_view path) {
  auto dot = path.rfind('.');
  auto slash = path.rfind('/');
  if (dot == path.npos || (slash != path.npos && dot < slash))
    return {};
  return path.substr(dot + 1);
}

std::string object_of(std::string_view source) {
  auto name = source.substr(source.rfind('/') + 1); // npos + 1 is 0
  return std::string(name.substr(0, name.rfind('.'))) + ".o";
}

bool is_native(std::string_view target) {
#if defined(__x86_64__) || defined(__i386__)
  return starts_with_any(target, {"x86", "i386", "i486", "i586", "i686", "amd64"});
#elif defined(__aarch64__)
  return starts_with_any(target, {"aarch64", "arm64"});
#else
  return true;
#endif
}

// The name of a link to this program after "burnish-"; empty: it is another name.
std::string_view without_prefix(std::string_view program) {
  constexpr std::string_view own = "burnish-";
  auto name = program.substr(program.rfind('/') + 1);
  return name.starts_with(own) ? name.substr(own.size()) : std::string_view();
}

// Returns the name of a compiler without its folder and version. /usr/bin/cc has the name of the file it links to.
std::string compiler_name(std::string_view word) {
  auto base = [](std::string_view path) { return path.substr(path.rfind('/') + 1); };
  std::string name(base(word));
  if (name.size() < word.size() && (name == "cc" || name == "c++"))
    if (char *path = realpath(std::string(word).c_str(), nullptr)) {
      name = base(path);
      std::free(path);
    }
  return name.substr(0, name.find_last_not_of("0123456789.-") + 1);
}

// Says whether a name is that of a compiler after its machine: riscv64-unknown-elf-g++, not g++.
bool has_machine(std::string_view name, const std::vector<std::string_view> &compilers) {
  return std::any_of(compilers.begin(), compilers.end(), [&](std::string_view compiler) {
    return name.ends_with(compiler) && name.substr(0, name.size() - compiler.size()).ends_with('-');
  });
}

// If a word names a compiler, use that compiler instead of burnish's clang; say whether it does.
bool read_compiler(Command &command, const std::string &word) {
  auto name = compiler_name(word);
  if (name == "gcc" || name == "g++" || has_machine(name, GNU))
    command.gnu = word;
  else if (name == "clang" || name == "clang++" || has_machine(name, {"clang", "clang++"}))
    command.clang = word;
  else
    return false;
  return true;
}

// Return how many of the arguments are burnish's own; npos where they cannot be read here.
size_t read_own(Command &command, const Words &arguments) {
  size_t i = 0;
  Budgets budgets;
  bool locked = false; // by --lock
  while (i < arguments.size()) {
    std::string_view word = arguments[i];
    if (word == "--alone") {
      command.alone = true;
      ++i;
      continue;
    }
    if (word == "--whole-program") {
      command.whole_program = true;
      command.own.emplace_back(word);
      ++i;
      continue;
    }
    auto equals = word.find('=');
    auto name = word.substr(0, equals);
    bool for_compiler = word == "--" || (word == "--help" && !command.gnu.empty()); // its own name was called
    if (for_compiler || !OWN.contains(name)) {
      if (!for_compiler && is_misspelled(name)) // Python has the help, and says what is meant
        return -1;
      command.error = budgets.error();
      return i + (word == "--");
    }
    if (equals == word.npos && i + 1 == arguments.size())
      return -1;
    std::string value(equals == word.npos ? std::string_view(arguments[i + 1]) : word.substr(equals + 1));
    command.every_level |= name == "--objective";
    if (name == "--report")
      command.report = value;
    budgets.read(name, value);
    locked |= name == "--lock";
    command.remembers = budgets.remember_objects() && !locked;
    size_t used = equals == word.npos ? 2 : 1;
    if (name == "--clang")
      command.clang = value;
    else
      command.own.insert(command.own.end(), arguments.begin() + i, arguments.begin() + i + used);
    i += used;
  }
  command.error = budgets.error();
  return i;
}

// What the words of clang's command line say, one after the other.
struct Reading {
  bool compile_only = false, clangs = false, unread = false, inputs = false;
  bool lto = false, lld = true;
  bool objects = false; // other inputs than sources
  std::string output;
  Words assembly;
};

void read_word(Command &command, Reading &reading, std::string_view word, const std::string &value) {
  reading.clangs |= CLANGS.contains(word) || starts_with_any(word, CLANGS_PREFIXES);
  reading.unread |= UNREAD.contains(word) || starts_with_any(word, UNREAD_PREFIXES);
  reading.compile_only |= word == "-c";
  if (starts_with_any(word, {"-fno-pi", "-fno-PI", "-no-pie", "-mcmodel="}))
    command.position_independent = false;
  command.uses_profile |=
      starts_with_any(word, {"-fprofile-use", "-fprofile-instr-use", "-fprofile-sample-use", "-fauto-profile"});
  if (word == "-o")
    reading.output = value;
  else if (word.starts_with("-o"))
    reading.output = word.substr(2);
  if (word.starts_with("-O")) {
    command.level = word.substr(1);
    reading.unread |= !LEVELS.contains(command.level);
  }
  if (word.starts_with("-flto") || word == "-fno-lto")
    reading.lto = word != "-fno-lto";
  if (starts_with_any(word, {"-fuse-ld=", "--ld-path="}))
    reading.lld = word.ends_with("lld");
  std::string target = word == "-target" || word == "--target" ? value : "";
  if (word.starts_with("--target="))
    target = word.substr(9);
  if (!target.empty())
    command.foreign = is_native(target) ? "" : target;
  command.compiles_cxx |= (word == "-x" && value.starts_with("c++")) || word.starts_with("-xc++");
  if (word == "-" || !word.starts_with("-")) {
    auto ending = suffix(word);
    reading.inputs = true;
    reading.unread |= word == "-" || OTHER.contains(ending);
    command.compiles_cxx |= CXX.contains(ending);
    if (C.contains(ending) || CXX.contains(ending))
      command.sources.emplace_back(word);
    else if (ASSEMBLY.contains(ending))
      reading.assembly.emplace_back(word);
    else
      reading.objects = true;
  }
}

void read_words(Command &command, Reading &reading) {
  for (size_t i = 0; i < command.rest.size(); ++i) {
    bool separate = SEPARATE.contains(command.rest[i]);
    std::string value = separate && i + 1 < command.rest.size() ? command.rest[i + 1] : "";
    read_word(command, reading, command.rest[i], value);
    i += separate;
  }
}

bool asks_for_lto(const Words &words) {
  return std::any_of(words.begin(), words.end(), [](std::string_view word) { return word.starts_with("-flto"); });
}

// clang's link-time optimization for size is --whole-program: its units are in objects that all tools read. lld still
// gets the options, for objects that others made; other linkers would look for a plugin that clang's package does not
// have. Other levels, and compilers other than burnish's clang, keep their own.
void take_lto(Command &command, const Reading &reading) {
  bool clangs = !command.gnu.empty() || !command.clang.empty() || !command.foreign.empty() || reading.unread;
  bool compiles = !command.sources.empty();
  if (!reading.lto || clangs || (compiles && (!command.size_level() || (command.links && reading.objects))))
    return;
  if (!command.whole_program)
    command.own.insert(command.own.begin(), "--whole-program");
  command.whole_program = true;
  if (compiles || !reading.lld)
    std::erase_if(command.rest, [](const std::string &word) { return starts_with_any(word, OF_LTO); });
}

} // namespace

bool is_assembly(std::string_view source) { return ASSEMBLY.contains(suffix(source)); }

bool starts_with_any(std::string_view word, const std::vector<std::string_view> &beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return word.starts_with(beginning); });
}

std::string gnu_compiler_of(std::string_view program) {
  auto name = without_prefix(program);
  return has_machine(compiler_name(name), GNU) ? std::string(name) : "";
}

std::string target_of(std::string_view program) {
  auto name = without_prefix(program);
  auto end = name.rfind("-clang");
  return end == name.npos ? "" : std::string(name.substr(0, end));
}

Command read_command(bool cxx, const Words &arguments, std::string gnu, const std::string &target) {
  Command command;
  command.cxx = cxx;
  command.gnu = gnu;
  size_t own = read_own(command, arguments);
  if (own > arguments.size()) {
    command.own = arguments;
    command.way = Way::Ask;
    return command;
  }
  command.rest.assign(arguments.begin() + own, arguments.end());
  if (command.gnu.empty() && !command.rest.empty() && read_compiler(command, command.rest[0]))
    command.rest.erase(command.rest.begin());
  if (!target.empty())
    command.rest.insert(command.rest.begin(), "--target=" + target);
  for (const auto &compiler : {command.gnu, command.clang})
    command.cxx |= compiler.find("++", compiler.rfind('/') + 1) != compiler.npos;
  if (!command.gnu.empty())
    command.position_independent = false;
  if (auto words = with_response_files(command.rest); words && asks_for_lto(*words))
    command.rest = std::move(*words); // Bazel, for example, has a link's options in a file
  Reading reading;
  read_words(command, reading);
  command.links = !reading.compile_only && !reading.clangs && (reading.inputs || reading.unread);
  if (reading.clangs)
    return command;
  if (reading.compile_only) // what is linked at once is a part of the program's own line
    command.sources.insert(command.sources.end(), reading.assembly.begin(), reading.assembly.end());
  take_lto(command, reading);
  if (command.links)
    command.program = reading.output.empty() ? "a.out" : reading.output;
  if (reading.unread)
    command.way = Way::Ask;
  else if (!command.sources.empty() || (command.whole_program && command.links))
    command.way = Way::Compile;
  for (const auto &source : command.sources)
    command.outputs.push_back(command.links            ? command.program
                              : reading.output.empty() ? object_of(source)
                                                       : reading.output);
  return command;
}

} // namespace burnish
