"""Hoisting and sinking in real code as the front end leaves it, where many blocks end alike."""

from __future__ import annotations

import functools

import pytest

from burnish.core.program import Program
from burnish.llvm.corpora.kernels import kernel_names, load_kernel
from burnish.llvm.modules.session import open_session


@functools.cache
def kernel(name: str) -> Program:
    return load_kernel(name)


@pytest.mark.parametrize("action", ["sink-common", "hoist-common"])
def test_every_kernel_stays_valid_and_comes_out_the_same_twice(action: str) -> None:
    for name in kernel_names():
        once, again = (open_session(kernel(name)) for _ in range(2))
        for session in (once, again):
            session.replay([action, action])
            session.verify()
        assert once.digest() == again.digest(), name
