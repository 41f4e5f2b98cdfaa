"""Wrong calls from Python: a BurnishError of one line names the argument and what was expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import burnish.envs
from burnish import Budget, Limits, Problem, Program, Strategy, load_program, load_task, loops, optimize
from burnish.core.errors import BurnishError, IllegalAction, InputError
from burnish.core.result import Result
from burnish.workers.sandbox import Sandbox

ID = "burnish/LLVMPasses-v1"
NEST = "c[m,n] += a[m,k] * b[k,n]"
FEW = Budget(evaluations=2)
NESTS = load_task("loop_nests")
GVN = load_task("llvm_passes").actions.index("gvn")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    path = tmp_path_factory.mktemp("calls") / "a.c"
    path.write_text("int main(int count, char **words) { return words[0][0] * count; }\n")
    return replace(load_program(path), name="a.c")


@pytest.fixture(scope="module")
def env(program: Program) -> Iterator[gymnasium.Env[Any, Any]]:
    made = gymnasium.make(ID, programs=program, limits=None)
    made.reset(seed=0)
    yield made
    made.close()


Call = Callable[[gymnasium.Env[Any, Any], Program], object]


def make(**options: Any) -> Call:
    return lambda env, program: gymnasium.make(ID, **({"programs": program, "limits": None} | options))


def several(**options: Any) -> Call:
    return lambda env, program: burnish.envs.make_vector("llvm_passes", program, **options)


def two(actions: Any) -> Call:
    def call(env: gymnasium.Env[Any, Any], program: Program) -> None:
        vector = burnish.envs.make_vector("llvm_passes", program, num_envs=2, limits=None)
        vector.reset(seed=0)
        vector.step(actions)

    return call


def solve(**changes: Any) -> Call:
    def call(env: gymnasium.Env[Any, Any], program: Program) -> object:
        given: dict[str, Any] = {"problem": Problem(load_task("llvm_passes"), program), "budget": FEW}
        given |= changes
        return optimize(given.pop("problem"), given.pop("budget"), **given)

    return call


def problem(**changes: Any) -> Call:
    def call(env: gymnasium.Env[Any, Any], program: Program) -> object:
        given: dict[str, Any] = {"task": load_task("llvm_passes"), "program": program}
        given |= changes
        return Problem(**given).goal

    return call


def sandbox(env: gymnasium.Env[Any, Any], program: Program) -> object:
    task = replace(load_task("llvm_passes"), open=lambda opened: None)  # type: ignore[arg-type,return-value]
    return Problem(task, program).open()


def session(action: Any) -> Call:
    def call(env: gymnasium.Env[Any, Any], program: Program) -> None:
        opened = Problem(load_task("llvm_passes"), program).open()
        try:
            opened.apply(action)
        finally:
            assert opened.trace == []
            opened.shutdown()

    return call


def plain(function: Callable[[], object]) -> Call:
    return lambda env, program: function()


WRONG: dict[str, tuple[Call, str, str]] = {
    "no programs": (make(programs=None), "programs=None", "expected a file"),
    "a number of programs": (make(programs=3), "programs=3", "or a list of them"),
    "a set of programs": (make(programs={"a.c"}), "programs={'a.c'}", "or a list of them"),
    "numbers as programs": (make(programs=[3]), "programs=[..., 3]", "or a Program"),
    "no program in a list": (make(programs=[]), "needs at least one program", ""),
    "a missing program": (make(programs="nosuch.c"), "nosuch.c", "no such file"),
    "a maker without a number": (make(programs=lambda: None), "programs=<function", "lambda number: load"),
    "a maker of nothing": (
        lambda env, program: gymnasium.make(ID, programs=lambda number: None, limits=None).reset(),
        "programs(0) returned None",
        "lambda number: load_program('hot.c')",
    ),
    "an observation": (make(observation="autofase"), "'autofase'", "did you mean 'autophase'"),
    "a number as observation": (make(observation=3), "observation=3", "expected a list of names"),
    "an objective": (make(objective=3), "no objective named 3", "known: ir-instructions"),
    "a reward": (make(reward="lg"), "'lg'", "did you mean 'log'?"),
    "a function of one cost as reward": (make(reward=lambda cost: cost), "reward=<function", "lambda before"),
    "a text of baselines": (make(baselines="Oz"), "baselines='Oz'", "baselines=['Oz']"),
    "a baseline": (make(baselines=["O7"]), "'O7'", "did you mean 'Oz'"),
    "a text of actions": (make(actions="gvn"), "actions='gvn'", "actions=['gvn']"),
    "an action": (make(actions=["gvm"]), "'gvm'", "did you mean 'gvn'?"),
    "numbers as actions": (make(actions=[1, 2]), "no action named 1", "known: "),
    "sites": (make(sites=-1), "sites=-1", "a whole number, 0 or more"),
    "max_steps": (make(max_steps=0), "max_steps=0", "a whole number, 1 or more"),
    "an order": (make(order="suffle"), "'suffle'", "did you mean 'shuffle'"),
    "weights": (make(order="sample", weights=["much"]), "weights=['much']", "one for each program"),
    "dense": (make(dense="yes"), "dense='yes'", "True, False or None"),
    "failure_reward": (make(failure_reward="much"), "failure_reward='much'", "expected a number"),
    "limits": (make(limits=3), "limits=3", "expected burnish.Limits"),
    "a deadline": (make(limits=Limits(-1)), "deadline_seconds=-1", "a number above 0"),
    "a render mode": (make(render_mode="human"), "render_mode='human'", "expected 'ansi'"),
    "an option": (make(objektive="seconds"), "'objektive'", "did you mean 'objective'"),
    "a task": (plain(lambda: burnish.envs.make("llvm_pases", "a.c")), "'llvm_pases'", "'llvm_passes'"),
    "a number as task": (plain(lambda: load_task(3)), "no task named 3", "known: llvm_passes"),  # type: ignore[arg-type]
    "an option of reset": (
        lambda env, _: env.reset(options={"benchmark": "a.c"}),
        "no option of reset() named 'benchmark'",
        "known: program",
    ),
    "a text as options of reset": (
        lambda env, _: env.reset(options="a.c"),  # type: ignore[arg-type]
        "options='a.c'",
        "expected a dictionary",
    ),
    "a program of reset": (
        lambda env, _: env.reset(options={"program": "b.c"}),
        "'b.c'",
        "did you mean 'a.c'",
    ),
    "a negative action": (lambda env, _: env.step(-1), "action -1", "info['mask'] marks the legal ones"),
    "a large action": (lambda env, _: env.step(10**6), "action 1000000", "a whole number, 0 to"),
    "a name as action": (lambda env, _: env.step("gvn"), "action 'gvn'", "a whole number, 0 to"),
    "a fraction as action": (lambda env, _: env.step(1.5), "action 1.5", "a whole number, 0 to"),
    "no environments": (several(num_envs=0), "num_envs=0", "a whole number, 1 or more"),
    "no workers": (several(num_envs=2, workers=0), "workers=0", "a whole number, 1 or more"),
    "an autoreset mode": (several(autoreset_mode="same"), "'same'", "SameStep"),
    "too few actions": (two([0]), "1 actions", "one for each environment"),
    "names as actions of several": (two(["gvn", "gvn"]), "action 'gvn'", "a whole number"),
    "a level": (plain(lambda: load_program("a.c", level="O9")), "'O9'", "did you mean 'Oz'"),
    "a text of arguments": (plain(lambda: load_program("a.c", "-I.")), "arguments='-I.'", "['-I.']"),
    "a number as path": (plain(lambda: load_program(3)), "path=3", "a file's name"),  # type: ignore[arg-type]
    "a task by its name": (problem(task="llvm_passes"), "task='llvm_passes'", "load_task(NAME)"),
    "a program by its name": (problem(program="a.c"), "program='a.c'", "load_program('hot.c')"),
    "a problem's objective": (problem(objective="speed"), "'speed'", "did you mean 'seconds'"),
    "a text as budget": (solve(budget="10s"), "budget='10s'", "Budget.parse('10s')"),
    "a text as strategy": (solve(strategy="genetic"), "strategy='genetic'", "Strategy('genetic')"),
    "a search": (solve(strategy=Strategy("genetik")), "'genetik'", "did you mean 'genetic'"),
    "a negative seed": (plain(lambda: Strategy(seed=-1)), "seed=-1", "0 or more"),
    "an empty budget": (plain(Budget), "a budget needs", "seconds, evaluations or both"),
    "a budget in text": (plain(lambda: Budget(seconds="10s")), "seconds='10s'", "a number"),  # type: ignore[arg-type]
    "a unit": (plain(lambda: Budget.parse("3 hours")), "'3 hours'", "minutes (2m)"),
    "half an evaluation": (plain(lambda: Budget(evaluations=0.5)), "evaluations=0.5", "a whole number"),  # type: ignore[arg-type]
    "an opener that is a lambda": (sandbox, "lambda", "define yours at the top of a module"),
    "an extent of 0": (plain(lambda: loops.compile(NEST, m=0, n=4, k=4)), "m is 0", "at least 1"),
    "no extent": (plain(lambda: loops.compile(NEST, m=4, n=4)), "k has no extent", "expected k=N"),
    "an iterator": (plain(lambda: loops.compile(NEST, m=4, n=4, k=4, q=4)), "'q'", "known: m, n, k"),
    "a number as nest": (plain(lambda: loops.compile(3, m=4)), "statements=3", "expected a list"),  # type: ignore[arg-type]
    "a dtype": (plain(lambda: loops.compile(NEST, dtype="f16", m=4, n=4, k=4)), "'f16'", "f32 or f64"),
    "seconds in text": (
        plain(lambda: loops.compile(NEST, refine_seconds="1s", m=4, n=4, k=4)),  # type: ignore[arg-type]
        "refine_seconds='1s'",
        "a number of seconds",
    ),
    "a number as path of a kernel": (
        plain(lambda: loops.compile(NEST, m=4, n=4, k=4).save(3)),  # type: ignore[arg-type]
        "path=3",
        "a file's name, such as 'matmul'",
    ),
    "a number as log": (make(log=3.5), "log=3.5", "a file's name, such as 'episodes.jsonl'"),
    "a text as content": (
        plain(lambda: Program("a.c", "c", "int main(void) { return 0; }")),  # type: ignore[arg-type]
        "Program('a.c', content='int main(void)",
        "expected bytes: load_program(FILE) reads them",
    ),
    "a file as program of a sandbox": (
        plain(lambda: Sandbox(load_task("llvm_passes").open, "hot.c")),  # type: ignore[arg-type]
        "program='hot.c'",
        "load_program('hot.c')",
    ),
    "a task as opener of a sandbox": (
        lambda env, program: Sandbox(load_task("llvm_passes"), program),  # type: ignore[arg-type]
        "opener=Task(name='llvm_passes'",
        "load_task(NAME).open",
    ),
    "a name as action of a session": (session("gvn"), "action 'gvn'", f"'gvn' is {GVN}"),
    "a wrong name as action of a session": (session("gvm"), "action 'gvm'", "session.index(NAME) returns it"),
    "a fraction as action of a session": (session(1.5), "action 1.5", "a whole number, 0 to"),
    "a large action of a session": (session(10**6), "action 1000000", "a whole number, 0 to"),
    "a negative action of a session": (session(-1), "action -1", "a whole number, 0 to"),
    "a name as action of a session in this process": (
        lambda env, program: load_task("llvm_passes").open(program).apply("gvn"),  # type: ignore[arg-type]
        "action 'gvn'",
        f"'gvn' is {GVN}",
    ),
    "a name as action of a nest": (
        lambda env, program: NESTS.open(NESTS.source().open("matmul:4x4x4")[0]).apply("up"),  # type: ignore[arg-type]
        "action 'up'",
        "expected a whole number, 0 to",
    ),
    "a product of arrays that do not fit": (
        plain(lambda: loops.einsum("mk,kn->mn", np.ones((3, 3), np.float32), np.ones((2, 3), np.float32))),
        "k of 'mk,kn->mn' is 3",
        "but 2 in 'kn'",
    ),
}


@pytest.mark.parametrize(("call", "wrong", "step"), WRONG.values(), ids=WRONG.keys())
def test_wrong_call_is_a_burnish_error_of_one_line(
    call: Call, wrong: str, step: str, env: gymnasium.Env[Any, Any], program: Program
) -> None:
    with pytest.raises(BurnishError) as caught:
        call(env, program)
    said = str(caught.value)
    assert "\n" not in said and "Traceback" not in said
    assert wrong in said and step in said, said


def test_state_is_as_it_was_after_a_wrong_action(env: gymnasium.Env[Any, Any]) -> None:
    env.reset(seed=0)
    with pytest.raises(IllegalAction):
        env.step(-1)
    assert env.unwrapped.trace == ()  # type: ignore[attr-defined]
    env.step(int(np.flatnonzero(env.unwrapped.action_masks())[0]))  # type: ignore[attr-defined]


def test_result_names_its_baselines() -> None:
    row = Result("t-v0", "p", "", "o", "random", 0, (), 1.0, {"O0": 2.0, "Oz": 1.0}, 1, 0.0, {})
    with pytest.raises(InputError, match="no baseline named 'O7'; did you mean 'Oz' or 'O0'"):
        row.ratio("O7")


def test_module_of_torch_takes_a_list_of_float32() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_mlir")
    from burnish.tasks.mlir_schedules.api.from_torch.importing import import_module

    module = torch.nn.ReLU().eval()
    for given, wrong, step in (
        ((module, torch.ones(2)), "example inputs are a Tensor", "expected a list of tensors"),
        (
            (module, [torch.ones(2, dtype=torch.float64)]),
            "input 0 is torch.float64",
            "expected a tensor of torch.float32",
        ),
        (("resnet", [torch.ones(2)]), "str", "expected a torch.nn.Module"),
    ):
        with pytest.raises(InputError) as caught:
            import_module(*given)
        assert wrong in str(caught.value) and step in str(caught.value)


def test_function_that_takes_arguments_is_no_module_of_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from burnish.tasks.mlir_schedules.api.from_torch.loading import load_module

    with pytest.raises(InputError, match=r"torch.nn:Linear: missing .*; expected a module, or a function"):
        load_module("torch.nn:Linear")
