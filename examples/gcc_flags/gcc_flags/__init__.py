"""A task in another package, burnish optimize --task gcc_flags: gcc's flags for small or fast C."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from burnish._native import object_sizes
from burnish.core.errors import InputError, MissingTool, ProgramError, UnknownName
from burnish.core.objective import Objective, Observation
from burnish.core.program import Program, Workload
from burnish.core.program_source import FileSource, Loaded
from burnish.core.session import Session
from burnish.core.task import Checks, Files, Presentation, SearchHints, Task, TaskPolicies
from burnish.core.trace import WHOLE_PROGRAM, Trace
from burnish.core.view import Mask, Observed
from burnish.llvm.run.check import object_behaviour
from burnish.llvm.run.folder import temporary_folder
from burnish.llvm.run.running import read_run
from burnish.llvm.run.stopwatch import Stopwatch

TOGGLES = """
    align-functions align-jumps align-loops caller-saves gcse if-conversion inline-functions ipa-cp ipa-icf
    ipa-ra ipa-sra ivopts inline-small-functions optimize-sibling-calls partial-inlining peephole2 shrink-wrap
    reorder-blocks schedule-insns2 tree-ch tree-dominator-opts tree-loop-distribute-patterns tree-pre tree-sra
    tree-switch-conversion tree-tail-merge tree-ter tree-vectorize unroll-loops unswitch-loops
""".split()
ACTIONS = ("O1", "O2", "O3", "Os", "Oz", *(f"f{no}{name}" for name in TOGGLES for no in ("", "no-")))
FLAGS = Observation("flags", "1 for each flag that was given", shape=(len(ACTIONS),), high=1)
BYTES = Objective("bytes", "bytes", "that a linked program loads for the object", by_site=False)
RUN = Objective("seconds", "seconds", "of CPU", dense=False, by_site=False, noisy=True, needs_workload=True)


class Flags(Session):
    """A file and gcc's flags for it; if two flags contradict each other, the later one counts."""

    def __init__(self, program: Program, first: Sequence[str] = ()) -> None:
        """Begin with the flags of a baseline; they are not in the trace."""
        super().__init__(ACTIONS, reopen=partial(Flags, program, first))
        self.program = program
        self.flags = list(first)
        self.code: bytes | None = gcc(program, self.flags)  # None: compiled on demand
        self.stopwatch = program.workload and Stopwatch(program.workload, partial(gcc, program, ["O0"]))

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Return the mask of flags that are not given yet; there are no sites."""
        return np.array([site == WHOLE_PROGRAM and flag not in self.flags for flag in self.actions])

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Add one flag."""
        self.check_legal(action, site)
        self.flags.append(self.actions[action])
        self.code = None
        self.record(action, site)
        return True

    def observe(self, space: str) -> Observed:
        """Return 1 for each given flag, else 0: int64[len(ACTIONS)]."""
        if space == FLAGS.name:
            return np.array([flag in self.flags for flag in self.actions], dtype=np.int64)
        raise UnknownName.among("observation", space, [FLAGS.name])

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Return the loaded bytes of the object, or the CPU seconds of the program."""
        if objective == BYTES.name:
            return float(max(1, object_sizes(self.object_code(), False).loaded_bytes))
        if objective != RUN.name:
            raise UnknownName.among("objective", objective, [BYTES.name, RUN.name])
        if self.stopwatch:
            return self.stopwatch.measure(self.object_code())
        raise InputError(f"{self.program.name}: it has no workload; give its arguments with --run")

    def digest(self) -> str:
        """Return the digest of the object."""
        return hashlib.blake2b(self.object_code(), digest_size=16).hexdigest()

    def object_code(self) -> bytes:
        """Return gcc's object for the file with these flags."""
        self.code = self.code or gcc(self.program, self.flags)
        return self.code


class Sources(FileSource):
    """Preprocessed C files, which contain the files that they include."""

    def load(self, name: str, arguments: Sequence[str] = (), directory: Path | None = None) -> Loaded:
        """Read a file with gcc's options, such as -I and -D; without #line, its folder does not matter."""
        path = str((directory or Path()) / name)
        return Loaded(Program(name, "c", run(["gcc", "-E", "-P", *arguments, path])), tuple(arguments))

    def with_runs(
        self, program: Program, runs: Sequence[str], names: Sequence[str], arguments: Sequence[str]
    ) -> Program:
        """Return the program with the inputs of --run."""
        return replace(program, workload=Workload(tuple(map(read_run, runs)))) if runs else program


def gcc(program: Program, flags: Sequence[str]) -> bytes:
    """Return gcc's object for a program."""
    with temporary_folder() as folder:
        options = ["-w", *(f"-{flag}" for flag in flags), "-c", "-x", "cpp-output"]
        run(["gcc", *options, "-", "-o", f"{folder}/object"], program.content)
        return (folder / "object").read_bytes()


def run(command: Sequence[str], content: bytes = b"") -> bytes:
    """Return the output of a command."""
    try:
        return subprocess.run(command, input=content, capture_output=True, check=True).stdout
    except FileNotFoundError:
        raise MissingTool("gcc is not installed; on Debian: apt-get install gcc") from None
    except subprocess.CalledProcessError as error:
        raise ProgramError(error.stderr.decode(errors="replace").strip()) from None


def write_object(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of the .o file."""
    return session.object_code()


def commandline(trace: Trace) -> str:
    """Return the gcc command that gives the same object without burnish."""
    return " ".join(["gcc -c", *(f"-{flag}" for flag in trace)])


TASK = Task(
    name="gcc_flags",
    version=0,
    language="c",
    actions=ACTIONS,
    observations={FLAGS.name: FLAGS},
    objectives={BYTES.name: BYTES, RUN.name: RUN},
    open=Flags,
    baselines={level: partial(Flags, first=(level,)) for level in ("O0", "Os", "O2")},
    reference="Os",
    max_steps=20,
    hints=SearchHints((("Os",), ("Oz",), ("O2",))),
    files=Files(partial(Sources, "c", (".c",)), {".o": write_object}),
    checks=Checks(object_behaviour, commandline=commandline),
    policies=TaskPolicies(shipped=Path(__file__).parent / "policies"),
    shown=Presentation((BYTES.name,), label="-{}"),
)
