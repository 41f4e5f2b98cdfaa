// The Python bindings of jit.h.
#pragma once

#include <nanobind/nanobind.h>

namespace burnish {

void bind_jit(nanobind::module_ &m);

} // namespace burnish
