"""The list of actions against LLVM's own catalogue and CompilerGym's list."""

from __future__ import annotations

import re

import numpy as np
import pytest

from burnish import _native
from burnish.core.errors import IllegalAction, InputError, UnknownName
from burnish.llvm.modules.passes import (
    ACTIONS,
    OMITTED,
    PASSES,
    as_opt_pipeline,
    left_out,
)
from burnish.tasks.llvm_passes import TASK, Options, make_task
from tests.sources import DATA, program

COMPILERGYM = [line.lstrip("-") for line in (DATA / "compilergym_actions_llvm10.txt").read_text().split()]

RENAMED: dict[str, str] = {
    # LLVM 10's name (CompilerGym's list): the action here, if its name differs
    "early-cse-memssa": "early-cse<memssa>",
    "flattencfg": "flatten-cfg",
    "functionattrs": "function-attrs",
    "instcombine": "instcombine<no-verify-fixpoint>",
    "ipconstprop": "ipsccp",
    "constprop": "instsimplify",
    "die": "dce",
    "licm": "licm<allowspeculation>",
    "loop-guard-widening": "guard-widening",
    "loop-rotate": "loop-rotate<header-duplication>",
    "loop-unroll": "loop-unroll<O3>",
    "loop-unswitch": "simple-loop-unswitch<nontrivial>",
    "lowerswitch": "lower-switch",
    "rpo-functionattrs": "rpo-function-attrs",
    "simple-loop-unswitch": "simple-loop-unswitch<nontrivial>",
    "sroa": "sroa<modify-cfg>",
}


def plain(text: str) -> str:
    """Return a pass' name without its parameters."""
    return text.partition("<")[0]


def test_list_has_at_least_124_actions() -> None:
    assert len(ACTIONS) >= 124
    assert len(COMPILERGYM) == 124


def test_every_action_parses() -> None:
    for item in PASSES:
        _native.check_pipeline(item.pipeline)
        if item.function_pipeline is not None:
            _native.check_pipeline(item.function_pipeline, function_level=True)


def test_nonsense_does_not_parse() -> None:
    for text in ("no-such-pass", "simplifycfg<", "clang<O9>", "clang<Oz;inline-threshold=x>", "gvn<maybe>"):
        with pytest.raises(_native.PipelineError):
            _native.check_pipeline(text)


@pytest.mark.parametrize("name", COMPILERGYM)
def test_compilergym_pass_is_an_action_or_explained(name: str) -> None:
    now = RENAMED.get(name, name)
    in_list = now in ACTIONS or now in {plain(action) for action in ACTIONS}
    assert in_list != (name in OMITTED), f"{name} must be in exactly one of ACTIONS and OMITTED"


def test_renamed_lead_to_actions() -> None:
    assert set(RENAMED.values()) <= set(ACTIONS)
    assert set(RENAMED) <= set(COMPILERGYM)


def test_omitted_are_explained_and_not_actions() -> None:
    assert all(len(reason) > 10 for reason in OMITTED.values())
    assert not OMITTED.keys() & {plain(action) for action in ACTIONS}


def test_omitted_exist_in_llvm_or_did() -> None:
    catalogue = set(re.findall(r"^ {2}([\w-]+)", _native.pass_catalogue(), flags=re.MULTILINE))
    assert OMITTED.keys() <= catalogue | set(COMPILERGYM)


@pytest.mark.parametrize("name", ["simplifycfg", "gvn", "licm<allowspeculation>", "loop-unroll<O3>"])
def test_function_pass_is_legal_at_a_function(name: str) -> None:
    session = TASK.open(program("matrix.c"))
    assert session.legal("multiply")[session.index(name)]


@pytest.mark.parametrize("name", ["globaldce", "inline", "clang<Oz>", "argpromotion"])
def test_module_pass_is_illegal_at_a_function(name: str) -> None:
    session = TASK.open(program("matrix.c"))
    before = session.digest()
    with pytest.raises(IllegalAction, match=f"'{name}' is illegal at site 'multiply'"):
        session.apply(session.index(name), "multiply")
    assert (session.digest(), session.trace) == (before, [])


def test_opt_pipeline_is_empty_where_opt_has_no_text() -> None:
    assert as_opt_pipeline(["simplifycfg", "licm<allowspeculation>"]) == (
        "function(simplifycfg),function(loop-mssa(licm<allowspeculation>))"
    )
    assert as_opt_pipeline(["clang<Oz>"]) == ""
    assert as_opt_pipeline(["main: gvn"]) == ""
    assert as_opt_pipeline(["inline"]) == "cgscc(inline)"


def test_actions_are_left_out_by_name_or_beginning() -> None:
    option = left_out(["outline*", " mergefunc", "outline*"])
    assert option == "mergefunc,outline*"
    task = make_task(Options(without=option))
    gone = set(ACTIONS) - set(task.actions)
    assert gone == {"mergefunc", *(text for text in ACTIONS if text.startswith("outline<"))}
    assert task.options == {"without": option}
    assert make_task(Options(without=left_out([]))).actions == ACTIONS


def test_what_is_left_out_has_to_be_there_and_something_has_to_be_left() -> None:
    with pytest.raises(UnknownName, match="'outlin'"):
        left_out(["outlin"])
    with pytest.raises(UnknownName, match=re.escape("outline*")):
        left_out(["outline"])
    with pytest.raises(InputError, match="no action is left"):
        left_out(["*"])


def test_fewer_actions_do_the_same_and_lead_to_the_same_state() -> None:
    trace = ["sroa<modify-cfg>", "clang<Oz>", "multiply: gvn", "loop-rotate<header-duplication>"]
    few, all_of_them = (make_task(Options(without=text)).open(program("matrix.c")) for text in ("a*", ""))
    for session in (few, all_of_them):
        session.replay(trace)
    assert few.digest() == all_of_them.digest()
    assert few.fork().actions == few.actions != all_of_them.actions
    assert np.array_equal(few.observe("trace"), all_of_them.observe("trace"))
    for site in ("", "multiply", "nowhere"):
        allowed = [text for text, legal in zip(few.actions, few.legal(site), strict=True) if legal]
        before = [
            text for text, legal in zip(all_of_them.actions, all_of_them.legal(site), strict=True) if legal
        ]
        assert allowed == [text for text in before if not text.startswith("a")]
    with pytest.raises(UnknownName):
        few.index("adce")
