// The inliner's advisor that asks.
#pragma once

#include "inlining.h"
#include "passes.h"

namespace burnish {

// Has the inliner ask `decider` in the run that this prepares, in the thread that runs it.
Prepare asking(InlineDecider &decider);

} // namespace burnish
