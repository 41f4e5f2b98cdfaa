"""Debug information changes no code: not by any action, and not by what searches see of it."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from burnish import _native
from burnish.core.errors import CompilerCrash
from burnish.core.trace import WHOLE_PROGRAM
from burnish.llvm.corpora.kernels import find_kernel, kernel_names
from burnish.llvm.modules.module import run_pass
from burnish.llvm.modules.passes import ACTIONS
from burnish.llvm.modules.session import open_session
from burnish.llvm.programs import load_program
from burnish.tasks.llvm_passes import TASK
from burnish.workers.worker import Limits
from tests.conftest import OpenSandbox
from tests.loaded_code import loaded_code
from tests.sources import DATA, FILES

# reassociate describes `third` by two values, mem2reg by what is stored.
ASSIGNED = """\
int sums(const int *from, int count) {
  int sum = 0;
  for (int i = 0; i < count; i++) {
    int first = from[i], second = from[i + count];
    int third = first - second + 1;
    sum ^= third * from[third & 7];
  }
  return sum;
}
"""
PROGRAMS = {name: find_kernel(name).source for name in kernel_names()} | {name: DATA / name for name in FILES}
STEPS = 20  # of an episode
BEFORE = {"nothing": (), "sroa": ("sroa<modify-cfg>",), "Oz": ("clang<Oz>",)}


def opened(source: Path, *arguments: str) -> _native.Module:
    """Return a program's module before any pass."""
    return open_session(load_program(source, list(arguments))).module


def without(module: _native.Module) -> _native.Module:
    """Return a copy without debug information."""
    copy = module.clone()
    copy.drop_debug_info()
    return copy.clone()


def objects() -> Callable[[bytes], bytes]:
    """Return a function from bitcode to its object; several actions often lead to the same bitcode."""
    return cache(lambda bitcode: _native.Module(bitcode, "program").emit_object("Oz"))


def differing(described: _native.Module, before: tuple[str, ...]) -> list[str]:
    """Return the passes after which a module has other code where it has debug information.

    Args:
        described: The module, with debug information.
        before: Passes to run first. Each action then begins at the same code, described or not.
    """
    object_of = objects()
    plain = without(described)
    for text in before:
        for module in (described, plain):
            run_pass(module, ACTIONS.index(text), "", "Oz")
        if object_of(without(described).bitcode()) != object_of(plain.bitcode()):
            return [text]
    plain = without(described)
    begin = described.bitcode(), plain.bitcode()
    found = []
    for number, text in enumerate(ACTIONS):
        one, other = described.clone(), plain.clone()
        run_pass(one, number, "", "Oz")
        run_pass(other, number, "", "Oz")
        if (one.bitcode(), other.bitcode()) == begin:
            continue
        one.drop_debug_info()
        bare, expected = one.clone().bitcode(), other.bitcode()
        if bare != expected and object_of(bare) != object_of(expected):
            found.append(text)
    return found


def unknown_values(text: str) -> list[str]:
    """Return the records of a module whose expression has more operands than there are values."""
    found = []
    for record in re.findall(r"#dbg_\w+\(.*", text):
        listed = re.search(r"DIArgList\((.*?)\)", record)
        values = len(re.findall(r"(?:^|, )\w+ ", listed[1])) if listed else 1
        operands = re.findall(r"DW_OP_LLVM_arg, (\d+)", record)
        if operands and values <= max(map(int, operands)):
            found.append(record)
    return found


def test_a_variable_whose_value_is_stored_needs_no_other_values(tmp_path: Path) -> None:
    source = tmp_path / "assigned.c"
    source.write_text(ASSIGNED)
    module = opened(source, "-g")
    module.run("function(reassociate)")
    assert "DIArgList" in module.print()
    module.run("function(mem2reg)")
    assert not unknown_values(module.print())
    assert loaded_code(module.emit_object("Oz"))  # LLVM died of them


def test_a_module_is_what_clang_makes_without_debug_information(tmp_path: Path) -> None:
    source = tmp_path / "assigned.c"
    source.write_text(ASSIGNED)
    plain, described = (
        _native.Module(load_program(source, options).content, "program") for options in ([], ["-g"])
    )
    assert (plain.has_debug_info, described.has_debug_info) == (False, True)
    described.drop_debug_info()
    assert described.clone().print() == plain.print()
    assert not described.has_debug_info


@pytest.mark.parametrize("before", ["nothing", "sroa"])
def test_no_action_has_other_code_where_there_is_debug_information(before: str, tmp_path: Path) -> None:
    source = tmp_path / "assigned.c"
    source.write_text(ASSIGNED)
    assert differing(opened(source, "-g"), BEFORE[before]) == []


def test_a_pass_that_minds_debug_information_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two actions do more where there is debug information; one of them changes nothing by itself."""
    original = run_pass

    def run(module: _native.Module, action: int, site: str, level: str) -> bool:
        if ACTIONS[action] in ("gvn", "globaldce") and module.has_debug_info:
            module.run("function(reg2mem)")
        return original(module, action, site, level)

    monkeypatch.setattr(sys.modules[__name__], "run_pass", run)
    source = tmp_path / "assigned.c"
    source.write_text(ASSIGNED)
    described = opened(source, "-g")
    assert differing(described.clone(), BEFORE["sroa"]) == ["globaldce", "gvn"]
    assert differing(described, (*BEFORE["sroa"], "gvn")) == ["gvn"]


@pytest.mark.slow
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_action_has_other_code_in_a_program(name: str, before: str) -> None:
    assert differing(opened(PROGRAMS[name], "-g"), BEFORE[before]) == []


@pytest.mark.parametrize("trace", [(), ("clang<Oz>",)])
def test_code_generation_is_the_same_with_debug_information(trace: tuple[str, ...], tmp_path: Path) -> None:
    source = tmp_path / "assigned.c"
    source.write_text(ASSIGNED)
    described = opened(source, "-g")
    plain = without(described)
    for text in trace:
        for module in (described, plain):
            run_pass(module, ACTIONS.index(text), "", "Oz")
    assert loaded_code(described.emit_object("Oz")) == loaded_code(plain.emit_object("Oz"))


def random_episodes(open_sandbox: OpenSandbox, count: int, seed: int) -> Counter[str]:
    """Play episodes over programs with debug information, each to its object; count what became of them."""
    rng = np.random.default_rng(seed)
    name = FILES[seed % len(FILES)]
    root = open_sandbox(TASK.open, load_program(DATA / name, ["-g"]), Limits())
    outcomes: Counter[str] = Counter()
    for _ in range(count):
        session = root.fork()
        try:
            for _ in range(STEPS):
                sites = (WHOLE_PROGRAM, *session.sites()[:2])
                number, action = divmod(int(rng.choice(np.flatnonzero(session.mask(sites)))), len(ACTIONS))
                session.apply(action, sites[number])
            session.verify()
            session.object_code()
            outcomes["ended"] += 1
        except CompilerCrash as error:
            outcomes[str(error)] += 1
        session.close()
    root.shutdown()
    return outcomes


@pytest.mark.parametrize("seed", range(3))
def test_random_episodes_with_debug_information_end(open_sandbox: OpenSandbox, seed: int) -> None:
    assert random_episodes(open_sandbox, 4, seed) == {"ended": 4}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_2000_random_episodes_with_debug_information_end(open_sandbox: OpenSandbox, seed: int) -> None:
    assert random_episodes(open_sandbox, 100, seed) == {"ended": 100}
