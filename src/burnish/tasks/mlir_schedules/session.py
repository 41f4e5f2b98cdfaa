"""A session: one program, and the schedule of its ops so far."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from burnish.core.errors import Miscompiled, UnknownName
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed
from burnish.llvm.run.measurements import Known, MeasurementCache, key_of
from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.actions import ACTIONS, INDEX
from burnish.tasks.mlir_schedules.kernel import CompiledSchedule, Trial, code_digest, lowered
from burnish.tasks.mlir_schedules.legality import legal
from burnish.tasks.mlir_schedules.observations import OBSERVATIONS, observe
from burnish.tasks.mlir_schedules.ops import scan
from burnish.tasks.mlir_schedules.order import UNRESTRICTED, Restrictions, Taken
from burnish.tasks.mlir_schedules.outputs import function_name
from burnish.tasks.mlir_schedules.payload import Payload, TransformFailed, open_payload
from burnish.tasks.mlir_schedules.sites import RESHAPES, Site, Sites, changed
from burnish.tasks.mlir_schedules.transforms import depths, write, write_fusion
from burnish.tasks.tensors.session import TimedSession

KEPT = 4096  # codes with a measurement in memory, and states whose code has its digest there


class CodeTimes:
    """Measurements by the digest of the code: schedules with the same code are measured once.

    With `on_disk`, measurements of earlier sessions on this machine are found on disk.
    """

    def __init__(self, program: str, on_disk: bool) -> None:
        """Take the digest of the program, which also determines the arrays."""
        self.program = program
        self._recent: Recent[str, Known] = Recent(KEPT)
        self._disk = MeasurementCache() if on_disk else None

    def find(self, code: str) -> Known | None:
        """Return the measurement of a code; None if there is no measurement."""
        known = self._recent.get(code)
        if known is None and self._disk:
            known = self._disk.find(self._key(code))
        return known

    def keep(self, code: str, known: Known) -> None:
        """Add a measurement."""
        self._recent.put(code, known)
        if self._disk:
            self._disk.keep(self._key(code), known)

    def _key(self, code: str) -> bytes:
        return key_of("mlir_schedules", bindings.version(), self.program, code)


@dataclass
class SharedSchedules:
    """Data that all sessions of one program share."""

    trial: Trial
    opened: Payload  # before any action
    times: CodeTimes
    threads: int = 1  # that share parallel loops
    restrictions: Restrictions = UNRESTRICTED
    codes: Recent[str, str] = field(default_factory=lambda: Recent(KEPT))  # by the state's digest


class ScheduleSession(TimedSession):
    """Linalg ops as sites, in the program's order; whole-program actions apply to the op at the cursor.

    The cursor goes from the last op to the first, because a consumer needs its loops before its producers
    are fused into them.
    """

    def __init__(self, payload: Payload, sites: Sites, shared: SharedSchedules, program: Program) -> None:
        reopen = partial(open_program, program, shared.threads, shared.restrictions)
        super().__init__(ACTIONS, reopen, program)
        self.payload = payload
        self.ops = sites
        self.shared = shared
        self.cursor = sites.last  # the name of an op; "" after "done", or past the first op
        self.script: list[str] = []  # the transforms of each step
        self.taken: dict[str, Taken] = {}  # by op; only with restrictions
        self._masks: dict[str, Mask] = {}
        self._compiled: tuple[str, CompiledSchedule] | None = None  # the last one, with its state's digest
        self._lowered: Any = None  # the lowered module, if there is one: input of `compiled`

    @property
    def opened(self) -> Payload:
        """The program before any action."""
        return self.shared.opened

    def sites(self) -> tuple[str, ...]:
        """Return the ops' names."""
        return tuple(self.ops.by_name)

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Return the legal actions at an op; `next` and `done` are legal for the whole program only."""
        name = self.cursor if site == WHOLE_PROGRAM else site
        if name not in self.ops.by_name:
            return np.zeros(len(ACTIONS), dtype=bool)
        if name not in self._masks:
            found = self.ops.by_name[name]
            self._masks[name] = legal(found, partial(self._fuses, found, self._depths(found)))
        mask = self._masks[name].copy()
        if site == WHOLE_PROGRAM:
            mask[INDEX["next"]] = mask[INDEX["done"]] = True
        rules = self.shared.restrictions
        return rules.allowed(self.taken.get(name, Taken()), mask) if rules else mask

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Move the cursor, or transform the op at the cursor or at a site."""
        self.check_legal(action, site)
        text, names = ACTIONS[action], self.sites()
        if text in ("next", "done"):
            self.cursor = ("", *names)[names.index(self.cursor)] if text == "next" else ""
            self.record(action, WHOLE_PROGRAM)
            return True
        found = self.ops.by_name[site or self.cursor]
        reader = self._reader(found) if text.startswith("fuse") else None
        lines = self._lines(found, text, reader)
        self.payload = self.payload.transformed(lines)
        kind = text.partition("(")[0]
        ops = scan(self.payload.module, self.ops.apart_from(found)) if kind in RESHAPES else {}
        self.ops = changed(self.ops, found, text, ops, reader)
        if self.cursor and self.cursor not in self.ops.by_name:  # move to the nearest op before
            left = [name for name in names[: names.index(self.cursor)] if name in self.ops.by_name]
            self.cursor = left[-1] if left else ""
        self.script.append(lines)
        if rules := self.shared.restrictions:
            before = self.taken.get(found.name, Taken())
            self.taken[found.name] = rules.after(before, action, self._masks[found.name])
        self._lowered = None
        self._masks = {}
        self.record(action, found.name)
        return True

    def observe(self, space: str) -> Observed:
        """Return one of OBSERVATIONS."""
        if space not in OBSERVATIONS:
            raise UnknownName.among("observation", space, OBSERVATIONS)
        return observe(self, space)

    def state(self) -> str:
        """Return the state's digest."""
        return self.digest()

    def seconds(self, again: bool = False) -> float:
        """Return the CPU time of a call: the last measurement of this code, or a new one.

        Raises:
            LoweringFailed: MLIR cannot compile the schedule.
            Miscompiled: the results differ from NumPy's.
        """
        code = self._code()
        known = None if again else self.shared.times.find(code)
        if isinstance(known, str):
            raise Miscompiled(known)
        if known is None:
            try:
                known = self.compiled().seconds(self.shared.trial.arrays)
            except Miscompiled as error:
                self.shared.times.keep(code, str(error))
                raise
            self.shared.times.keep(code, known)
        return known

    def compiled(self) -> CompiledSchedule:
        """Return the compiled code, after a comparison of its outputs with NumPy's."""
        key = self.digest()
        if self._compiled is None or self._compiled[0] != key:
            compiled = CompiledSchedule(self.payload, self._lowered, threads=self.shared.threads)
            self._lowered = None
            self.shared.trial.check(compiled)
            self._compiled = key, compiled
        return self._compiled[1]

    def _code(self) -> str:
        """Return the digest of the lowered code."""
        key = self.digest()
        code = self.shared.codes.get(key)
        if code is None:
            self._lowered = lowered(self.payload, self.shared.threads)
            code = code_digest(self._lowered)
            self.shared.codes.put(key, code)
        return code

    def object_code(self) -> bytes:
        """Return an object file with a C function named after the program, after a comparison with NumPy.

        Raises:
            LoweringFailed, Miscompiled: see `seconds`.
        """
        name, threads = function_name(self.program.name), self.shared.threads
        compiled = CompiledSchedule(self.payload, name=name, threads=threads)
        self.shared.trial.check(compiled)
        return compiled.object_file()

    def digest(self) -> str:
        """Return the digest of the module and the cursor; with restrictions, also of what they depend on."""
        text = f"{self.payload.module}\n{self.cursor}"
        if self.taken:
            text += f"\n{sorted(self.taken.items(), key=itemgetter(0))}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def fork(self) -> ScheduleSession:
        """Return a session with the same module, which no session changes; both share their measurements."""
        copy = ScheduleSession(self.payload, self.ops, self.shared, self.program)
        copy.trace, copy.cursor, copy.script = list(self.trace), self.cursor, list(self.script)
        copy.taken, copy._masks = dict(self.taken), self._masks
        return copy

    def _reader(self, site: Site) -> Site | None:
        """Return the only reader of a site's result; None if there are more or none, or if it is vectors."""
        readers = self.ops.readers(site.name)
        return readers[0] if len(readers) == 1 and readers[0].stage == "op" else None

    def _lines(self, site: Site, text: str, reader: Site | None) -> str:
        """Return the transforms of an action."""
        if reader is None:
            return write(site, text, len(self.script))
        loops = int(text.removeprefix("fuse(").removesuffix(")"))
        found = [depth for depth in self._depths(site) if depth <= loops]
        return write_fusion(site, reader, found, len(self.script))

    def _depths(self, site: Site) -> tuple[int, ...]:
        """Return the depths in its reader's loops at which an op may be fused; see `depths`."""
        if site.stage != "op" or site.loops:
            return ()
        reader = self._reader(site)
        return depths(self.payload.module, site, reader) if reader and reader.loops else ()

    def _fuses(self, site: Site, known: tuple[int, ...], loops: int) -> bool:
        """Return whether an op can be fused into the first `loops` loops of its reader, by trying it."""
        if loops not in known:
            return False
        try:
            self.payload.transformed(self._lines(site, f"fuse({loops})", self._reader(site)))
        except TransformFailed:
            return False
        return True


def open_program(
    program: Program, threads: int = 1, restrictions: Restrictions = UNRESTRICTED
) -> ScheduleSession:
    """Open a program without a schedule; several threads share the iterations of its parallel loops.

    Raises:
        ProgramError: the program cannot be read.
        MissingTool: MLIR is not installed.
    """
    text = program.content.decode(errors="replace")
    payload = open_payload(text, program.name)
    sites = Sites({}).scanned(scan(payload.module))
    shared = SharedSchedules(
        Trial(text), payload, CodeTimes(program.digest, program.recalls), threads, restrictions
    )
    return ScheduleSession(payload, sites, shared, program)


def toolchain() -> dict[str, str]:
    """Return the version of MLIR's wheel."""
    return {"mlir": bindings.version() or "none"}
