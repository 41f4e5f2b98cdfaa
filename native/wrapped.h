// References of a program that is linked with --wrap=NAME, as the GNU linker resolves them (ld(1), --wrap).
//
// The linker goes by objects: what an object does not define refers to __wrap_NAME in place of NAME, and to NAME in
// place of __real_NAME. A module of several units hides which of them define a name.
#pragma once

#include "module.h"

namespace burnish {

// Has a unit refer to __wrap_NAME wherever it does not define NAME.
void refer_to_wrappers(Module &unit, const std::vector<std::string> &names);

// Has a module of such units refer to its own definition of NAME in place of __real_NAME; where it has none, to
// __real_NAME, which the linker resolves. Throws InputError if a defined name is of a function that the code generator
// or a pass may call, as such calls come later.
void refer_to_wrapped(Module &module, const std::vector<std::string> &names);

} // namespace burnish
