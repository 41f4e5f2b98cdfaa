// The Python bindings of sizes.h.
#pragma once

#include <nanobind/nanobind.h>

namespace burnish {

void bind_objects(nanobind::module_ &m);

} // namespace burnish
