// A Python that has imported everything, for the next files of a build.
#pragma once

#include "command.h"

#include <optional>
#include <string>

namespace burnish {

// Have a command done by the server of this environment, which is started if there is none, and return its exit code;
// nothing if it does not start. Where the server's process dies in its work, the code is `died`.
std::optional<int> served(const std::string &folder, const Words &arguments, int died = 0);

// Note a name; return whether it was noted within the last minute, too. False without a private folder for the notes.
bool noted_recently(const std::string &name);

} // namespace burnish
