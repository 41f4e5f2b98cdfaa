"""LLVM's interactive channel: an unmodified compiler asks over two FIFOs, and a policy answers.

The protocol is that of llvm/Analysis/InteractiveModelRunner.h and llvm/Analysis/Utils/TrainingLogger.h. A
header line in JSON describes the tensors. A context line follows for each module. For each question follow
an observation line, the tensors' bytes and a newline. The answer is the bytes of one tensor.
"""

from __future__ import annotations

import json
import math
import os
import select
import stat
import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from burnish.core.errors import InputError

WAIT_SECONDS = 0.1  # interval at which `going` is called while no compiler sends anything
TWO = "two compilers share the channel; burnish serve-inliner --launchers gives each its own"
_HEADER = b'{"features":'
_CODES = {"int8_t": "b", "uint8_t": "B", "int16_t": "h", "uint16_t": "H", "int32_t": "i", "uint32_t": "I"}
_CODES |= {"int64_t": "q", "uint64_t": "Q", "float": "f", "double": "d"}


@dataclass(frozen=True)
class Questions:
    """The questions of one kind that a compiler asks over its channel, and their answers."""

    decision: str  # LLVM's name, such as "inlining_decision"
    tensors: Mapping[str, int]  # the inputs, by LLVM's names, and their numbers of values
    answer: Callable[[Sequence[float]], int]  # takes the values of all inputs, in their order
    advisor: str  # LLVM's option that makes the compiler ask
    channel_option: str  # LLVM's option for the channel's base
    tool: str  # LLVM's tool that asks, too: "opt" or "llc"
    more: tuple[str, ...] = ()  # LLVM's options that make the compiler send inputs beside its own

    def options(self, base: Path) -> tuple[str, ...]:
        """Return LLVM's options for a channel, whose option is the last; clang takes each after -mllvm."""
        return self.advisor, *self.more, f"{self.channel_option}={base}"


@dataclass(frozen=True)
class Header:
    """A compiler's description of its questions."""

    layout: struct.Struct  # of the tensors of a question
    places: tuple[int, ...]  # indices of the inputs among the tensors' values
    answer: str  # the struct format of an answer

    @classmethod
    def parse(cls, said: Mapping[str, Any], asked: Questions) -> Header:
        """Parse a header line.

        Raises:
            InputError: the compiler asks for another decision, or does not send all inputs.
        """
        advice = said.get("advice", {})
        if advice.get("name") != asked.decision:
            raise InputError(f"the compiler asks for {advice.get('name')!r}; expected {asked.decision!r}")
        formats, sent, at = "<", {}, 0
        for tensor in said["features"]:
            count = math.prod(tensor["shape"])
            sent[tensor["name"]] = range(at, at + count)
            formats += f"{count}{_CODES[tensor['type']]}"
            at += count
        if lacking := [name for name, count in asked.tensors.items() if len(sent.get(name, ())) != count]:
            raise InputError(
                f"the compiler sends {len(said['features'])} features, but not "
                f"{', '.join(lacking)}, which the policy takes: use a newer compiler, or a policy "
                "that was trained without them"
            )
        places = tuple(place for name in asked.tensors for place in sent[name])
        return cls(struct.Struct(formats), places, f"<{_CODES[advice['type']]}")

    def row(self, raw: bytes) -> list[float]:
        """Return the values of a question's inputs."""
        values = self.layout.unpack(raw)
        return [values[place] for place in self.places]


@dataclass
class Served:
    """Counts of all served requests."""

    compiles: int = 0
    answers: Counter[int] = field(default_factory=Counter)

    @property
    def decisions(self) -> int:
        """The number of answers."""
        return self.answers.total()

    def add(self, other: Served) -> None:
        """Add another channel's counts."""
        self.compiles += other.compiles
        self.answers.update(other.answers)


