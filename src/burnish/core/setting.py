"""Settings of a task: each an option of the command line, and a key of a result's options."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """One choice. Its value is a text, wherever it is kept."""

    name: str  # the key in Task.options
    description: str  # for --help
    choices: tuple[str, ...] = ()
    metavar: str = ""
    several: bool = False  # may be repeated; the value has commas between
    switch: tuple[str, str] | None = None  # an option without a value, and what it sets: ("no-x", "False")
    default: str | None = None  # None: it is the task's own
    note: str = ""  # how results with another value say so: "left out: {}"

    @property
    def option(self) -> str:
        """The option of the command line, without dashes."""
        return self.switch[0] if self.switch else self.name.replace("_", "-")
