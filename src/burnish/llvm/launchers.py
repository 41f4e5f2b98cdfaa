"""Launchers of unmodified compilers: each compiler has channels of its own, and one process answers all.

A launcher is a shell script. It makes the FIFOs of its channels, announces its process and becomes the
compiler. So the process that was announced ends when the compiler does, even if the compiler is killed.
"""

from __future__ import annotations

import os
import re
import select
import shlex
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from burnish.core.errors import BurnishError, InputError, MissingTool
from burnish.llvm.channel import WAIT_SECONDS, Channel, Questions, Served, serve
from burnish.llvm.toolchain import find_tool

TOOLS = ("clang", "clang++", "opt", "llc")
COMPILERS = re.compile(r"(clang|clang\+\+|opt|llc)(-\d+)?")
_ANNOUNCED = "announced"  # the FIFO on which launchers announce their processes

_SCRIPT = """\
#!/bin/sh
# Run {compiler} so that `burnish serve-inliner` answers its questions.
if ! test -p {announced} || ! kill -0 {server} 2>/dev/null; then
  echo "$0: burnish serve-inliner has ended" >&2
  exit 1
fi
base={folder}/$$
mkfifo {fifos} || exit 1
echo $$ > {announced}
exec {compiler} {options} "$@"
"""


def is_compiler(word: str) -> bool:
    """Return whether a command's first word is a compiler that has a launcher."""
    return bool(COMPILERS.fullmatch(Path(word).name))


def installed() -> dict[str, Path]:
    """Return the tools of the user's PATH, or else burnish's own; those that are in neither are left out."""
    found = {}
    for tool in TOOLS:
        with suppress(MissingTool):
            found[tool] = Path(shutil.which(tool) or find_tool(tool))
    return found


class Launchers:
    """A folder with launchers, and the answers to the compilers that they started.

    Attributes:
        served: The counts of each kind of questions, in their order.
        failures: A line for each compiler that was killed, since its questions cannot be answered.
    """

    def __init__(self, folder: Path, asked: Sequence[Questions]) -> None:
        """Initialize for an existing folder."""
        self.folder, self.asked = folder, tuple(asked)
        self.served = tuple(Served() for _ in asked)
        self.failures: list[str] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._announced = -1

    def path(self, name: str) -> Path:
        """Return the launcher of a name."""
        return self.folder / name

    def write(self, name: str, compiler: Path) -> None:
        """Write the launcher of a compiler.

        Raises:
            InputError: a file with its name exists.
        """
        base = self.folder / _ANNOUNCED
        fifos = [f'"$base.{number}.{end}"' for number in range(len(self.asked)) for end in ("in", "out")]
        text = _SCRIPT.format(
            compiler=shlex.quote(str(compiler)),
            server=os.getpid(),
            folder=shlex.quote(str(self.folder)),
            fifos=" ".join(fifos),
            announced=shlex.quote(str(base)),
            options=" ".join(self._options(compiler.name)),
        )
        try:
            with self.path(name).open("x") as file:
                file.write(text)
        except OSError as error:
            raise InputError(f"{self.path(name)}: a launcher cannot be written: {error.strerror}") from None
        self.path(name).chmod(0o755)

    def _options(self, tool: str) -> Iterator[str]:
        is_clang = tool.startswith("clang")
        if is_clang:
            yield "--start-no-unused-arguments"  # for commands that only link or preprocess
        for number, questions in enumerate(self.asked):
            if is_clang or tool.startswith(questions.tool):
                *plain, channel = questions.options(Path(f"$base.{number}"))
                words = [*map(shlex.quote, plain), f'"{channel}"']
                yield from (f"-mllvm {word}" if is_clang else word for word in words)
        if is_clang:
            yield "--end-no-unused-arguments"

    def __enter__(self) -> Launchers:
        """Make the FIFO of announcements, open for both directions: no writer waits, no reader sees an end.

        Raises:
            InputError: the FIFO cannot be made.
        """
        path = self.folder / _ANNOUNCED
        try:
            os.mkfifo(path)
        except OSError as error:
            raise InputError(f"{path}: a FIFO cannot be made: {error.strerror}") from None
        self._announced = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        return self

    def __exit__(self, *_error: object) -> None:
        """Remove the FIFO; launchers that start from now on fail."""
        (self.folder / _ANNOUNCED).unlink(missing_ok=True)
        os.close(self._announced)

    def serve(self, going: Callable[[], bool]) -> None:
        """Answer all started compilers until `going` returns False; kill those that still run then."""
        running: list[threading.Thread] = []
        left = b""
        poll = select.poll()
        poll.register(self._announced, select.POLLIN)
        try:
            while going():
                if not poll.poll(1000 * WAIT_SECONDS):
                    continue
                *lines, left = (left + os.read(self._announced, 1 << 16)).split(b"\n")
                running = [thread for thread in running if thread.is_alive()]
                for line in lines:
                    thread = threading.Thread(target=self._answer, args=(int(line),))
                    thread.start()
                    running.append(thread)
        finally:
            self._stopped.set()
            for thread in running:
                thread.join()

    def _answer(self, number: int) -> None:
        """Answer the questions of one process, kind by kind, until it ends; then remove its channels."""
        bases = [self.folder / f"{number}.{kind}" for kind in range(len(self.asked))]
        with suppress(ProcessLookupError):  # it has ended
            process = os.pidfd_open(number)
            kinds = [
                threading.Thread(target=self._answer_kind, args=(kind, base, process))
                for kind, base in enumerate(bases)
            ]
            for thread in kinds:
                thread.start()
            for thread in kinds:
                thread.join()
            os.close(process)
        for base in bases:
            for end in ("in", "out"):
                Path(f"{base}.{end}").unlink(missing_ok=True)

    def _answer_kind(self, kind: int, base: Path, process: int) -> None:
        def runs() -> bool:
            return not self._stopped.is_set() and not _ended(process)

        try:
            with Channel(base) as channel:
                served = serve(self.asked[kind], channel, runs)
            with self._lock:
                self.served[kind].add(served)
        except (BurnishError, OSError) as error:
            with self._lock:
                self.failures.append(str(error))
        finally:
            if not _ended(process):  # without answers, it would wait for ever
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(process, signal.SIGKILL)


def _ended(process: int) -> bool:
    return bool(select.select([process], [], [], 0)[0])
