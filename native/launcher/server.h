// A Python that has imported everything, for the next files of a build.
#pragma once

#include "command.h"

#include <optional>
#include <string>

namespace burnish {

// Let the server of this environment run a command, and return the exit code. Without a server, start one; return
// nothing if it does not start. If the server's process dies at work, return `died`.
std::optional<int> served(const std::string &folder, const Words &arguments, int died = 0);

// Note a name; return whether it was noted within the last minute, too. False without a private folder for the notes.
bool noted_recently(const std::string &name);

} // namespace burnish
