"""Hoisting and sinking in real code as the front end leaves it, where many blocks end alike."""

from __future__ import annotations

import pytest

from burnish.llvm.corpora.kernels import kernel_names, load_kernel
from burnish.llvm.modules.session import open_session


@pytest.mark.parametrize("action", ["sink-common", "hoist-common"])
def test_every_kernel_stays_valid_and_comes_out_the_same_twice(action: str) -> None:
    for name in kernel_names():
        once, again = (open_session(load_kernel(name)) for _ in range(2))
        for session in (once, again):
            session.replay([action, action])
            session.verify()
        assert once.digest() == again.digest(), name
