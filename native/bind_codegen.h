// The Python bindings of decisions.h and evictions.h.
#pragma once

#include <nanobind/nanobind.h>

namespace burnish {

void bind_codegen(nanobind::module_ &m);

} // namespace burnish
