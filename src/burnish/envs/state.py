"""States of environments as values: `Env.state` returns one, and `Env.restore` returns to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from burnish.core.decoding import decode
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.trace import Trace


@dataclass(frozen=True)
class EnvState:
    """A state of an episode: the address of the state, and its cost."""

    task: str  # with its version, "llvm_passes-v1"
    program: str  # the program's name
    digest: str  # Program.digest
    trace: Trace
    objective: str
    cost: float  # the last measured cost: the state's own if each step is measured
    state: str  # Session.digest()
    options: Mapping[str, str] = field(default_factory=dict)  # the task's settings that are not its defaults

    def to_json(self) -> str:
        """Write the state on one line."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> EnvState:
        """Read a state that to_json wrote, or raise InputError."""
        return decode(cls, line, "a state of an environment")

    def check(self, task: Task, program: Program) -> None:
        """Check that the state is of this task and program.

        Raises:
            InputError: the state is of another task, of other settings, or of another program.
        """
        for what, expected, given in (
            ("task", task.id, self.task),
            ("settings", dict(task.options), dict(self.options)),
            ("program", f"{program.name} ({program.digest[:8]})", f"{self.program} ({self.digest[:8]})"),
        ):
            if expected != given and not (what == "program" and self.digest == program.digest):
                raise InputError(f"the state has the {what} {given}; expected {expected} of this environment")


def state_in(given: EnvState | None) -> EnvState | None:
    """Return an option of `reset`, or raise InputError."""
    if not isinstance(given, EnvState | None):
        raise InputError(f"state={given!r:.60}: expected an EnvState, such as EnvState.from_json(line)")
    return given
