"""Schedules by hand compute what NumPy does, and stock MLIR makes the same module of what is printed."""

from __future__ import annotations

import re

import numpy as np
import pytest

from burnish.core.errors import CompilerCrash, Miscompiled
from burnish.envs.env import Env
from burnish.tasks.mlir_schedules import TASK, bindings, lowering, session
from burnish.tasks.mlir_schedules.outputs import write_schedule
from burnish.tasks.mlir_schedules.payload import SITE, Payload, open_payload
from burnish.tasks.mlir_schedules.session import ScheduleSession
from burnish.tasks.mlir_schedules.transforms import write
from tests.core.failures import failing_task
from tests.tasks.mlir_schedules.small import at, opened, small

C, D, P = "conv_2d_nhwc_hwcf#1", "depthwise_conv_2d_nhwc_hwc#1", "pooling_nhwc_max#1"
ROW = ("tile(1, 1)", "tile(2, 4)", "tile(4, 1)", "tile(5, 1)")
WINDOW = ("tile(1, 1)", "tile(2, 4)", "tile(3, 4)", "tile(4, 1)", "tile(5, 1)")
REGISTERS = ("tile(0, 4)", "tile(1, 8)")
IMAGES = "conv_2d_nchw_fchw#1"
REPEATED = ("tile(4, 1)", "tile(5, 1)", "tile(6, 1)", "tile(3, 1)")
REPEATED_ENDS = ("fold_unit_dims", "vectorize")
SCHEDULES = {
    "nothing": ("layer", []),
    "registers": ("product", at("matmul#1", *REGISTERS, "tile(2, 1)", "vectorize", "hoist", "unroll(4)")),
    "packed": (
        "matmul",
        at("matmul#1", *REGISTERS, "pack(1, 2)", "tile(2, 1)", "vectorize", "hoist", "unroll(3)"),
    ),
    "both packed": (
        "matmul",
        at("matmul#1", "tile(0, 10)", "tile(1, 8)", "tile(0, 2)", "pack(0, 3)", "pack(1, 2)"),
    ),
    "stored in blocks": (
        "product",
        [
            *at("matmul#1", "data_tile(8)", "tile(1, 1)", "tile(0, 4)", "tile(2, 1)", "vectorize", "hoist"),
            *at("matmul#1.blocks", "tile(0, 1)", "vectorize"),
        ],
    ),
    "a batch stored in blocks": (
        "batch-matmul-bt:2x6x16x4",
        at("batch_matmul#1", "data_tile(8)", "tile(0, 1)", "tile(2, 1)", "tile(1, 2)", "vectorize", "hoist"),
    ),
    "a layer stored in blocks": ("layer", at("matmul#1", "data_tile(8)", "tile(1, 1)", "tile(0, 4)")),
    "tails": (
        "matmul",
        [
            *at("matmul#1", "split(2, 4)", "split(0, 16)", *REGISTERS, "tile(2, 4)", "vectorize"),
            *at("matmul#1.tail", "tile(0, 4)", "tile(1, 8)", "vectorize", "hoist"),
        ],
    ),
    "padded": ("matmul", at("matmul#1", "pad(2, 4)", *REGISTERS, "tile(2, 4)", "vectorize")),
    "interchanged": ("matmul", at("matmul#1", "interchange(0, 2)", "tile(1, 8)", "tile(2, 4)")),
    "batched": (
        "batched",
        at("batch_matmul#1", "tile(0, 1)", "tile(1, 3)", "tile(3, 1)", "vectorize", "hoist"),
    ),
    "fused": (
        "layer",
        [
            *at("generic#3", "tile_parallel(0, 4)", "tile_parallel(1, 8)"),
            *("generic#2: fuse(2)", "matmul#1: fuse(2)", "fill#0: fuse(2)"),
            *at("matmul#1", "tile(2, 1)", "vectorize", "hoist"),
            *("generic#3: vectorize", "generic#2: vectorize", "fill#0: vectorize"),
        ],
    ),
    "rows of a convolution": (
        "conv",
        at(C, *WINDOW, "tile(6, 1)", "decompose", "vectorize", "hoist", "unroll(2)"),
    ),
    "filters packed outside of rows": (
        "conv",
        at(C, "tile(3, 4)", "tile(1, 1)", "tile(2, 4)", "pack(1, 3)", *WINDOW[3:], "tile(6, 1)", "decompose"),
    ),
    "filters packed inside of channels, behind strides": (
        "conv2d-strided:3x4x8x4",
        [
            *at(C, "split(2, 3)", "tile(6, 2)", "tile(1, 1)", "tile(3, 4)", "pack(1, 3)"),
            *at(C, "tile(4, 1)", "tile(5, 1)", "decompose", "vectorize", "hoist"),
            *at(f"{C}.tail", "tile(3, 4)", "tile(6, 1)", "pack(1, 2)", "tile(4, 1)", "tile(5, 1)"),
        ],
    ),
    "convolution as a product": (
        "conv",
        [*at(C, "im2col", "tile(1, 4)", "tile(2, 4)"), f"{C}.columns: tile(1, 8)"],
    ),
    "rows of images": (
        "conv2d-nchw:6x8x8x4",
        at(
            "conv_2d_nchw_fchw#1",
            *("tile(2, 1)", "tile(1, 4)", "tile(4, 1)", "tile(5, 1)", "tile(6, 1)"),
            *("fold_unit_dims", "vectorize", "hoist", "unroll(3)"),
        ),
    ),
    "vectors of filters, in two parts": (
        "strided",
        [
            *at(
                IMAGES,
                "split(3, 4)",
                "tile(2, 1)",
                *REPEATED,
                "pack(1, 5)",
                *REPEATED_ENDS,
                "unroll(4)",
                "hoist",
            ),
            *at(
                f"{IMAGES}.tail", "tile(2, 1)", *REPEATED, "pack(1, 5)", *REPEATED_ENDS, "unroll(2)", "hoist"
            ),
        ],
    ),
    "pixels packed": (
        "strided",
        [
            *at(
                IMAGES,
                "tile(1, 4)",
                "tile(2, 1)",
                *REPEATED,
                "pack(1, 6)",
                "pack(0, 5)",
                *REPEATED_ENDS,
                "hoist",
            )
        ],
    ),
    "depthwise": ("depthwise", at(D, *ROW, "decompose", "vectorize", "hoist")),
    "pool": ("pool", at(P, "tile(1, 1)", "tile(4, 1)", "tile(5, 1)", "decompose", "vectorize", "hoist")),
    "partial sums": (
        "sums",
        [
            *at("generic#1", "tile(0, 4)", "tile_reduction(1, 8)", "vectorize", "hoist"),
            "generic#1.combined: vectorize",
        ],
    ),
    "softmax": (
        "softmax",
        ["softmax#0: decompose", *(f"softmax#0{part}: vectorize" for part in ("", ".sum", ".exp", ".max"))],
    ),
    "elements": ("add", at("add#0", "tile(0, 1)", "tile(1, 16)", "vectorize", "unroll(2)")),
    "norm": ("norm", [f"generic#{number}: vectorize" for number in (1, 2, 4, 5)]),
    "two layers": (
        "mlp",
        [*at("matmul#5", "tile(0, 2)", "vectorize"), *at("matmul#1", "tile(0, 1)", "vectorize")],
    ),
}


