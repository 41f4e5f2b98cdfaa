"""Explorations for language models: tools of a server for the Model Context Protocol."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from burnish.core.argument_checks import whole_number_in
from burnish.core.errors import BurnishError, InputError, MissingTool, UnknownName, install
from burnish.core.recent import Recent
from burnish.core.registry import load_task, task_names
from burnish.core.trace import WHOLE_PROGRAM
from burnish.explorer.exploration import Exploration, State
from burnish.explorer.folders import Folders
from burnish.explorer.texts import observed_text
from burnish.files import write_atomically
from burnish.search import DEFAULT, Budget
from burnish.workers.worker import GIB, Limits

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError as error:
    raise MissingTool(f"the package mcp is missing; install it: {install('agents')}") from error

OPEN = 4  # most open programs; each has a worker process
MOST_SECONDS = 300.0  # of one search
MOST_EVALUATIONS = 10_000  # of one search
PAGE = 50  # legal actions in an answer
LIMITS = Limits(deadline_seconds=30.0, memory_bytes=2 * GIB)
RULES = """Optimize programs with real compilers. First call open_program; it returns the first state.
Then call legal_actions, and apply one of its entries: the answer has the new state and its costs.
Lower costs are better. Any earlier state may be used again. A search may begin in any state."""

F = TypeVar("F", bound=Callable[..., Any])
Answer = dict[str, Any]


def serve(folders: Sequence[Path]) -> None:
    """Answer on standard input and output until the client ends.

    Raises:
        InputError: a folder does not exist.
    """
    tools = Tools(Folders(folders))
    try:
        make_server(tools).run("stdio")
    finally:
        tools.close()


def make_server(tools: Tools) -> MCPServer[Any]:
    """Return a server with all tools."""
    server: MCPServer[Any] = MCPServer("burnish", instructions=RULES, log_level="ERROR")
    for tool in (
        tools.list_tasks,
        tools.open_program,
        tools.legal_actions,
        tools.apply,
        tools.observe,
        tools.measure,
        tools.search,
        tools.validate,
        tools.save,
    ):
        server.add_tool(_told(tool))
    return server


def _told(tool: F) -> Callable[..., Any]:
    """Return a tool whose errors are messages to the model."""

    @wraps(tool)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return tool(*arguments, **named)
        except BurnishError as error:
            raise ToolError(str(error)) from None

    return call


@dataclass(frozen=True)
class _Opened:
    exploration: Exploration
    source: str  # the program's file


class Tools:
    """The tools of a server. Programs and states have ids; an unknown id is an error that says what to do."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._lock = threading.Lock()
        self._opened: Recent[str, _Opened] = Recent(OPEN, lambda old: old.exploration.close())
        self._ids: list[str] = []

    def close(self) -> None:
        """End all compiler processes."""
        for name in self._ids:
            if opened := self._opened.get(name):
                opened.exploration.close()

    def list_tasks(self) -> list[Answer]:
        """List the tasks: their programs, objectives and observations."""
        tasks = [load_task(name) for name in task_names()]
        return [
            {
                "task": task.name,
                "programs": task.source().kinds,
                "objectives": {item.name: item.description for item in task.objectives.values()},
                "observations": {item.name: item.description for item in task.observations.values()},
                "file_formats": list(task.files.emitters),
            }
            for task in tasks
        ]

    def open_program(self, path: str, task: str) -> Answer:
        """Open a file of an allowed folder in a task; return the program's id, its first state and costs."""
        file = str(self._folders.to_read(path))
        opened_task = load_task(task)
        loaded = opened_task.source().load(file)
        exploration = Exploration(opened_task, loaded.program, limits=LIMITS)
        with self._lock:
            name = f"program{len(self._ids) + 1}"
            self._ids.append(name)
            self._opened.put(name, _Opened(exploration, file))
        goal = opened_task.objective().name
        return {
            "program": name,
            **_described(exploration, exploration.root),
            "baselines": {goal: exploration.baselines(goal)},
        }

    def legal_actions(
        self, program: str, state: str, site: str = WHOLE_PROGRAM, contains: str = "", page: int = 1
    ) -> Answer:
        """List the sites of a state and the entries that are legal at one site, a page at a time.

        An empty site is the whole program. `contains` filters the entries by text.
        """
        whole_number_in("page", page, 1)
        exploration, found = self._state(program, state)
        sites = exploration.sites(found)
        legal = [one for one in exploration.legal(found, site) if contains in one.entry]
        return {
            "sites": [name for name in sites if name][:PAGE],
            "site_count": sum(map(bool, sites)),
            "entries": [one.entry for one in legal[PAGE * (page - 1) : PAGE * page]],
            "entry_count": len(legal),
            "pages": -(-len(legal) // PAGE),
        }

    def apply(self, program: str, state: str, entry: str) -> Answer:
        """Apply an entry of legal_actions in a state; return the new state, or the compiler's failure."""
        exploration, found = self._state(program, state)
        before = exploration.costs(found)
        edge = exploration.apply(found, entry)
        if edge.target is None:
            return {"failed": edge.error, "next": "the state is unchanged; apply another entry"}
        after = _described(exploration, exploration.states[edge.target])
        changes = {name: cost - before[name] for name, cost in after["costs"].items() if name in before}
        return {**after, "changed": not edge.idle, "cost_changes": changes, "seconds": edge.seconds}

    def observe(self, program: str, state: str, observation: str = "", since: str = "") -> str:
        """Return an observation as text; with the state `since`, only the changes from that state."""
        exploration, found = self._state(program, state)
        what = exploration.task.observation(observation or None)
        old = self._state(program, since)[1] if since else None
        before = None if old is None else exploration.observe(old, what.name)
        return observed_text(what, exploration.observe(found, what.name), before)

    def measure(self, program: str, state: str, objective: str) -> Answer:
        """Measure a state's cost by an objective, and the baselines' costs."""
        exploration, found = self._state(program, state)
        return {"cost": exploration.cost(found, objective), "baselines": exploration.baselines(objective)}

    def search(
        self,
        program: str,
        state: str,
        seconds: float = 10.0,
        evaluations: int | None = None,
        objective: str = "",
        method: str = DEFAULT,
    ) -> Answer:
        """Search from a state within seconds and evaluations; return the best state."""
        if not 0 < seconds <= MOST_SECONDS:
            raise InputError(f"seconds={seconds}: expected a number above 0, at most {MOST_SECONDS:g}")
        if evaluations is not None and not 1 <= evaluations <= MOST_EVALUATIONS:
            raise InputError(f"evaluations={evaluations}: expected a number from 1 to {MOST_EVALUATIONS}")
        exploration, found = self._state(program, state)
        budget = Budget(seconds, evaluations)
        best = exploration.search(found, budget, objective=objective or None, method=method)
        return {**_described(exploration, best), "states_known": len(exploration.states)}

    def validate(self, program: str, state: str) -> Answer:
        """Replay a state in new processes, and compare the program's behaviour if it can be run."""
        exploration, found = self._state(program, state)
        validation = exploration.validate(found)
        return {
            "failure": str(validation.failure or ""),
            "checks": list(validation.checks),
            "behaviour_compared": validation.compared,
        }

    def save(self, program: str, state: str, path: str) -> Answer:
        """Write a state to a new file of an allowed folder; the suffix is the format, .jsonl the result."""
        exploration, found = self._state(program, state)
        file = self._folders.to_write(path)
        if file.suffix == ".jsonl":
            row = exploration.result(found, source=(self._at(program).source,))
            data = {file: row.to_json().encode() + b"\n"}
        else:
            beside = exploration.task.files.written_beside.get(file.suffix, ())
            data = {file.with_suffix(one): exploration.emitted(found, one) for one in (file.suffix, *beside)}
        for other in data:
            self._folders.to_write(str(other))
        for other, content in data.items():
            write_atomically(other, content)
        return {"written": {str(other): len(content) for other, content in data.items()}}

    def _at(self, program: str) -> _Opened:
        with self._lock:
            opened = self._opened.get(program)
        if opened is None:
            raise InputError(
                f"no open program {program!r}; open_program returns an id; the last {OPEN} are valid"
            )
        return opened

    def _state(self, program: str, digest: str) -> tuple[Exploration, State]:
        exploration = self._at(program).exploration
        if digest not in exploration.states:
            raise UnknownName.among("state", digest, exploration.states)
        return exploration, exploration.states[digest]


def _described(exploration: Exploration, state: State) -> Answer:
    return {
        "state": state.digest,
        "trace": list(state.trace),
        "costs": exploration.costs(state),
        "command": exploration.commandline(state),
    }
