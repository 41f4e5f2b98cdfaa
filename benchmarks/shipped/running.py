"""Runs of programs: their outputs, their CPU times, and the results of the project's own tests."""

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
LEAST_SECONDS = 4.0  # CPU time for which each build is timed; with three short runs results varied by 14 %
MOST_ROUNDS = 40  # limit for runs that take less than a tenth of a second


@dataclass(frozen=True)
class Ran:
    """One execution of a command."""

    printed: bytes  # the output, and the files that the command wrote
    code: int
    cpu_seconds: float

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of a digest of the output, the written files and the exit code."""
        return hashlib.blake2b(self.printed + str(self.code).encode(), digest_size=8).hexdigest()


def run_all(project: Project, built: Built, inputs: Path) -> list[Ran]:
    """Run a project's programs on their inputs, once each."""
    return [_run(command, project, built, inputs) for command in project.runs]


def time_in_turns(
    project: Project, builds: Sequence[Built], inputs: Path, rounds: int
) -> list[list[list[float]]]:
    """Return the CPU seconds of each run, for each build, in each round; all builds take turns.

    Short runs get more than `rounds` rounds, until a build was timed for LEAST_SECONDS or for MOST_ROUNDS.

    Returns:
        Shape [builds, runs, rounds]; the number of rounds differs between runs.
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
    """Run the project's own tests; return None without tests, "" if all pass, else the last output."""
    for command in project.tests:
        with tempfile.TemporaryDirectory(prefix="burnish-ships-") as scratch:
            for program in built.programs.values():  # some test scripts expect the programs here
                Path(scratch, Path(program).name).symlink_to(program)
            done = _shell(command, _words(project, built, built.folder), scratch)
        if done.returncode:
            lines = done.stdout.decode(errors="replace").strip().splitlines()
            return f"code {done.returncode}: " + " / ".join(lines[-3:])
    return "" if project.tests else None


def _run(command: str, project: Project, built: Built, inputs: Path) -> Ran:
    with tempfile.TemporaryDirectory(prefix="burnish-ships-") as scratch:
        done = _shell(command, _words(project, built, inputs), scratch)
        # remove the folders' names, on which the output must not depend
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
    for name, value in words.items():  # not str.format, because patterns and awk scripts contain braces
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