@dataclass
class Channel:
    """Two FIFOs, `BASE.in` to the compiler and `BASE.out` from it: made on entry, removed on exit."""

    base: Path
    _made: list[Path] = field(default_factory=list, init=False)
    _out: int = field(default=-1, init=False)
    _in: int = field(default=-1, init=False)
    _kept: bytes = field(default=b"", init=False)

    def __enter__(self) -> Channel:
        """Make and open both FIFOs.

        Raises:
            InputError: a FIFO cannot be made, or another file has its name.
        """
        for end in ("in", "out"):
            path = Path(f"{self.base}.{end}")
            try:
                os.mkfifo(path)
                self._made.append(path)
            except FileExistsError:
                if not stat.S_ISFIFO(path.stat().st_mode):
                    self.__exit__()
                    raise InputError(f"{path} exists, but is not a FIFO; choose another --channel") from None
            except OSError as error:
                self.__exit__()
                raise InputError(f"{path}: a FIFO cannot be made: {error.strerror}") from None
        # Neither call blocks until a compiler opens the other end, because that may never happen.
        self._out = os.open(f"{self.base}.out", os.O_RDONLY | os.O_NONBLOCK)
        self._in = os.open(f"{self.base}.in", os.O_RDWR | os.O_NONBLOCK)
        return self

    def __exit__(self, *_error: object) -> None:
        """Close both FIFOs, and remove those that `__enter__` made."""
        for descriptor in (self._in, self._out):
            if descriptor >= 0:
                os.close(descriptor)
        for path in self._made:
            with suppress(OSError):
                path.unlink()

    def send(self, answer: bytes) -> None:
        """Write an answer to the compiler."""
        os.write(self._in, answer)

    def line(self, going: Callable[[], bool]) -> bytes | None:
        """Return the next line; None if a compile has ended, or if `going` returns False."""
        while b"\n" not in self._kept:
            if not self._more(going):
                return None
        found, _, self._kept = self._kept.partition(b"\n")
        return found

    def exactly(self, count: int, going: Callable[[], bool]) -> bytes | None:
        """Return the next `count` bytes; None in the cases of `line`."""
        while len(self._kept) < count:
            if not self._more(going):
                return None
        found, self._kept = self._kept[:count], self._kept[count:]
        return found

    def begins_anew(self, read: bytes, start: int = 0) -> bool:
        """Return whether `read` has another compiler's header from offset `start` on; it is read next."""
        at = read.find(_HEADER, start)
        if at >= 0:
            self._kept = read[at:] + self._kept
        return at >= 0

    def is_waited_for(self) -> bool:
        """Return whether the compiler waits for an answer: it has neither exited nor sent more."""
        return not self._kept and not self._ready(0)

    def forget_answers(self) -> None:
        """Drop answers that a killed compiler has not read."""
        with suppress(BlockingIOError):
            os.read(self._in, 1 << 16)

    def _more(self, going: Callable[[], bool]) -> bool:
        """Read the available bytes; return False if a compile has ended, or `going` returns False."""
        while True:
            if self._ready(WAIT_SECONDS):
                try:
                    read = os.read(self._out, 1 << 16)
                except BlockingIOError:  # the last writer had closed, and the next one has just opened
                    continue
                if read:
                    self._kept += read
                    return True
                # All writers have closed. Open a new descriptor for the next writer before closing the old
                # one, so that the FIFO keeps the bytes that the next writer may have written already.
                again = os.open(f"{self.base}.out", os.O_RDONLY | os.O_NONBLOCK)
                os.close(self._out)
                self._out, self._kept = again, b""
                self.forget_answers()
                return False
            if not going():
                self._kept = b""
                return False

    def _ready(self, seconds: float) -> bool:
        """Return whether there are bytes to read, or all writers have closed."""
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        return bool(poll.poll(1000 * seconds))


def serve(asked: Questions, channel: Channel, going: Callable[[], bool]) -> Served:
    """Answer the compilers of a channel, one after the other, until `going` returns False.

    Raises:
        InputError: the compiler's questions are others. That compiler waits for ever.
    """
    served, header = Served(), None
    while True:
        line = channel.line(going)
        if line is None or channel.begins_anew(line + b"\n", 1):
            header = None
            if line is None and not going():
                return served
            continue
        said = _parsed(line)
        if "features" in said:
            channel.forget_answers()
            header = Header.parse(said, asked)
            served.compiles += 1
        elif "observation" in said:
            if header is None:
                raise InputError(f"a question came before the header: {TWO}")
            raw = channel.exactly(header.layout.size + 1, going)
            if raw is None or channel.begins_anew(raw) or not channel.is_waited_for():
                continue
            answer = asked.answer(header.row(raw[:-1]))
            channel.send(struct.pack(header.answer, answer))
            served.answers[answer] += 1


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
        if isinstance(said, dict):
            return said
    except ValueError:
        pass
    raise InputError(f"{line[:60]!r} is not a line of the protocol: {TWO}")
