"""Passes on single functions."""

from __future__ import annotations

import pytest

from burnish.llvm.modules.passes import PASSES
from burnish.llvm.modules.session import ModuleSession, open_session
from burnish.tasks.llvm_passes import TASK
from tests.sources import FILES, program


def opened(name: str) -> ModuleSession:
    """Open a program with its variables in registers: more passes find work."""
    session = open_session(program(name))
    session.apply(session.index("sroa<modify-cfg>"))
    return session


@pytest.mark.parametrize("name", FILES)
def test_one_function_after_another_is_the_module(name: str) -> None:
    root = opened(name).module
    for item in PASSES:
        if item.function_pipeline is None:
            continue
        whole, parts = root.clone(), root.clone()
        whole.run(item.pipeline)
        for function in parts.functions:
            parts.run(item.function_pipeline, functions=[function])
        assert (item.text, parts.digest()) == (item.text, whole.digest())


def test_other_functions_stay_as_they_are() -> None:
    session = opened("strings.c")
    before = session.site_costs("ir-instructions")
    assert session.apply(session.index("loop-unroll<O3>"), "text_find") is not None
    assert session.apply(session.index("simplifycfg"), "text_find")
    after = session.site_costs("ir-instructions")
    assert {name for name in before if before[name] != after[name]} == {"text_find"}
    assert session.trace[-1] == "text_find: simplifycfg"


def test_function_costs_add_up() -> None:
    session = opened("classes.cpp")
    costs = session.site_costs("ir-instructions")
    assert sum(costs.values()) == session.measure("ir-instructions")
    assert list(session.sites()) == sorted(costs, key=lambda name: (-costs[name], name))
    text = session.site_costs("text-bytes")
    assert 0 < sum(text.values()) <= session.measure("text-bytes")  # the rest is padding


def test_site_vanishes_with_its_function() -> None:
    session = TASK.open(program("dispatch.c"))
    assert session.legal("sum").any()
    session.replay(["clang<Oz>"])
    inlined = [name for name in ("add", "larger", "partition") if name not in session.sites()]
    assert all(not session.legal(name).any() and session.measure("text-bytes", name) == 0 for name in inlined)
    assert not session.legal("free").any()


def test_fork_keeps_the_module_and_the_trace() -> None:
    session = opened("machine.c")
    fork = session.fork()
    fork.replay(["tokens: simplifycfg", "clang<Oz>"])
    assert session.trace == ["sroa<modify-cfg>"]
    assert fork.trace == ["sroa<modify-cfg>", "tokens: simplifycfg", "clang<Oz>"]
    assert fork.measure("text-bytes") < session.measure("text-bytes")
