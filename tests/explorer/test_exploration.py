"""Explorations: states are merged, evicted and reached again, and survive their compiler."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from burnish.core.errors import CompilerCrash, IllegalAction, InputError
from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.core.walk import reached as replay
from burnish.explorer.exploration import Exploration
from burnish.explorer.state_tree import StateTree
from burnish.search import Budget
from burnish.search.problem import Problem
from burnish.tasks.loop_nests.parsing import parse
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Worker
from tests.sources import program
from tests.tasks.mlir_schedules.small import small
from tests.tasks.wasm_passes.modules import count

PROGRAMS: dict[str, Callable[[], Program]] = {
    "llvm_passes": lambda: program("matrix.c"),
    "llvm_inlining": lambda: program("hash_table.c"),
    "llvm_codegen": lambda: program("hash_table.c"),
    "loop_nests": lambda: parse("f32 m=20 n=24 k=9\nc[m,n] += a[m,k] * b[k,n]").program("product"),
    "mlir_schedules": lambda: small("matmul"),
    "wasm_passes": count,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_task_opens_lists_applies_and_observes(name: str) -> None:
    with Exploration(load_task(name), PROGRAMS[name]()) as exploration:
        root = exploration.root
        legal = [one for site in exploration.sites(root) for one in exploration.legal(root, site)]
        assert legal
        edge = exploration.apply(root, legal[0].entry)
        assert edge.target in exploration.states
        assert exploration.observe(exploration.states[edge.target]) is not None


@pytest.fixture
def matrix() -> Iterator[Exploration]:
    with Exploration(load_task("llvm_passes"), program("matrix.c"), live=2) as exploration:
        yield exploration


CHANGES = {
    "llvm_passes": ("sroa<modify-cfg>",),
    "llvm_codegen": ("skip(peephole-opt)",),
    "loop_nests": ("split(8)",),
    "mlir_schedules": ("matmul#1: tile(0, 4)",),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_task_shows_what_an_action_changed(name: str) -> None:
    with Exploration(load_task(name), PROGRAMS[name]()) as exploration:
        tree = StateTree(exploration)
        trace = CHANGES.get(name) or next(
            (one.entry,)
            for one in exploration.legal(exploration.root)
            if exploration.apply(exploration.root, one.entry).target != exploration.root.digest
        )
        assert tree.comparisons.changes((), trace).sections
        for drawing in list(exploration.task.shown.drawings)[:1]:
            section = ""
            if tree.comparisons.drawing(drawing).by_section:
                section = tree.comparisons.sections((), trace, tree.comparisons.drawing(drawing).observation)[
                    0
                ]["name"]
            picture = tree.comparisons.picture((), trace, drawing, section)
            assert {box.kind for box in picture.boxes} != {"same"}
            assert picture.width > 0
        tree.close()


def test_comparison_opens_no_session_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    with Exploration(load_task("llvm_passes"), program("matrix.c"), live=1) as exploration:
        tree = StateTree(exploration, "loaded-bytes")
        first, second = ("mem2reg",), ("mem2reg", "early-cse")
        tree.visit(second)
        opened: list[Trace] = []

        def reached(root: Session, trace: Trace) -> Session:
            opened.append(trace)
            return replay(root, trace)

        monkeypatch.setattr("burnish.evaluation.states.reached", reached)
        for _ in range(2):
            assert tree.comparisons.changes(first, second).sections
            assert tree.comparisons.site_costs(first)
            assert tree.comparisons.site_costs(second)
        assert opened == [first, second]
        tree.close()


def test_equal_digests_are_one_state_with_two_edges_to_it(matrix: Exploration) -> None:
    promoted = matrix.state(("mem2reg",))
    again = matrix.apply(promoted, "mem2reg")
    assert again.idle
    assert again.target == promoted.digest
    assert len(matrix.states) == 2
    assert {edge.source for edge in matrix.edges.values() if edge.target == promoted.digest} == {
        matrix.root.digest,
        promoted.digest,
    }


def test_evicted_state_is_reached_again(matrix: Exploration) -> None:
    promoted = matrix.state(("mem2reg",))
    before = matrix.observe(promoted, "ir")
    matrix.state(("mem2reg", "early-cse", "gvn", "adce"))  # more than `live`
    assert matrix.observe(promoted, "ir") == before


def test_killed_compiler_is_survived(matrix: Exploration) -> None:
    promoted = matrix.state(("mem2reg",))
    before = matrix.observe(promoted, "ir")
    pid = matrix._sandboxes._root.pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    assert matrix.observe(promoted, "ir") == before
    assert not matrix.apply(promoted, "early-cse").error


def test_illegal_entry_adds_nothing(matrix: Exploration) -> None:
    with pytest.raises((IllegalAction, InputError)):
        matrix.apply(matrix.root, "no-such-function: mem2reg")
    assert len(matrix.states) == 1
    assert not matrix.edges


def test_search_grows_the_tree_and_its_result_is_minimal(matrix: Exploration) -> None:
    best = matrix.search(matrix.root, Budget(evaluations=20, workers=1), method="random")
    assert matrix.cost(best) < matrix.cost(matrix.root)
    assert len(matrix.states) > 1
    reduced = matrix.minimize(best.trace)
    assert len(reduced.trace) <= len(best.trace)
    assert matrix.cost(matrix.state(reduced.trace)) <= matrix.cost(best)


def test_search_from_a_state_continues_its_trace(matrix: Exploration) -> None:
    promoted = matrix.state(("mem2reg",))
    best = matrix.search(promoted, Budget(evaluations=10, workers=1), method="random")
    assert best.trace[:1] == ("mem2reg",)


def test_result_has_the_costs_of_the_state_and_of_the_baselines(matrix: Exploration) -> None:
    promoted = matrix.state(("mem2reg",))
    row = matrix.result(promoted)
    assert row.cost == matrix.cost(promoted)
    assert row.baselines[matrix.task.unoptimized] == matrix.cost(matrix.root)
    assert row.state == promoted.digest
    assert "mem2reg" in matrix.commandline(promoted)


def open_fragile(source: Program) -> Session:
    """Open a program in a compiler that dies in gvn; a worker calls this."""
    session = load_task("llvm_passes").open(source)
    kind = type(session)
    apply = kind.apply

    def dying(self: Session, action: int, site: str = "") -> bool:
        if self.actions[action] == "gvn":
            os.abort()
        return apply(self, action, site)

    kind.apply = dying  # type: ignore[method-assign]
    return session


def test_crash_is_an_edge_and_the_rest_continues() -> None:
    task = replace(load_task("llvm_passes"), open=open_fragile)
    with Exploration(task, program("matrix.c")) as exploration:
        promoted = exploration.state(("mem2reg",))
        edge = exploration.apply(promoted, "gvn")
        assert edge.target is None
        assert "SIGABRT" in edge.error
        with pytest.raises(CompilerCrash, match="'gvn' failed"):
            exploration.state(("mem2reg", "gvn"))
        assert exploration.apply(promoted, "early-cse").target in exploration.states


def open_killed_once(mark: Path, source: Program) -> Session:
    """Open a program in a compiler that another process kills in the first gvn; a worker calls this."""
    session = load_task("llvm_passes").open(source)
    kind = type(session)
    apply = kind.apply

    def killed(self: Session, action: int, site: str = "") -> bool:
        if self.actions[action] == "gvn" and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return apply(self, action, site)

    kind.apply = killed  # type: ignore[method-assign]
    return session


def test_action_is_tried_again_if_its_compiler_was_killed_from_outside(tmp_path: Path) -> None:
    task = replace(load_task("llvm_passes"), open=partial(open_killed_once, tmp_path / "mark"))
    with Exploration(task, program("matrix.c")) as exploration:
        edge = exploration.apply(exploration.root, "gvn")
        assert (tmp_path / "mark").exists()
        assert edge.target in exploration.states


def test_failing_baseline_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    open_baseline = Problem.open_baseline

    def fails(self: Problem, name: str, worker: Worker | None = None) -> Sandbox:
        opened.append(name)
        if name == "O3":
            raise CompilerCrash("died")
        return open_baseline(self, name, worker)

    monkeypatch.setattr(Problem, "open_baseline", fails)
    with Exploration(load_task("llvm_passes"), program("matrix.c")) as exploration:
        found = [exploration.baselines(names=("O0", "O3")) for _ in range(2)]
    assert [list(costs) for costs in found] == [["O0"], ["O0"]]
    assert opened == ["O0", "O3"]


def test_whole_program_has_no_answers_while_another_site_is_asked() -> None:
    with Exploration(load_task("llvm_inlining"), program("hash_table.c")) as asked:
        (question,) = asked.sites(asked.root)
        assert question
        assert asked.legal(asked.root, question) == asked.legal(asked.root)
        assert not asked.legal(asked.root, "another site")
