"""burnish registers: evaluation of policies of evictions against LLVM's register allocator."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from burnish.cli.llvm.modules import add_programs, chosen_programs, show_comparison
from burnish.console.command_parser import CommandParser
from burnish.console.table_forms import add_table_form
from burnish.core.registry import load_task
from burnish.tasks.llvm_codegen.objectives import SPILL_COST
from burnish.tasks.llvm_codegen.policy.comparing import against_heuristic
from burnish.tasks.llvm_codegen.policy.scorer import load_scorer
from burnish.tasks.llvm_codegen.session import CodegenOptions

TASK = "llvm_codegen"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = CommandParser(
        prog="burnish registers",
        description="Compare a policy of evictions with LLVM's register allocator, module by module.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    text = "measure modules whose evictions a policy chooses, without a search"
    one = commands.add_parser("compare", help=text, description=f"{text}.".capitalize(), subcommand=True)
    one.add_argument("policy", type=Path, help="a file of burnish train regalloc-eviction-*")
    one.add_argument("--pipeline", default="O2", help="clang's level before code generation; default: O2")
    add_table_form(one, json="a line of JSON for each module")
    add_programs(one, SPILL_COST)
    options = parser.parse(arguments)
    task = load_task(TASK)
    objective = task.objective(options.objective or SPILL_COST).name
    task = task.configured({"pipeline": options.pipeline, "evict_policy": str(options.policy)}, objective)
    load_scorer(options.policy)
    rows = list(against_heuristic(chosen_programs(options), CodegenOptions(**task.options), objective))
    if options.json:
        for row in rows:
            print(json.dumps(asdict(row)))
    else:
        show_comparison(rows, objective, options)
    return 0
