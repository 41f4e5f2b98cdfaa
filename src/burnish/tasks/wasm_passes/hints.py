"""Traces worth trying first, and suffixes worth trying at every function.

Found by trying prefixes, pipelines and ends on cJSON, zlib and lua, function by function. Four steps are not
in -Oz, and each gains after it: making the control flow anew, running the passes of functions once more, the
flow analysis of the whole program, and keeping repeated constants in a local.
"""

from __future__ import annotations

from burnish.core.trace import Trace

_OZ, _AGAIN, _O4 = "default<Oz>", "functions<Oz>", "functions<O4>"
_CONTROL_FLOW = "flatten,rereloop"
_FLAT = "flatten,simplify-locals-notee-nostructure,local-cse"
_LAST = "const-hoisting"  # before other passes, they put the constants back

INITIAL_TRACES: tuple[Trace, ...] = ((_OZ,), (_OZ, "gufa-optimizing", _LAST))
SUFFIXES: tuple[Trace, ...] = (
    (_CONTROL_FLOW, _AGAIN, _LAST),
    (_CONTROL_FLOW, _AGAIN, _AGAIN, _LAST),
    (_AGAIN, _LAST),
    (_FLAT, _AGAIN, _LAST),
    ("ssa", _O4, _LAST),
    (_CONTROL_FLOW, _O4, _LAST),
    (_CONTROL_FLOW, _AGAIN, _CONTROL_FLOW, _AGAIN, _LAST),
    (_FLAT, _AGAIN, _AGAIN, _LAST),
)
