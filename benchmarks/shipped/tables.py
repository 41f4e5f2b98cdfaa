"""What is printed: loaded bytes of every program by every compiler, then each compiler in detail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table

from shipped.rows import Row

UNWIND = (".eh_frame", ".eh_frame_hdr")
Figures = tuple[int, int, int, int, int]  # .text, read-only data, unwind tables, .rela.dyn, loaded


def loaded_table(rows: Sequence[Row], compilers: Sequence[str], *, tables: bool) -> Table:
    """Return loaded bytes: the baseline's, and by how much each compiler's differ."""
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
    """Return one compiler in detail, a line for each program."""
    table = Table(title=f"{compiler} against {baseline}, {_variant(tables)}", title_justify="left")
    right = (
        ".text",
        "read-only",
        "unwind",
        "relocations",
        "loaded",
        "larger",
        "run time",
        "build time",
        "configure",
    )
    for name in ("program", *right, "outputs", "tests"):
        table.add_column(name, justify="right" if name in right else "left")
    before, after = (dict(_programs(rows, name, tables)) for name in (baseline, compiler))
    row_of = {row["project"]: row for row in rows if row["compiler"] == compiler and row["tables"] == tables}
    clang = {row["project"]: row for row in rows if row["compiler"] == baseline and row["tables"] == tables}
    shown: set[str] = set()
    for program, figures in after.items():
        if program not in before:
            continue
        project = program.partition(": ")[0]
        row, first = row_of[project], project not in shown
        shown.add(project)
        table.add_row(
            program, *_sizes(before[program], figures), *(_of_project(row, clang[project]) if first else ())
        )
    table.add_section()
    both = [program for program in after if program in before]
    sums = [
        tuple(sum(figures[program][i] for program in both) for i in range(5)) for figures in (before, after)
    ]
    if both:
        table.add_row("total", *_sizes(*sums))
    return table


def _sizes(before: Sequence[int], after: Sequence[int]) -> list[str]:
    text, constants, unwind, relocations, loaded = zip(before, after, strict=True)
    return [_change(*text), _change(*constants), _plus(*unwind), _plus(*relocations), _change(*loaded)]


def _of_project(row: Row, baseline: Row) -> list[str]:
    configure = row.get("configure_seconds")
    built = row["build_seconds"]["wall"] / baseline["build_seconds"]["wall"]
    return [
        f"{row['objects_larger']}/{row['objects']}" if row["objects_text"] else "",  # LTO's have no code yet
        f"{100 * (row['run_ratio'] - 1):+.1f} %" if row.get("run_ratio") else "",
        f"x{built:.1f}",
        f"x{configure['compiler'] / configure['baseline']:.1f}" if configure else "",
        "same" if not row["outputs"] else "DIFFERENT",
        "none" if row["tests"] is None else "FAIL" if row["tests"] else "pass",
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
