"""Every table of the command line, with long names and large figures that nobody measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from burnish.cc.advice import ADVICE, MeasuredAdvice, Measurements
from burnish.cc.build_summary import summary_of
from burnish.cc.commands import link, report, report_advice, report_linked
from burnish.cc.linked import KINDS, Linked, Section
from burnish.cli import apply, compare, leaderboard, tasks, train, validate
from burnish.cli.llvm import inliner, modules
from burnish.cli.llvm.corpus_tables import packages_table, print_summary, programs_table, show_runnable
from burnish.cli.show.evaluate_folder import print_tables
from burnish.cli.show.results_table import results_table
from burnish.console.table_forms import TableForm
from burnish.core.result import Result
from burnish.evaluation.against import Against
from burnish.evaluation.evaluate import Evaluated, summarise
from burnish.evaluation.importance import FeatureImportance
from burnish.evaluation.leaderboard import Entry, figures_of
from burnish.evaluation.timing import Comparison
from burnish.llvm.corpora.kernels import kernels
from burnish.llvm.corpora.pack import PackRow
from burnish.tasks.llvm_passes import TASK
from tests.cc.test_build_report import a_record
from tests.evaluation.rows import row

DEEP = "build/CMakeFiles/a_target_with_a_name.dir/src/deep/er"
FILES = [f"{DEEP}/{name}.cpp" for name in ("first_of_the_files", "another_file", "x")]
METHODS = ("mixed@a_policy_of_ones_own.npz", "genetic")


def results() -> list[Result]:
    costs: dict[str, Any] = {
        "cost": 1234567.0,
        "baselines": {"O0": 9876543.0, "Oz": 2345678.0, "O3": 3456789.0},
    }
    beside = {"ir-instructions": {"result": 81.0, "O0": 202.0, "Oz": 84.0, "O3": 110.0}}
    first = Result(
        task=TASK.id,
        program=FILES[0],
        digest="0",
        objective="loaded-bytes",
        method="mixed",
        seed=0,
        trace=(),
        evaluations=123456,
        seconds=12345.6,
        toolchain={},
        beside=beside,
        valid=True,
        verified=("LLVM's verifier accepts it",),
        **costs,
    )
    return [first, *(replace(first, program=name, verified=("not run",)) for name in FILES[1:])]


def evaluated() -> list[Evaluated]:
    noisy = {"seconds": Comparison(1.234, 1.111, 1.357, "no difference found", 0.95, 25)}
    checks = ("outputs equal -O0's on 3 inputs",)
    sizes = {"loaded-bytes": (2345678.0, 1234567.0)}
    return [Evaluated(name, "Oz", checks=checks, sizes=sizes, noisy=noisy) for name in FILES]


def _apply(form: TableForm) -> None:
    costs = dict.fromkeys(TASK.exact_objectives, 1234567.0)
    steps = ("(opened)", f"{'a_function_with_a_long_name' * 2}: simplifycfg<bonus-inst-threshold=1;no-sink>")
    rows: list[dict[str, object]] = [
        {"step": step, "changed": True, "milliseconds": 1234.567, "idle": False, "without": 12.0, **costs}
        for step in steps
    ]
    apply._show_steps(rows, TASK, TASK.objective("loaded-bytes"), form)


def _compare(form: TableForm) -> None:
    rows = evaluated()
    table = compare._Table(TASK, "loaded-bytes", 0.95)
    compare._print(table, rows, summarise(rows, confidence=0.95), form)


def _evaluate(form: TableForm) -> None:
    rows = [
        row(name, 50.0 + len(name), method=method, project=Path(name).stem, budget=budget, checks=("equal",))
        for method in METHODS
        for name in FILES
        for budget in ("10 evaluations", "2s|5xOz")
    ]
    print_tables(rows, confidence=0.95, form=form)


def _leaderboard(form: TableForm) -> None:
    rows = [row(name, 50.0 + len(name)) for name in FILES]
    origin: dict[str, Any] = dict.fromkeys(
        ("date", "command", "task", "method", "policy", "rows", "rows_digest", "digest"), ""
    )
    entry = Entry(
        name=METHODS[0],
        options={},
        toolchain={},
        programs=tuple(FILES),
        sample=None,
        count=3,
        objective="loaded-bytes while slowdown<=1.05",
        reference="Oz",
        budget="2s|5xOz",
        seed=0,
        confidence=0.95,
        **(origin | figures_of(rows, 0.95)),
    )
    form.show(leaderboard._table([entry], {0: ["a difference"]}))


def _report(form: TableForm, *, reasons: bool = False) -> None:
    home = Path("/home/somebody")
    sizes = {"loaded_bytes_before": 1234567, "loaded_bytes": 1134567}
    rows = [a_record(home, name.replace(".cpp", ".o"), **sizes) for name in FILES]
    rows.append(replace(rows[0], output="start.o", level="", action="passed through", reason="assembly"))
    report._print(summary_of(rows), home, form, reasons=reasons)


def linked() -> Linked:
    return Linked(tuple(Section(f".section.{kind}", kind, 1234567) for kind in KINDS))


def _linked(form: TableForm) -> None:
    form.show(report_linked._table(Path(FILES[0]), linked(), Path(FILES[1]), linked()))


def _one_linked(form: TableForm) -> None:
    form.show(report_linked._table(Path(FILES[0]), linked(), None, None))


def _advice(form: TableForm) -> None:
    smaller = Linked(linked().sections[:-1])
    measured = tuple(MeasuredAdvice(advice, smaller, 1234567) for advice in ADVICE)
    report_advice._print(Measurements(linked(), linked(), measured, smaller, 3), form)


def pack_rows() -> list[PackRow]:
    return [
        PackRow(
            "a-package-with-a-long-name-1.2.3",
            name,
            split,
            "c++",
            "compiled",
            "",
            "d",
            "s",
            1234567,
            12345678,
        )
        for split in ("train", "test")
        for name in FILES
    ]


def _link(form: TableForm, lto: Linked | None = None) -> None:
    sizes = {
        "loaded_bytes_before": 1234567,
        "loaded_bytes": 1134567,
        "text_bytes_before": 765432,
        "text_bytes": 654321,
    }
    record = a_record(Path("/home/somebody"), "a_program_with_a_name", source="123 units", **sizes)
    link._print(replace(record, reason="the build's budget is used up"), lto, form)


def _validate(form: TableForm) -> None:
    wrong = "WRONG: it prints something else than unoptimized on the input small"
    validate._show(
        [
            ((FILES[0], "123 steps", "right"), ["replayed in two new processes"]),
            ((FILES[1], "-Oz was kept", wrong), ["see reproducer/README.md"]),
        ],
        form,
    )


def _replay(form: TableForm) -> None:
    from burnish.cli.replay import outcomes_table

    table = outcomes_table()
    for name in FILES:
        table.add(name, "123 steps", "1234567", "loaded-bytes", "another state of the same cost")
    form.show(table)


TABLES: dict[str, Callable[[TableForm], None]] = {
    "optimize": lambda form: results_table(results(), TASK, form),
    "apply": _apply,
    "compare": _compare,
    "evaluate": _evaluate,
    "leaderboard": _leaderboard,
    "report": _report,
    "report --files": lambda form: _report(form, reasons=True),
    "report --linked": _one_linked,
    "report --linked --against": _linked,
    "report --advice": _advice,
    "link": _link,
    "link --against-lto": lambda form: _link(form, linked()),
    "validate": _validate,
    "replay": _replay,
    "corpus stats": lambda form: print_summary(pack_rows(), detailed=True, form=form),
    "corpus list": lambda form: form.show(programs_table(pack_rows())),
    "corpus list --packages": lambda form: form.show(packages_table(pack_rows())),
    "corpus list kernels": lambda form: show_runnable("kernel", kernels()[:3], form),
    "tasks": lambda form: tasks._print(TASK, form, actions=False),
    "train --list": train._list_configurations,
    "inliner compare": lambda form: form.show(
        modules.modules_table([Against(name, 1234567.0, 1134567.0, 123456, 1234) for name in FILES])
    ),
    "inliner importance": lambda form: form.show(
        inliner.features_table([FeatureImportance("callee_basic_block_count", 0.1234, -12345.6)])
    ),
}
