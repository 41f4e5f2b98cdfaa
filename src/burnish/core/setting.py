"""Settings of a task: each is an option of the command line and a key of a result's options."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """One setting; its value is always stored as text."""

    name: str  # the key in Task.options
    description: str  # for --help
    choices: tuple[str, ...] = ()
    metavar: str = ""
    several: bool = False  # may be repeated; the values are joined with commas
    switch: tuple[str, str] | None = None  # an option without a value, and the value set: ("no-x", "False")
    default: str | None = None  # None: the task's own default
    note: str = ""  # note in results with another value, such as "left out: {}"

    @property
    def option(self) -> str:
        """The option of the command line, without leading dashes."""
        return self.switch[0] if self.switch else self.name.replace("_", "-")