@pytest.mark.parametrize(("program", "trace"), SCHEDULES.values(), ids=SCHEDULES)
def test_schedule_computes_what_numpy_does(program: str, trace: list[str]) -> None:
    found = opened(program, *trace)
    assert found.measure("seconds") > 0
    trial = found.shared.trial
    for array, expected in zip(trial.outputs, trial.expected, strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("program", "trace"), SCHEDULES.values(), ids=SCHEDULES)
def test_stock_mlir_applies_what_is_printed(program: str, trace: list[str]) -> None:
    """In a new context, by the pass `transform-interpreter` alone, to the module without names of sites."""
    found = opened(program, *trace)
    finished = bindings.clone(found.payload.module)
    lowering.finish(finished)
    written = write_schedule(found, (), "naive").decode()
    assert [line.removeprefix("// ") for line in written.splitlines() if line.startswith("// ")] == trace
    assert interpreted(plain(program), written) == normal(str(finished))


def plain(program: str) -> str:
    """Return the text of the module that a program is opened as, without the names of sites."""
    module = open_payload(small(program).content.decode(), program).module
    for operation in next(iter(module.body.operations)).regions[0].blocks[0].operations:
        if SITE in operation.attributes:
            del operation.attributes[SITE]
    return str(module)


def interpreted(module: str, schedule: str) -> str:
    """Return what `mlir-opt --transform-interpreter` makes of a module, in which the schedule is."""
    ir, passes = bindings.bindings("ir"), bindings.bindings("passmanager")
    with ir.Context(), ir.Location.unknown():
        both = ir.Module.parse(module)
        script = ir.Module.parse(schedule)
        both.operation.attributes["transform.with_named_sequence"] = ir.UnitAttr.get()
        for operation in script.body.operations:
            both.body.append(operation.operation.clone())
        passes.PassManager.parse("builtin.module(transform-interpreter)").run(both.operation)
        del both.operation.attributes["transform.with_named_sequence"]
        list(both.body.operations)[-1].operation.erase()
        return str(both)


