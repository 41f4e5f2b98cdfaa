"""What is minimised."""

from __future__ import annotations

from burnish.core.objective import Objective

OBJECTIVES: dict[str, Objective] = {
    item.name: item
    for item in (
        Objective("ir-instructions", "instructions", "IR instructions in all functions, at least 1"),
        Objective(
            "text-bytes",
            "bytes",
            "bytes of executable sections in the object file that the back end emits, at least 1",
            dense=False,  # code generation costs as much as many passes
        ),
    )
}
