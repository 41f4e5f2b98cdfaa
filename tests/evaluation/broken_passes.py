"""The task of LLVM passes, with actions beside its own that break programs."""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from burnish import _native
from burnish.core.errors import CompilerCrash
from burnish.core.program import Program, Run, Workload
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed
from burnish.llvm.modules.module import emit_object
from burnish.llvm.modules.session import ModuleSession, open_session
from burnish.llvm.programs import load_program
from burnish.tasks.llvm_passes import TASK

MOODS = """
#include <stdio.h>
#include <stdlib.h>

volatile int mode = 0;

int main(int count, char **words) {
  if (mode == 2)
    abort();
  while (mode == 3)
    ;
  volatile char *bytes = malloc(8);
  if (mode == 4)
    bytes[0] = bytes[30];
  int c, sum = mode == 1;
  while ((c = getchar()) != EOF)
    sum += c;
  printf("%d words, sum %d\\n", count, sum);
  return mode == 5 ? 1 : 0;
}
"""
"""A program that does what it should while `mode` is 0, and what `mode+1` can make of it."""

INPUTS = Workload((Run("none"), Run("some", ("a", "b"), b"some text", b"3 words, sum 921\n")))


def moods(folder: Path, mode: int = 0) -> Program:
    """Return MOODS with two inputs, one of which knows what to expect."""
    path = folder / "moods.c"
    path.write_text(MOODS.replace("mode = 0", f"mode = {mode}"))
    return replace(load_program(path), workload=INPUTS)


def broken_task(*actions: str) -> Task:
    """Return the task with more actions.

    They are LLVM's function passes by their names, "mode+1", "crash", "hang", "invalid", after which the
    verifier has something to say, "no-code", after which code generation fails, and "unstable", after which
    the digest is another in every process.
    """
    return replace(TASK, actions=(*TASK.actions, *actions), open=partial(open_broken, actions=actions))


def open_broken(program: Program, *, actions: tuple[str, ...]) -> Session:
    return BrokenSession(open_session(program), actions)


class BrokenSession(Session):
    """A module that more can be done to, at functions too."""

    def __init__(self, inner: ModuleSession, more: tuple[str, ...], *, told: str = "") -> None:
        super().__init__((*inner.actions, *more))
        self.inner = inner
        self.more = more
        self.told = told  # "invalid", "no-code" and "unstable", where they were applied

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        there = site == WHOLE_PROGRAM or site in self.inner.sites()
        return np.append(self.inner.legal(site), [there] * len(self.more))

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        self.check_legal(action, site)
        changed = True
        if action < len(self.inner.actions):
            changed = self.inner.apply(action, site)
        else:
            self._break(self.actions[action], site)
        self.record(action, site)
        return changed

    def _break(self, how: str, site: str) -> None:
        match how:
            case "crash":
                os.abort()
            case "hang":
                time.sleep(3600)
            case "invalid" | "unstable" | "no-code":
                self.told += how
            case "mode+1":
                text = re.sub(
                    r"(@mode = .*i32 )(\d+)",
                    lambda old: old[1] + str(int(old[2]) + 1),
                    self.inner.module.print(),
                )
                self.inner.module = _native.Module(text.encode(), "moods")
            case _:
                self.inner.module.run(how, "Oz", [site] if site else self.inner.module.functions)

    def observe(self, space: str) -> Observed:
        return self.inner.observe(space)

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        return self.inner.cost(objective, site)

    def digest(self) -> str:
        process = os.getpid() if "unstable" in self.told else ""
        return f"{self.inner.digest()} {self.told} {process}"

    def verify(self) -> str:
        if "invalid" in self.told:
            raise CompilerCrash("instruction does not dominate all uses")
        return self.inner.verify()

    def object_code(self) -> bytes:
        if "no-code" in self.told:
            raise CompilerCrash("cannot select")
        options = self.inner.options
        return emit_object(self.inner.module, options.level, options.cpu)  # which _break changed

    def sites(self) -> tuple[str, ...]:
        return self.inner.sites()

    def fork(self) -> BrokenSession:
        copy = BrokenSession(self.inner.fork(), self.more, told=self.told)
        copy.trace = list(self.trace)
        return copy
