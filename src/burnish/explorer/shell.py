"""The commands of burnish shell: a state is shown, changed, compared, searched from and saved."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from burnish.console.numbers import amount_text, quantity_text
from burnish.core.errors import InputError, UnknownName
from burnish.core.texts import observed_text
from burnish.core.trace import Trace, split_entry
from burnish.explorer.changes import changes
from burnish.explorer.exploration import Exploration, State
from burnish.files import write_atomically
from burnish.search import Budget

MOST_LEGAL = 40  # legal actions in a list; a text after the command narrows it
SEARCH_SECONDS = 10.0  # of `search` without a time


@dataclass(frozen=True)
class Command:
    """A command of the shell."""

    usage: str
    effect: str
    run: Callable[[str], str]  # from the rest of the line to the answer


class Shell:
    """A line is a command, or an entry of the trace, which is applied; the answer is text.

    Attributes:
        exploration: The states; the caller closes it.
        here: The shown state.
        commands: The commands by name.
    """

    def __init__(self, exploration: Exploration, objective: str | None = None) -> None:
        """Begin in the program's own state."""
        self.exploration = exploration
        self.goal = exploration.task.objective(objective)
        self.here = exploration.root
        self._path = [exploration.root]
        self._trace: Trace = ()
        self.commands = {
            one.usage.split()[0]: one
            for one in (
                Command("legal [TEXT]", "list the legal actions that contain a text", self._legal),
                Command("undo [STEPS]", "go back; by default one step", self._undo),
                Command("diff [start]", "show what the last step changed, or all steps", self._diff),
                Command("costs", "measure the state, beside the baselines", self._costs),
                Command("observe NAME", "show an observation", self._observe),
                Command("trace", "show the steps, and another tool's command for them", self._show_trace),
                Command("search [SECONDS]", "search from here, and go to the best state", self._search),
                Command("minimize", "leave out the steps that do not matter", self._minimize),
                Command("validate", "replay the state in new processes, and compare outputs", self._validate),
                Command("save FILE", "write the state; .jsonl is a result for burnish replay", self._save),
                Command("help", "show the commands", self._help),
                Command("quit", "end", self._quit),
            )
        }

    def run(self, line: str) -> str:
        """Run a line, and return its answer.

        Raises:
            BurnishError: the line cannot be run; the state is unchanged.
            EOFError: the line ends the shell.
        """
        word, _, rest = line.strip().partition(" ")
        if not word:
            return ""
        if command := self.commands.get(word):
            return command.run(rest.strip())
        return self._apply(line.strip())

    def title(self) -> str:
        """Return the program, the task and the state's cost."""
        cost = quantity_text(self.exploration.cost(self.here, self.goal.name), self.goal.unit)
        return f"{self.exploration.program.name}  {self.exploration.task.id}  {cost}"

    def completions(self, line: str) -> Iterator[str]:
        """Yield the lines that begin with this one: commands, then entries; sites without their actions."""
        word, space, rest = line.partition(" ")
        if not space:
            yield from (name for name in self.commands if name.startswith(word))
        elif word == "observe":
            names = self.exploration.task.observations
            yield from (f"observe {name}" for name in names if name.startswith(rest))
        site, _ = split_entry(line)
        entries = [one.entry for one in self.exploration.legal(self.here, site)]
        sites = () if site else (f"{name}: " for name in self.exploration.sites(self.here) if name)
        yield from (text for text in (*entries, *sites) if text.startswith(line))

    def _apply(self, text: str) -> str:
        try:
            edge = self.exploration.apply(self.here, text)
        except UnknownName as error:
            raise InputError(f"{error}; 'legal TEXT' lists actions, 'help' the commands") from None
        if edge.target is None:
            return f"the compiler failed: {edge.error}; the state is unchanged"
        before = self.exploration.cost(self.here, self.goal.name)
        self._go(self.exploration.states[edge.target], (*self._trace, text))
        return "nothing changed" if edge.idle else self._change(before)

    def _change(self, before: float) -> str:
        after = self.exploration.cost(self.here, self.goal.name)
        first, second = amount_text(before, self.goal.unit), quantity_text(after, self.goal.unit)
        return f"{first} -> {second} ({after / before - 1:+.1%})"

    def _go(self, state: State, trace: Trace) -> None:
        self._path = [*self._path[: len(trace)], state]
        self.here, self._trace = state, trace

    def _go_to(self, trace: Trace) -> str:
        """Go to the state after a trace, which may differ from this one at any step."""
        before = self.exploration.cost(self.here, self.goal.name)
        self._path = [self.exploration.state(trace[:length]) for length in range(len(trace) + 1)]
        self.here, self._trace = self._path[-1], trace
        return "\n".join([*trace, self._change(before)])

    def _legal(self, text: str) -> str:
        found = [one.entry for one in self.exploration.legal(self.here) if text in one.entry]
        more = len(found) - MOST_LEGAL
        rest = [f"... and {more} more; 'legal TEXT' lists those that contain a text"] if more > 0 else []
        return "\n".join([*found[:MOST_LEGAL], *rest]) or f"no legal action contains {text!r}"

    def _undo(self, steps: str) -> str:
        count = int(steps) if steps.isdecimal() else 0 if steps else 1
        if not 1 <= count <= len(self._trace):
            raise InputError(
                f"undo {steps}: expected a number from 1 to {len(self._trace)}, the steps so far"
            )
        before = self.exploration.cost(self.here, self.goal.name)
        self._go(self._path[len(self._trace) - count], self._trace[: len(self._trace) - count])
        return self._change(before)

    def _diff(self, since: str) -> str:
        if since not in ("", "start"):
            raise InputError(f"diff {since}: expected nothing, or start")
        if not (listings := self.exploration.task.listings):
            raise InputError(f"{self.exploration.task.id} has no text observation to compare states by")
        listing = listings[0]
        first = self.exploration.root if since or not self._trace else self._path[-2]
        texts = [str(self.exploration.observe(state, listing.observation)) for state in (first, self.here)]
        lines: list[str] = []
        for section in changes(texts[0], texts[1], listing).sections:
            lines.append(f"{section.title}: +{section.added} -{section.removed}")
            for line in section.lines:
                sign = {"same": "  ", "removed": "- ", "added": "+ "}[line.kind]
                lines.append(f"{sign}{line.text}" if line.text else f"  ... {line.stands_for} unchanged")
        return "\n".join(lines) or "nothing changed"

    def _costs(self, _: str) -> str:
        costs = self.exploration.costs(self.here) | {
            self.goal.name: self.exploration.cost(self.here, self.goal.name)
        }
        baselines = self.exploration.baselines(self.goal.name)
        task, unit = self.exploration.task, self.goal.unit
        lines = [f"{name}: {amount_text(cost, task.objective(name).unit)}" for name, cost in costs.items()]
        against = [f"{task.label(name)} {amount_text(cost, unit)}" for name, cost in baselines.items()]
        return "\n".join([*lines, f"{self.goal.name} of {', '.join(against)}"])

    def _observe(self, name: str) -> str:
        if not name:
            names = " ".join(self.exploration.task.observations)
            raise InputError(f"observe: expected an observation: {names}")
        observation = self.exploration.task.observation(name)
        return observed_text(observation, self.exploration.observe(self.here, observation.name))

    def _show_trace(self, _: str) -> str:
        command = self.exploration.commandline(State(self.here.digest, self._trace))
        return "\n".join([*self._trace, *([command] if command else [])]) or "no step was applied"

    def _search(self, text: str) -> str:
        try:
            seconds = float(text or SEARCH_SECONDS)
            budget = Budget(seconds)
        except ValueError:
            raise InputError(f"search {text}: expected a number of seconds") from None
        best = self.exploration.search(self.here, budget, objective=self.goal.name)
        if best.digest == self.here.digest:
            return "nothing better was found"
        added = best.trace[len(self.here.trace) :]
        return self._go_to((*self._trace, *added))

    def _minimize(self, _: str) -> str:
        return self._go_to(self.exploration.minimize(self._trace, self.goal.name).trace)

    def _validate(self, _: str) -> str:
        found = self.exploration.validate(State(self.here.digest, self._trace))
        return "\n".join([*found.checks, *([f"failed: {found.failure}"] if found.failure else [])])

    def _save(self, name: str) -> str:
        words = shlex.split(name)
        if len(words) != 1:
            raise InputError("save: expected a file, such as save better.o")
        file = Path(words[0])
        state = State(self.here.digest, self._trace)
        if file.suffix == ".jsonl":
            content = self.exploration.result(state, self.goal.name).to_json().encode() + b"\n"
        else:
            content = self.exploration.emitted(state, file.suffix)
        write_atomically(file, content)
        return f"wrote {file}, {len(content)} bytes"

    def _help(self, _: str) -> str:
        width = max(len(one.usage) for one in self.commands.values())
        lines = [f"{one.usage:{width}}  {one.effect}" for one in self.commands.values()]
        return "\n".join(["[SITE: ]ACTION".ljust(width) + "  apply an action", *lines])

    def _quit(self, _: str) -> str:
        raise EOFError
