"""The printed tables: loaded bytes of every program by every compiler, and each compiler in detail."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.table import Table

from shipped.rows import Row

RIGHT = (
    *("program", ".text", "read-only", "unwind", "relocations", "loaded"),
    *("larger", "run time", "build time", "configure"),
)
COUNTS = ("objects_larger", "objects")
UNWIND = (".eh_frame", ".eh_frame_hdr")
Figures = tuple[int, int, int, int, int]  # .text, read-only data, unwind tables, .rela.dyn, loaded


def loaded_table(rows: Sequence[Row], compilers: Sequence[str], *, tables: bool) -> Table:
    """Return the table of the baseline's loaded bytes and each compiler's relative difference."""
    baseline, *others = compilers
    table = Table(title=f"loaded bytes, {_variant(tables)}", title_justify="left")
    table.add_column("program")
    table.add_column(baseline, justify="right")
    for name in others:
        table.add_column(name, justify="right")
    by_compiler = {name: dict(_programs(rows, name, tables)) for name in compilers}
    for program, figures in by_compiler[baseline].items():
        cells = [_change(figures[-1], by_compiler[name].get(program, (0,))[-1]) for name in others]
        table.add_row(program, f"{figures[-1]:,}", *cells)
    table.add_section()
    total = sum(figures[-1] for figures in by_compiler[baseline].values())
    table.add_row(
        "total", f"{total:,}", *(_total(by_compiler[baseline], by_compiler[name]) for name in others)
    )
    return table


def detail_table(rows: Sequence[Row], baseline: str, compiler: str, *, tables: bool) -> Table:
    """Return one compiler's table: a line for each program, then the total."""
    table = Table(title=f"{compiler} against {baseline}, {_variant(tables)}", title_justify="left")
    for name in RIGHT:
        table.add_column(name, justify="left" if name == "program" else "right")
    for name in ("outputs", "tests"):
        table.add_column(name)
    before, after = (dict(_programs(rows, name, tables)) for name in (baseline, compiler))
    of_compiler, of_baseline = (
        {row["project"]: row for row in rows if row["compiler"] == name and row["tables"] == tables}
        for name in (compiler, baseline)
    )
    both = [program for program in after if program in before]
    shown: list[str] = []
    for program in both:
        project = program.partition(": ")[0]
        of_project: list[str] = []
        if project not in shown:
            shown.append(project)
            of_project = _of_project(of_compiler[project], of_baseline[project])
        table.add_row(program, *_sizes(before[program], after[program]), *of_project)
    if both:
        table.add_section()
        sums = [
            tuple(sum(figures[program][i] for program in both) for i in range(5))
            for figures in (before, after)
        ]
        pairs = [(of_compiler[project], of_baseline[project]) for project in shown]
        table.add_row("total", *_sizes(*sums), *_of_all(pairs))
    return table


def _sizes(before: Sequence[int], after: Sequence[int]) -> list[str]:
    text, constants, unwind, relocations, loaded = zip(before, after, strict=True)
    return [_change(*text), _change(*constants), _plus(*unwind), _plus(*relocations), _change(*loaded)]


def _of_project(row: Row, baseline: Row) -> list[str]:
    configure = row.get("configure_seconds")
    built = row["build_seconds"]["wall"] / baseline["build_seconds"]["wall"]
    return [
        f"{row['objects_larger']}/{row['objects']}" if row["objects_loaded"] else "",  # LTO: no code yet
        f"{100 * (row['run_ratio'] - 1):+.1f} %" if row.get("run_ratio") else "",
        f"x{built:.1f}",
        f"x{configure['compiler'] / configure['baseline']:.1f}" if configure else "",
        "same" if not row["outputs"] else "DIFFERENT",
        "none" if row["tests"] is None else "FAIL" if row["tests"] else "pass",
    ]


def _of_all(pairs: Sequence[tuple[Row, Row]]) -> list[str]:
    """Return the columns after the sizes: sums, and the geometric mean of run times."""
    larger, objects = (sum(row[name] for row, _ in pairs if row["objects_loaded"]) for name in COUNTS)
    logs = [math.log(row["run_ratio"]) for row, _ in pairs if row.get("run_ratio")]
    built, clang = (sum(pair[i]["build_seconds"]["wall"] for pair in pairs) for i in (0, 1))
    return [
        f"{larger}/{objects}" if objects else "",
        f"{100 * (math.exp(sum(logs) / len(logs)) - 1):+.1f} %" if logs else "",
        f"x{built / clang:.1f}",
    ]


def _programs(rows: Iterable[Row], compiler: str, tables: bool) -> Iterable[tuple[str, Figures]]:
    for row in rows:
        if row["compiler"] == compiler and row["tables"] == tables:
            for name, sizes in row["programs"].items():
                sections = sizes["sections"]
                yield (
                    row["project"] if name == row["project"] else f"{row['project']}: {name}",
                    (
                        sections.get(".text", 0),
                        sizes["kinds"]["read-only data"],
                        sum(sections.get(section, 0) for section in UNWIND),
                        sections.get(".rela.dyn", 0),
                        sizes["loaded_bytes"],
                    ),
                )


def _total(before: dict[str, Figures], after: dict[str, Figures]) -> str:
    both = [program for program in before if program in after]
    change = _change(
        sum(before[program][-1] for program in both), sum(after[program][-1] for program in both)
    )
    return change if len(both) == len(before) else f"{change} of {len(both)}"


def _change(before: int, after: int) -> str:
    if not before or not after:
        return ""
    return f"{100 * (after - before) / before:+.2f} %" if after != before else "0 %"


def _plus(before: int, after: int) -> str:
    return f"{after - before:+,}" if after != before else "0"


def _variant(tables: bool) -> str:
    return "with unwind tables" if tables else "without asynchronous unwind tables"
