"""Sequence values: which order a program's neighbours suggest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from burnish.core.errors import InputError, UnknownName
from burnish.core.objective import parse_objective
from burnish.core.session import Session
from burnish.llvm.modules.origin import Options
from burnish.llvm.modules.passes import left_out
from burnish.llvm.targets import MACHINES
from burnish.policies import find
from burnish.policies.sequence_values import MACHINE, WORST, SequenceValues, load_sequence_values
from burnish.tasks.llvm_passes import TASK, make_task
from tests.sources import program


def small() -> SequenceValues:
    """Two training programs, three sequences; the first feature says which of them a program resembles."""
    return SequenceValues(
        task=TASK.id,
        objective="ir-instructions",
        observations=("opcode-counts",),
        traces=(("clang<Oz>",), ("gvn",), ("clang<Oz>", "globaldce")),
        suffixes=(("simplifycfg", "gvn"),),
        prior_actions=("gvn", "adce"),
        prior=np.full((3, 2), 0.5, dtype=np.float16),
        mean=np.zeros(2, dtype=np.float32),
        deviation=np.ones(2, dtype=np.float32),
        hidden=np.eye(2, dtype=np.float32),
        hidden_bias=np.zeros(2, dtype=np.float32),
        output=np.array([[4], [0]], dtype=np.float32),
        output_bias=np.zeros(1, dtype=np.float32),
        keys=np.array([[0], [4]], dtype=np.float32),
        gains=np.array([[0, 0.1, 0.3], [0, 0.2, -1]], dtype=np.float16),
        time=np.zeros((2, 3), dtype=np.float32),
    )


def test_weights_are_the_softmax_of_distances() -> None:
    features = np.array([np.e - 1, 5], dtype=np.float32)  # log1p: 1; tanh(1) * 4 = 3.0464
    query = 4 * np.tanh(1.0)
    scores = np.exp([-(query**2), -((query - 4) ** 2)])
    assert small().weights(features) == pytest.approx(scores / scores.sum(), rel=1e-5)


def test_programs_of_another_machine_do_not_count() -> None:
    three = replace(
        small(),
        keys=np.array([[0], [4], [1]], dtype=np.float32),
        gains=np.array([[0, 0.1, 0.3], [0, 0.2, -1], [0, 0.4, 0.5]], dtype=np.float16),
        machines=np.array([[0, 0], [1, 0], [0, 1]], dtype=np.uint8),
    )
    first, second, other = (three.for_machine(np.array(one)) for one in ([1, 0], [0, 1], [0, 0]))
    assert first.keys.ravel().tolist() == [0, 4, 4, 4]  # those of the machine have three times the weight
    assert second.keys.ravel().tolist() == [0, 1, 1, 1]
    assert other.keys.ravel().tolist() == [0]
    np.testing.assert_array_equal(second.gains, three.gains[[0, 2, 2, 2]])
    assert not first.machines.size
    # like the first key. Of all weights, it has 0.625; a gain of 0.2 beside 0.1, a loss of 1 beside 0.3
    assert three(cast(Session, Opened([1, 0]))).choice == ("gvn",)
    # 0.36, because the others are near: 0.5 beside 0.3
    assert three(cast(Session, Opened([0, 1]))).choice == ("clang<Oz>", "globaldce")


def test_the_shipped_policy_has_programs_of_other_machines() -> None:
    policy = load_sequence_values(find.shipped()["llvm_passes-loaded-bytes"])
    of_x86, *others = (policy.for_machine(row) for row in np.eye(len(MACHINES), dtype=np.uint8))
    np.testing.assert_array_equal(of_x86.gains, policy.gains[~policy.machines.any(axis=1)])
    counts = {machine: len(one.keys) for machine, one in zip(MACHINES[1:], others, strict=True)}
    assert counts == {"ARM": 590, "AArch64": 140, "RISCV": 590, "WebAssembly": 590}


def order(
    policy: SequenceValues,
    weights: Sequence[float],
    sent: Sequence[float | None],
    seconds: Sequence[float] = (1, 1, 1, 1, 1),
) -> list[int]:
    """Return what is tried when these gains are sent."""
    time = np.array(seconds[: len(policy.traces)], dtype=np.float32)
    trials = policy.trials(np.array(weights, dtype=np.float32), time)
    return [next(trials), *(trials.send(gain) for gain in sent)]


def test_most_expected_improvement_per_second_is_next() -> None:
    # half of the weights is shared evenly: 0.25 and 0.75. The one sequence is expected to gain
    # 0.25 * 0.1 + 0.75 * 0.2 = 0.175, the other one 0.25 * 0.3 = 0.075; losses do not count
    assert order(small(), [0.0, 1.0], [None]) == [1, 2]
    # 0.75 * 0.1 + 0.25 * 0.2 = 0.125 and 0.75 * 0.3 = 0.225
    assert order(small(), [1.0, 0.0], [None]) == [2, 1]
    assert order(small(), [1.0, 0.0], [None], seconds=(1, 1, 9)) == [1, 2]


class Opened:
    """A session that is only looked at."""

    def __init__(self, machine: Sequence[int] = ()) -> None:
        self.machine = machine

    def observe(self, name: str) -> NDArray[np.float32]:
        if name == MACHINE:
            return np.array(self.machine, dtype=np.float32)
        assert name == "opcode-counts"
        return np.zeros(2, dtype=np.float32)  # like the first training program


def test_the_best_without_a_measurement_may_not_lose() -> None:
    policy, session = small(), cast(Session, Opened())
    # 0.75 * 0.1 + 0.25 * 0.2 = 0.125 and 0.75 * 0.3 - 0.25 * 1 = -0.025: here losses count
    assert policy(session).choice == ("gvn",)
    gains = np.array([[0, 0.1, 0.3], [0, 0.2, 0]], dtype=np.float16)  # 0.125 and 0.225
    assert replace(policy, gains=gains)(session).choice == ("clang<Oz>", "globaldce")
    losing = np.array([[0, 0.1, 0], [0, -0.9, 0]], dtype=np.float16)  # 0.075 - 0.225
    assert replace(policy, gains=losing)(session).choice is None


def test_large_programs_take_longer() -> None:
    # a size of 2: 1 + 0.5 * 2 and 0 + 3 * 2
    policy = replace(small(), time=np.array([[0, 1, 0], [0, 0.5, 3]], dtype=np.float32))
    features = np.array([np.e**2 - 2, 1], dtype=np.float32)
    assert policy.seconds(features) == pytest.approx(np.exp([0, 2, 6]), rel=1e-5)


def test_what_is_gained_changes_the_weights() -> None:
    # four sequences; the first one gains 0.1 on the first program, 0.2 on the second
    policy = replace(
        small(),
        traces=(("clang<Oz>",), ("gvn",), ("adce",), ("dce",)),
        gains=np.array([[0, 0.1, 0.0, 0.19], [0, 0.2, 0.21, 0.0]], dtype=np.float16),
    )
    even = [0.5, 0.5]
    assert order(policy, even, [0.1, 0.1]) == [1, 3, 2]
    assert order(policy, even, [0.2, 0.2]) == [1, 2, 3]
    assert order(policy, even, [None, None])[:2] == [1, 2]  # nothing is known: 0.105 and 0.095
    # an improvement on what was reached: of 0.15 there is little left to gain, wherever this is
    assert order(policy, even, [0.3, 0.0]) == [1, 2, 3]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_every_sequence_is_tried_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    policy = replace(
        small(),
        traces=tuple((f"pass{i}",) for i in range(5)),
        gains=rng.normal(0, 0.3, size=(2, 5)).clip(WORST).astype(np.float16),
    )
    sent = [None if gain < -0.5 else float(gain) for gain in rng.normal(0, 0.3, size=3)]
    seconds = rng.uniform(0.1, 9, size=5).tolist()
    assert sorted(order(policy, rng.dirichlet(np.ones(2)).tolist(), sent, seconds)) == [1, 2, 3, 4]


def test_starts_are_told_what_they_cost() -> None:
    wide = replace(
        small(),
        mean=np.zeros(70, dtype=np.float32),
        deviation=np.ones(70, dtype=np.float32),
        hidden=np.eye(70, 2, dtype=np.float32),
    )
    session = TASK.open(program("dispatch.c"))
    traces = wide(session).initial_traces
    assert next(traces) == ("clang<Oz>",)
    first = traces.send(100.0)
    assert traces.send(math.inf) in {("gvn",), ("clang<Oz>", "globaldce")} - {first}  # a crash is no end
    with pytest.raises(StopIteration):
        traces.send(90.0)
    traces = wide(session).initial_traces
    assert {next(traces), traces.send(math.inf), traces.send(50.0)} == set(wide.traces)


def test_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    small().save(path)
    loaded = load_sequence_values(path)
    for name, value in vars(small()).items():
        if isinstance(value, np.ndarray):
            assert getattr(loaded, name).dtype == value.dtype
            np.testing.assert_array_equal(getattr(loaded, name), value)
        else:
            assert getattr(loaded, name) == value


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="not a policy of sequence values"):
        load_sequence_values(path)
    np.savez(path, rest=np.frombuffer(b"{}", dtype=np.uint8))
    with pytest.raises(InputError, match="not a policy of sequence values"):
        load_sequence_values(path)


@pytest.mark.parametrize("name", find.names_for(TASK))
def test_shipped_policy_fits_its_task(name: str) -> None:
    task, _, objective = name.partition("-without-")[0].partition("-")
    path = find.shipped()[name]
    policy = load_sequence_values(path)
    assert (policy.task, parse_objective(policy.objective).unlimited, task) == (TASK.id, objective, TASK.name)
    assert {action for trace in (*policy.traces, *policy.suffixes) for action in trace} <= set(TASK.actions)
    assert policy.gains.shape == (len(policy.keys), len(policy.traces))
    assert policy.time.shape == (2, len(policy.traces))
    assert path.stat().st_size < 5e6
    assert path.with_suffix(".card.json").is_file()
    guide = policy(TASK.open(program("dispatch.c")))
    assert sorted(guide.initial_traces) == sorted(policy.traces)
    assert policy.traces[0] == TASK.hints.initial_traces[0]


def test_policies_are_found_by_name() -> None:
    assert find.find_guide("none", TASK, "text-bytes") is None
    assert find.find_guide("shipped", TASK, "seconds") is None  # nothing was trained for it
    found = find.find_guide("shipped", TASK, "object-bytes")
    assert found and found[1] == "llvm_passes-loaded-bytes"
    limited = find.find_guide("shipped", TASK, "text-bytes while slowdown<=1.1")
    assert limited and limited[1] == "llvm_passes-text-bytes"
    with pytest.raises(UnknownName, match="policy"):
        find.find_guide("shiped", TASK, "text-bytes")


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        ([], ""),
        (["mergefunc"], ""),
        (["outline*", "hotcoldsplit", "partial-inliner"], "-without-outliners"),
        (["outline*", "hotcoldsplit", "partial-inliner", "mergefunc"], "-without-outliners"),
    ],
)
def test_a_policy_was_trained_with_the_actions_that_there_are(without: list[str], expected: str) -> None:
    task = make_task(Options(without=left_out(without)))
    found = find.find_guide("shipped", task, "ir-instructions")
    assert found and found[1] == f"llvm_passes-ir-instructions{expected}"
