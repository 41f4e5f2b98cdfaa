// The Python bindings of inlining.h.
#pragma once

#include <nanobind/nanobind.h>

namespace burnish {

void bind_inlining(nanobind::module_ &m);

} // namespace burnish
