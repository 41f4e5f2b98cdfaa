// The Python bindings of network.h.
#pragma once

#include <nanobind/nanobind.h>

namespace burnish {

void bind_network(nanobind::module_ &m);

} // namespace burnish
