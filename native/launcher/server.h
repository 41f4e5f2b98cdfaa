// A Python that has imported everything, for the next files of a build.
#pragma once

#include "command.h"

#include <optional>
#include <string>

namespace burnish {

// Have a command done by the server of this environment, if there is one; return its exit code. Where there is none,
// one is started in the background for the next ones, if this is not the first call within seconds.
std::optional<int> served(const std::string &folder, const Words &arguments);

// Whether a name was noted within the last minute; note it. False where there is no folder for that.
bool noted_recently(const std::string &name);

} // namespace burnish
