"""What programs print, how long they run, and what the project's own tests say."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shipped.building import Built
from shipped.compilers import ENVIRONMENT
from shipped.projects import Project

DEADLINE_SECONDS = 600
LEAST_SECONDS = 4.0  # of CPU time that each build is timed for: of three short runs it moved by 14 %
MOST_ROUNDS = 40  # of runs that take less than a tenth of a second


@dataclass(frozen=True)
class Ran:
    """One execution of a command."""

    printed: bytes  # and whatever files it wrote
    code: int
    cpu_seconds: float

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of all that it did."""
        return hashlib.blake2b(self.printed + str(self.code).encode(), digest_size=8).hexdigest()


def run_all(project: Project, built: Built, inputs: Path) -> list[Ran]:
    """Run a project's programs on their inputs, once each."""
    return [_run(command, project, built, inputs) for command in project.runs]


def time_in_turns(
    project: Project, builds: Sequence[Built], inputs: Path, rounds: int
) -> list[list[list[float]]]:
    """Return the CPU seconds of each run, for each build, in each round; all builds take turns.

    Short runs have more rounds than are asked for, until a build was timed for LEAST_SECONDS.

    Returns:
        Shape [builds, runs, rounds]; each run has rounds of its own.
    """
    seconds: list[list[list[float]]] = [[[] for _ in project.runs] for _ in builds]
    for number, command in enumerate(project.runs):
        turn = 0
        while turn < rounds or (turn < MOST_ROUNDS and sum(seconds[0][number]) < LEAST_SECONDS):
            order = range(len(builds)) if turn % 2 else reversed(range(len(builds)))
            for which in order:
                seconds[which][number].append(_run(command, project, builds[which], inputs).cpu_seconds)
            turn += 1
    return seconds


def run_tests(project: Project, built: Built) -> str | None:
    """Run the project's own tests; None where it has none, "" where all pass, else what was said last."""
    for command in project.tests:
        with tempfile.TemporaryDirectory(prefix="burnish-ships-") as scratch:
            for program in built.programs.values():  # some scripts look for them here
                Path(scratch, Path(program).name).symlink_to(program)
            done = _shell(command, _words(project, built, built.folder), scratch)
        if done.returncode:
            lines = done.stdout.decode(errors="replace").strip().splitlines()
            return f"code {done.returncode}: " + " / ".join(lines[-3:])
    return "" if project.tests else None


def _run(command: str, project: Project, built: Built, inputs: Path) -> Ran:
    with tempfile.TemporaryDirectory(prefix="burnish-ships-") as scratch:
        done = _shell(command, _words(project, built, inputs), scratch)
        # what it printed must not depend on where it ran
        written = sorted(path for path in Path(scratch).rglob("*") if path.is_file())
        files = [path.name.encode() + b"\0" + path.read_bytes() for path in written]
        printed = b"\0".join([done.stdout, *files])
    for path in (str(built.folder), scratch):
        printed = printed.replace(path.encode(), b".")
    return Ran(printed, done.returncode, done.cpu_seconds)


@dataclass(frozen=True)
class _Done:
    stdout: bytes  # and stderr
    returncode: int
    cpu_seconds: float


def _shell(command: str, words: Mapping[str, str], directory: str) -> _Done:
    for name, value in words.items():  # not str.format: patterns and awk have braces of their own
        command = command.replace(f"{{{name}}}", value)
    with tempfile.TemporaryFile() as output:
        started = subprocess.Popen(
            ["sh", "-c", command if "&&" in command or ";" in command else f"exec {command}"],
            cwd=directory,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(started.pid, signal.SIGKILL))
        signal.alarm(DEADLINE_SECONDS)
        try:
            _, status, used = os.wait4(started.pid, 0)
        finally:
            signal.alarm(0)
        started.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return _Done(output.read(), started.returncode, used.ru_utime + used.ru_stime)


def _words(project: Project, built: Built, inputs: Path) -> dict[str, str]:
    return built.programs | {"source": str(project.root), "inputs": str(inputs), "python": sys.executable}
