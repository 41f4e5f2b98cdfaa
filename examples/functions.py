"""Passes at single functions, and the cost of each function."""

from pathlib import Path

from burnish import Sandbox, load_program, load_task

task = load_task("llvm_passes")
session = Sandbox(task.open, load_program(Path(__file__).with_name("hot.c")))
session.replay(["sroa<modify-cfg>", "main: simplifycfg", "fold_lower: loop-rotate<header-duplication>"])
for name, cost in session.site_costs("ir-instructions").items():
    print(f"{cost:4.0f}  {name}")
print(session.trace)
session.shutdown()
