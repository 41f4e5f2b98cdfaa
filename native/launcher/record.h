// Lines of the build log for what never reaches Python (burnish.cc.build_log).
#pragma once

#include "command.h"
#include "object.h"

#include <optional>

namespace burnish {

struct Line {
  std::string source, output, level, action, reason;
  std::optional<ObjectFacts> facts; // of the object; none where it was a temporary file
  std::string clang;                // its version
  Words command;                    // clang's, as it ran
};

// A log that cannot be written is no failure of a build.
void append_line(const Command &command, const Line &line);

} // namespace burnish
