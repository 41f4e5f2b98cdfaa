#pragma once

#include <optional>
#include <string>

#include "command.h"

namespace burnish {

// Returns the words with those of response files (@file) in their place, as clang's driver reads them: see
// TokenizeGNUCommandLine in llvm/lib/Support/CommandLine.cpp. Nothing if there is none, or one cannot be read or is too
// large for a command line.
std::optional<Words> with_response_files(const Words &words);

} // namespace burnish
