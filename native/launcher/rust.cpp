#include "rust.h"

#include <algorithm>
#include <set>

namespace burnish {
namespace {

// rustc's long options without a value (rustc --help -v); all others have one, in the same word or in the next.
const std::set<std::string_view> FLAGS = {"--test", "--verbose", "--version", "--help"};
// With these, rustc compiles nothing.
const std::set<std::string_view> ASKS = {"-V", "-vV", "-Vv", "-h", "--version", "--help", "--print", "--explain", "-"};
const std::set<std::string_view> KINDS = {"bin", "lib", "rlib", "staticlib", "cdylib"};
constexpr std::string_view WITH_VALUE = "CZLloAWDF"; // short options

bool each_is_in(std::string_view list, const std::set<std::string_view> &known, bool every) {
  for (; !list.empty();) {
    auto comma = list.find(',');
    if (known.contains(list.substr(0, comma)) != every)
      return !every;
    list = comma == list.npos ? std::string_view() : list.substr(comma + 1);
  }
  return every;
}

} // namespace

bool is_for_rust(std::string_view program) { return program.substr(program.rfind('/') + 1) == "burnish-rustc"; }

std::string rust_level(const Words &command) {
  std::string_view level = "0"; // in the words of the command
  bool emits = true;
  for (size_t i = 1; i < command.size(); ++i) {
    std::string_view word = command[i], name = word, value;
    if (word.starts_with("@"))
      return "";
    if (word.starts_with("--")) {
      auto equals = word.find('=');
      name = word.substr(0, equals);
      if (equals != word.npos)
        value = word.substr(equals + 1);
      else if (!FLAGS.contains(name) && i + 1 < command.size())
        value = command[++i];
    } else if (word.size() > 1 && word[0] == '-' && WITH_VALUE.find(word[1]) != WITH_VALUE.npos) {
      name = word.substr(0, 2);
      if (word.size() > 2)
        value = word.substr(2);
      else if (i + 1 < command.size())
        value = command[++i];
    }
    if (ASKS.contains(name) || (name == "--crate-type" && !each_is_in(value, KINDS, true)) ||
        (name == "--crate-name" && value.starts_with("build_script_")))
      return "";
    if (name == "--emit")
      emits = each_is_in(value, {"link", "obj"}, false);
    constexpr std::string_view LEVEL = "opt-level=";
    if (name == "-O")
      level = "2";
    else if ((name == "-C" || name == "--codegen") && value.starts_with(LEVEL))
      level = value.substr(LEVEL.size());
  }
  return emits && level != "0" ? std::string("O").append(level) : "";
}

} // namespace burnish
