// What a command line asks of burnish and of clang, as far as that shows without asking clang.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace burnish {

using Words = std::vector<std::string>;

enum class Way {
  Clang,   // nothing is compiled to an object: become clang
  Compile, // run clang, then look at what it wrote
  Ask,     // burnish has to ask clang what it would do
};

struct Command {
  bool cxx = false;           // burnish-c++
  bool rust = false;          // burnish-rustc
  Words own;                  // burnish's own options, as they were given
  std::string error;          // what is wrong with them; empty: nothing that shows here
  Words rest;                 // clang's arguments, or the GNU compiler's
  std::string gnu;            // a GNU compiler in clang's place; empty: clang
  std::string clang;          // another clang, used instead of burnish's; empty: burnish's
  std::string report;         // --report; empty: the user's build log
  bool alone = false;         // --alone: no server
  bool remembers = true;      // the object is remembered for later builds
  bool whole_program = false; // --whole-program: links are burnish's, too
  bool every_level = false;   // an objective was given: it holds at every level
  bool uses_profile = false;  // of earlier runs

  Way way = Way::Clang;
  std::string level = "O0";         // the last -O
  bool links = false;               // to a program or a library
  bool position_independent = true; // as clang's default is
  bool compiles_cxx = false;        // a source is C++ by its name or by -x
  std::string foreign;              // a target that is asked for and not this machine's; empty: none
  Words sources;                    // that are compiled, and assembly where nothing is linked
  Words outputs;                    // of each source; the program, where the command links
  std::string program;              // that the command links; empty: none

  bool size_level() const { return level == "Os" || level == "Oz"; }
};

// Takes what follows the program's name. A command that is not understood whole is Way::Ask. If `gnu` is empty, the
// first word that is not burnish's own may name a compiler: arm-none-eabi-gcc, clang-14, or a path. A `target` is the
// first of clang's arguments.
Command read_command(bool cxx, const Words &arguments, std::string gnu = "", const std::string &target = "");

// Returns the GNU compiler that a program's name has after "burnish-"; empty: it has none.
std::string gnu_compiler_of(std::string_view program);

// Returns the target that a program's name has between "burnish-" and "-clang", as clang's own links have one; empty:
// none.
std::string target_of(std::string_view program);

// Says whether a file is assembly, by its name.
bool is_assembly(std::string_view source);

bool starts_with_any(std::string_view word, const std::vector<std::string_view> &beginnings);

} // namespace burnish
