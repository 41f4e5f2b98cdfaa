"""burnish tasks: all tasks with their actions, observations, objectives and policies."""

from __future__ import annotations

import json
from collections.abc import Sequence

from burnish.console.command_parser import CommandParser
from burnish.console.table_forms import TableForm, add_table_form, form_of
from burnish.console.tables import TextTable, names, texts
from burnish.core.registry import load_task, task_names
from burnish.core.task import Task
from burnish.policies.find import names_for


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = CommandParser(prog="burnish tasks", description=__doc__)
    parser.add_argument("task", nargs="?", help="show one task in full, with its actions")
    add_table_form(parser, json="print JSON")
    options = parser.parse(arguments)
    tasks = [load_task(options.task)] if options.task else [load_task(name) for name in task_names()]
    if options.json:
        print(json.dumps([_as_json(task) for task in tasks], indent=2))
        return 0
    for task in tasks:
        _print(task, form_of(options), actions=bool(options.task))
    return 0


def _print(task: Task, form: TableForm, *, actions: bool) -> None:
    steps = f"at most {task.max_steps} steps" if task.max_steps else "a step for each question"
    form.note(f"{task.id}: {len(task.actions)} actions, {task.language} programs, {steps}")
    columns = (names("form"), texts("description"))
    observations = TextTable((names("observation"), *columns))
    for item in task.observations.values():
        form_of_it = f"{item.dtype}{list(item.shape)}" if item.kind == "array" else item.kind
        observations.add(item.name, form_of_it, item.description)
    objectives = TextTable((names("objective"), names("unit"), texts("description")))
    for objective in task.objectives.values():
        runs = "; for programs that can be run" if objective.needs_workload else ""
        objectives.add(objective.name, objective.unit, f"{objective.description}{runs}")
    form.show(observations, objectives)
    several = [*task.objectives][:2]
    weighted = "*".join(f"{name}^{1 / len(several):g}" for name in several)
    form.note(f"or a weighted objective of several, such as {weighted}")
    for name in names_for(task):
        form.note(f"policy: {name}")
    form.note(f"baselines: {', '.join(task.baselines)}; the reference is {task.reference}")
    if actions:
        form.note("actions")
        for action in task.actions:
            text = task.describe(action)
            form.note(f"    {action}: {text}" if text else f"    {action}")
    else:
        form.note(f"burnish tasks {task.name} lists the actions\n")


def _as_json(task: Task) -> dict[str, object]:
    return {
        "task": task.id,
        "language": task.language,
        "max_steps": task.max_steps,
        "observations": {
            item.name: {
                "kind": item.kind,
                "shape": list(item.shape),
                "dtype": item.dtype if item.kind == "array" else None,
                "columns": list(item.columns),
                "description": item.description,
            }
            for item in task.observations.values()
        },
        "objectives": {
            item.name: {
                "unit": item.unit,
                "dense": item.dense,
                "noisy": item.noisy,
                "needs_workload": item.needs_workload,
                "description": item.description,
            }
            for item in task.objectives.values()
        },
        "policies": names_for(task),
        "baselines": list(task.baselines),
        "reference": task.reference,
        "actions": list(task.actions),
        "effects": {action: task.describe(action) for action in task.actions},
    }
