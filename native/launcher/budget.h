// What a budget says, as far as it can be wrong: a build is to end at its first command, not at its first large file.
#pragma once

#include <string>
#include <string_view>

namespace burnish {

// burnish's options of a budget, one after the other; burnish.cc.file_budget and burnish.cc.commands.cc read them.
class Budgets {
public:
  void read(std::string_view option, const std::string &value);
  // What is wrong with them together, as Python says it; empty: nothing.
  std::string error() const;
  // Whether objects are remembered for later builds, as burnish.cc.recalling has it.
  bool remember_objects() const { return remembers && !counted; }

private:
  std::string first_error;
  bool remembers = true, remembered = false, counted = false, other = false, of_build = false;
};

} // namespace burnish
