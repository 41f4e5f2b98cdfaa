// A Python that has imported everything, for the next files of a build.
#pragma once

#include "command.h"

#include <optional>
#include <string>

namespace burnish {

// Have a command done by the server of this environment and return its exit code; nothing if no server runs. From the
// second call within seconds on, a missing server is then started in the background, for the next commands.
std::optional<int> served(const std::string &folder, const Words &arguments);

// Note a name; return whether it was noted within the last minute, too. False without a private folder for the notes.
bool noted_recently(const std::string &name);

} // namespace burnish
