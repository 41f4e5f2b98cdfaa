// Which C++ library programs are built with.
#pragma once

#include "command.h"

namespace burnish {

struct Libraries {
  Words arguments;   // that clang is given before the user's
  std::string which; // in words, for people
};

// clang of the package index would link its own libc++, which no program finds when it starts. The system's libstdc++
// is taken where clang can use it, else programs are told where clang's libc++ is; whoever names a library, a system
// root or another target knows better and is given nothing.
Libraries find_libraries(const Command &command, const std::string &clang);

} // namespace burnish
