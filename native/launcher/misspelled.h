#pragma once

#include <string_view>

namespace burnish {

// Whether an option, without its value, is one of burnish's with a mistake in it. The rule is that of
// burnish.cc.commands.cc, which says which one is meant.
bool is_misspelled(std::string_view option);

} // namespace burnish