def normal(text: str) -> str:
    """Return a module's text as a new context prints it."""
    ir = bindings.bindings("ir")
    with ir.Context(), ir.Location.unknown():
        return str(ir.Module.parse(text))


@pytest.fixture
def wrong_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiling also has the products added twice over."""

    def transformed(self: Payload, lines: str) -> Payload:
        found = original(self, lines)
        if "tile_using_for" not in lines:
            return found
        with bindings.context():
            text = str(found.module).replace("arith.constant 0.000000e+00", "arith.constant 1.000000e+00")
        return Payload(bindings.parse(text), found.inputs, found.outputs)

    original = Payload.transformed
    monkeypatch.setattr(Payload, "transformed", transformed)


@pytest.mark.usefixtures("wrong_tiles")
def test_wrong_schedule_is_found() -> None:
    found = opened("product")
    assert found.measure("seconds") > 0
    found.replay(["matmul#1: tile(0, 4)"])
    with pytest.raises(Miscompiled, match=r"result 0\[0, 0\] is .*, not .*; 192 of 192 elements differ"):
        found.measure("seconds")


@pytest.mark.usefixtures("wrong_tiles")
def test_wrong_schedule_costs_what_failures_cost() -> None:
    env = Env(TASK, small("product"), dense=True, limits=None, failure_reward={"Miscompiled": -7.0})
    env.reset()
    _, reward, terminated, _, info = env.step(TASK.actions.index("tile(0, 4)"))
    assert (reward, terminated, info["failure"]) == (-7.0, True, "Miscompiled")
    assert not info["mask"].any()
    env.close()


def test_crash_of_mlir_costs_the_episode_only() -> None:
    """The process of the compiler dies; the environment goes on with the next episode."""
    env = Env(failing_task(TASK), small("add"), failure_reward=-3.0)
    observed, _ = env.reset()
    _, reward, terminated, _, info = env.step(env.task.actions.index("be-killed"))
    assert (reward, terminated, info["failure"]) == (-3.0, True, "CompilerKilled")
    again, info = env.reset()
    assert (observed == again).all()
    assert info["mask"].any()
    env.close()


def test_transform_that_fails_says_why_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments: object) -> str:
        return write(*arguments).replace("[4, 0, 0]", "[4, 0, 0, 0]")  # type: ignore[arg-type]

    monkeypatch.setattr(session, "write", wrong)
    found = opened("product")
    before = found.digest()
    with pytest.raises(CompilerCrash, match="too many tiles provided, expected at most 3 found 4"):
        found.replay(["matmul#1: tile(0, 4)"])
    assert (found.digest(), found.trace, found.script) == (before, [], [])


def test_time_is_remembered_until_it_is_asked_for_again() -> None:
    found = opened("product")
    first = found.measure("seconds")
    fork = found.fork()
    assert fork.measure("seconds") == first == found.seconds()
    assert len({found.measure("seconds") for _ in range(8)}) > 1


def test_calls_with_cold_inputs_compute_the_same() -> None:
    found = opened("product")
    compiled, trial = found.compiled(), found.shared.trial
    assert compiled.cold_seconds(trial.arrays, range(len(trial.inputs)), samples=3) > 0
    trial.check(compiled)


def test_ops_have_no_cost_of_their_own() -> None:
    found = opened("product")
    assert (found.site_costs("seconds"), found.measure("seconds", "matmul#1")) == ({}, 0.0)


def test_values_of_steps_have_names_of_their_own() -> None:
    """Otherwise the steps of a schedule could not stand in one sequence."""
    found: ScheduleSession = opened("matmul", *SCHEDULES["packed"][1])
    names = re.findall(r"^ *((?:%\w+(?:, )?)+) =", "".join(found.script), re.MULTILINE)
    values = [name for line in names for name in line.split(", ")]
    assert len(values) == len(set(values)) > 20
