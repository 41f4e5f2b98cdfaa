// What a command line of rustc makes.
#pragma once

#include "command.h"

namespace burnish {

// Says whether a program's name is burnish-rustc.
bool is_for_rust(std::string_view program);

// Returns the level of the objects that a command makes: "Oz", "Os", "O3" ...; empty: it makes none to improve, such as
// metadata alone, a procedural macro or a build script. The first word is rustc.
std::string rust_level(const Words &command);

} // namespace burnish
