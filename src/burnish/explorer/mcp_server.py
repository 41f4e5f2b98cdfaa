"""Explorations for language models: tools of a server for the Model Context Protocol."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from burnish.core.argument_checks import whole_number_in
from burnish.core.errors import BurnishError, CompileError, InputError, MissingTool, UnknownName, install
from burnish.core.recent import Recent
from burnish.core.registry import load_task, task_names
from burnish.core.texts import observed_text
from burnish.core.trace import WHOLE_PROGRAM
from burnish.explorer.exploration import Exploration, State
from burnish.explorer.folders import Folders, load
from burnish.files import write_atomically
from burnish.search import DEFAULT, Budget
from burnish.workers import landlock
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
ARGUMENTS = re.compile(r"-[IDU].+|-std=.+")  # a model's own, which load no code and name no output
OPTIONS = (
    "If its build gives options, give them, too: arguments=['-Iinclude', '-DNAME']; generate headers first."
)
RULES = """Optimize programs with real compilers. First call open_program; it returns the first state.
Then call legal_actions, and apply one of its entries: the answer has the new state and its costs.
Lower costs are better; call measure for objectives that an answer leaves out.
Any earlier state may be used again. A search may begin in any state."""

F = TypeVar("F", bound=Callable[..., Any])
Answer = dict[str, Any]


def serve(folders: Sequence[Path], *, confined: bool = True) -> None:
    """Answer on standard input and output until the client ends.

    If `confined`, the kernel keeps this process and its compilers from all other files, for good.

    Raises:
        InputError: a folder does not exist.
        MissingTool: the kernel cannot do this.
    """
    allowed = Folders(folders)
    with tempfile.TemporaryDirectory(prefix="burnish-", ignore_cleanup_errors=True) as scratch:
        if confined:
            try:
                landlock.restrict(allowed.folders, Path(scratch))
            except MissingTool as error:
                raise MissingTool(f"{error}; or add --unconfined if you trust all programs") from None
        with closing(Tools(allowed)) as tools:
            make_server(tools).run("stdio")


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


class _Opened:
    """An open program. It is closed when it has no place left, and no call uses it."""

    def __init__(self, exploration: Exploration, source: tuple[str, ...]) -> None:
        self.exploration = exploration
        self.source = source  # the program's file, and its compiler's arguments
        self.calls = 0  # that use it now
        self.is_dropped = False

    def drop(self) -> None:
        """Close the exploration now, or after the last call."""
        self.is_dropped = True
        self.close_if_unused()

    def close_if_unused(self) -> None:
        """Close the exploration if it was dropped and no call uses it."""
        if self.is_dropped and not self.calls:
            self.exploration.close()


class Tools:
    """The tools of a server. Programs and states have ids; an unknown id is an error that says what to do."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._lock = threading.Lock()
        self._opened: Recent[str, _Opened] = Recent(OPEN, _Opened.drop)
        self._count = 0  # programs that were ever opened

    def close(self) -> None:
        """End all compiler processes."""
        for number in range(1, self._count + 1):
            if opened := self._opened.get(f"program{number}"):
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

    def open_program(self, path: str, task: str, arguments: Sequence[str] = ()) -> Answer:
        """Open a file of an allowed folder in a task; return the program's id, its first state and costs.

        `arguments` are options of the file's compiler: -IFOLDER, -DNAME=VALUE, -UNAME, -std=STANDARD.
        Relative folders begin in the first allowed one.
        """
        file = self._folders.to_read(path)
        for word in arguments:
            if not ARGUMENTS.fullmatch(word):
                raise InputError(f"argument {word!r}: expected -IFOLDER, -DNAME=VALUE, -UNAME, -std=STANDARD")
        begin = self._folders.folders[0]  # of relative folders, here and when a result is replayed
        arguments = [f"-I{begin / word[2:]}" if word.startswith("-I") else word for word in arguments]
        opened_task = load_task(task)
        try:
            program = load(opened_task.source(), file, arguments, LIMITS)
        except CompileError as error:
            raise CompileError(f"{error}\n{OPTIONS}") from None
        exploration = Exploration(opened_task, program, limits=LIMITS)
        with self._lock:
            self._count += 1
            name = f"program{self._count}"
            self._opened.put(name, _Opened(exploration, (str(file), *arguments)))
        goal = opened_task.objective().name
        with self._using(name):
            return {
                "program": name,
                **_described(exploration, exploration.root),
                "baselines": {goal: exploration.baselines(goal)},
            }

    def legal_actions(
        self, program: str, state: str, site: str = WHOLE_PROGRAM, contains: str = "", page: int = 1
    ) -> Answer:
        """List the sites of a state and the entries that are legal at one site, a page at a time.

        An empty site is the whole program. `contains` filters the entries by text. `titles` has the sites'
        names as people read them, if these are others.
        """
        whole_number_in("page", page, 1)
        with self._using(program, state) as (opened, found):
            sites = opened.exploration.sites(found)
            if site and site not in sites:
                raise UnknownName.among("site", site, sites)
            legal = [one for one in opened.exploration.legal(found, site) if contains in one.entry]
            task = opened.exploration.task
        shown = legal[PAGE * (page - 1) : PAGE * page]
        named = [name for name in sites if name][:PAGE]
        return {
            "sites": named,
            "titles": {name: title for name in named if (title := task.site_title(name)) != name},
            "site_count": sum(map(bool, sites)),
            "entries": [
                {"entry": one.entry, "effect": task.describe(task.actions[one.index])} for one in shown
            ],
            "entry_count": len(legal),
            "pages": -(-len(legal) // PAGE),
        }

    def apply(self, program: str, state: str, entry: str) -> Answer:
        """Apply an entry of legal_actions in a state; return the new state, or the compiler's failure."""
        with self._using(program, state) as (opened, found):
            exploration = opened.exploration
            before = exploration.costs(found)
            edge = exploration.apply(found, entry)
            if edge.target is None:
                return {"failed": edge.error, "next": "the state is unchanged; apply another entry"}
            after = _described(exploration, exploration.states[edge.target])
        changes = {name: cost - before[name] for name, cost in after["costs"].items() if name in before}
        return {**after, "changed": not edge.idle, "cost_changes": changes, "seconds": edge.seconds}

    def observe(
        self, program: str, state: str, observation: str = "", since: str = "", site: str = ""
    ) -> str:
        """Return an observation as text; with the state `since`, only the changes from that state.

        By default it is the text in which people compare states. `site` selects its part, such as a function.
        """
        with self._using(program, state) as (opened, found):
            exploration = opened.exploration
            listing = next(iter(exploration.task.listings), None)
            default = listing.observation if listing else None
            what = exploration.task.observation(observation or default)
            old = exploration.observe(_known(exploration, since), what.name) if since else None
            seen = exploration.observe(found, what.name)
            return observed_text(what, seen, old, listing=listing, site=site)

    def measure(self, program: str, state: str, objective: str) -> Answer:
        """Measure a state's cost by an objective, and the baselines' costs."""
        with self._using(program, state) as (opened, found):
            cost = opened.exploration.cost(found, objective)
            return {"cost": cost, "baselines": opened.exploration.baselines(objective)}

    def search(
        self,
        program: str,
        state: str,
        seconds: float = 10.0,
        evaluations: int | None = None,
        objective: str = "",
        method: str = DEFAULT,
    ) -> Answer:
        """Search from a state within seconds and evaluations; return the best state and its cost."""
        if not 0 < seconds <= MOST_SECONDS:
            raise InputError(f"seconds={seconds}: expected a number above 0, at most {MOST_SECONDS:g}")
        if evaluations is not None and not 1 <= evaluations <= MOST_EVALUATIONS:
            raise InputError(f"evaluations={evaluations}: expected a number from 1 to {MOST_EVALUATIONS}")
        budget = Budget(seconds, evaluations)
        with self._using(program, state) as (opened, found):
            exploration = opened.exploration
            goal = exploration.task.objective(objective or None).name
            best = exploration.search(found, budget, objective=goal, method=method)
            return {
                **_described(exploration, best),
                "objective": goal,
                "cost": exploration.cost(best, goal),
                "cost_before": exploration.cost(found, goal),
                "states_known": len(exploration.states),
            }

    def validate(self, program: str, state: str) -> Answer:
        """Replay a state in new processes, and compare the program's behaviour if it can be run."""
        with self._using(program, state) as (opened, found):
            validation = opened.exploration.validate(found)
        return {
            "failure": str(validation.failure or ""),
            "checks": list(validation.checks),
            "behaviour_compared": validation.compared,
        }

    def save(self, program: str, state: str, path: str) -> Answer:
        """Write a state to a new file of an allowed folder; the suffix is the format, .jsonl the result."""
        file = self._folders.to_write(path)
        with self._using(program, state) as (opened, found):
            exploration = opened.exploration
            if file.suffix == ".jsonl":
                row = exploration.result(found, source=opened.source)
                data = {file: row.to_json().encode() + b"\n"}
            else:
                beside = exploration.task.files.written_beside.get(file.suffix, ())
                suffixes = (file.suffix, *beside)
                data = {file.with_suffix(one): exploration.emitted(found, one) for one in suffixes}
        for other in data:
            self._folders.to_write(str(other))
        for other, content in data.items():
            write_atomically(other, content)
        return {"written": {str(other): len(content) for other, content in data.items()}}

    @contextmanager
    def _using(self, program: str, digest: str = "") -> Iterator[tuple[_Opened, State]]:
        """Yield an open program and one of its states, by default the first; it stays open meanwhile."""
        with self._lock:
            opened = self._opened.get(program)
            if opened is None:
                raise InputError(
                    f"no open program {program!r}; open_program returns an id; the last {OPEN} are valid"
                )
            opened.calls += 1
        try:
            yield opened, _known(opened.exploration, digest) if digest else opened.exploration.root
        finally:
            with self._lock:
                opened.calls -= 1
                opened.close_if_unused()


def _known(exploration: Exploration, digest: str) -> State:
    if digest not in exploration.states:
        raise UnknownName.among("state", digest, exploration.states)
    return exploration.states[digest]


def _described(exploration: Exploration, state: State) -> Answer:
    return {
        "state": state.digest,
        "trace": list(state.trace),
        "costs": exploration.costs(state),
        "command": exploration.commandline(state),
    }
