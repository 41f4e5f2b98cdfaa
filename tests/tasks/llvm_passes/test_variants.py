"""What programs are made into is what the user's compiler would have made."""

from __future__ import annotations

import pytest

from burnish.llvm.modules.module import without_unwind_tables
from burnish.llvm.modules.session import ModuleSession
from burnish.llvm.programs import load_program
from burnish.tasks.llvm_passes import TASK
from tests.sources import DATA


@pytest.mark.parametrize("name", ["matrix.c", "structs.c", "classes.cpp"])
def test_without_unwind_tables_is_as_clang_makes_it(name: str) -> None:
    path = DATA / name
    asked, plain = (load_program(path, flags) for flags in (["-fno-asynchronous-unwind-tables"], []))
    sizes = []
    for program in (asked, without_unwind_tables(plain), plain):
        session = TASK.open(program)
        assert isinstance(session, ModuleSession)
        session.replay(["clang<Oz>"])
        sizes.append(session.sizes())
    theirs, ours, before = sizes
    assert (ours.loaded_bytes, ours.unwind_bytes) == (theirs.loaded_bytes, theirs.unwind_bytes)
    assert ours.unwind_bytes < before.unwind_bytes
