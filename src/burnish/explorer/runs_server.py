"""The server of finished runs: a training's log as it grows, or results, whose programs it opens.

A program is explored below `live/NUMBER/`, by the same page and paths as those of `burnish explore PROGRAM`.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.types import Receive, Scope, Send

from burnish.core.errors import InputError
from burnish.explorer.runs import Entry, LogReader, ResultFiles, TrainingRun, details, episode, summary
from burnish.explorer.server import PAGE, SECURITY, answered, explorer_routes, file_of_page, guarded
from burnish.explorer.state_tree import StateTree
from burnish.learning.training.track import LARGE, shown

Row = dict[str, Any]  # a line of a training's log
LOOK_SECONDS = 0.5  # between two looks at the files; a training's iteration takes longer


class OpenedProgram:
    """The one program that is open in the explorer: that of the result which was opened last."""

    def __init__(self, open_tree: Callable[[Entry], StateTree]) -> None:
        self._open_tree = open_tree
        self._lock = threading.Lock()
        self._tree: StateTree | None = None
        self._app = Router()
        self._program: object = None
        self.number = 0  # of programs that were opened

    def show(self, entry: Entry) -> int:
        """Open an entry's program, unless it is open; return its number. The program before is closed.

        Raises:
            BurnishError: the program cannot be opened; the program before stays open.
        """
        with self._lock:
            program = (entry.found.digest, entry.found.program, entry.found.objective, entry.task().options)
            if program != self._program:
                tree = self._open_tree(entry)
                self._close()
                self._tree, self._app, self._program = tree, Router(explorer_routes(tree)), program
                self.number += 1
            return self.number

    def close(self) -> None:
        """End the program's search and its compiler."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._tree:
            self._tree.close()
        self._tree, self._program = None, None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to the open program; pages of those before learn that theirs is closed."""
        if self._tree and scope["path_params"].get("number") == self.number:
            return await self._app(scope, receive, send)
        closed = "this program is closed, since another one was opened; open it again from the results"
        return await PlainTextResponse(closed, 410, SECURITY)(scope, receive, send)


def make_runs_app(run: TrainingRun | ResultFiles, opened: OpenedProgram, token: str, port: int) -> Starlette:
    """Return the application of a run; it reads the run's files and the page's, and writes nothing.

    Args:
        run: The run.
        opened: Opens programs of results; the caller closes it.
        token: See `guarded`.
        port: See `guarded`.
    """
    pages = _Training(run, opened) if isinstance(run, TrainingRun) else _Results(run, opened)
    routes: list[BaseRoute] = [
        Route("/", _page),
        Route("/{name}.{suffix:str}", file_of_page),
        *pages.routes(),
        Mount("/live/{number:int}", app=opened),
    ]
    return guarded(routes, token, port)


class _Training:
    def __init__(self, run: TrainingRun, opened: OpenedProgram) -> None:
        self._run, self._opened = run, opened

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/api/run", answered(self.run), methods=["POST"]),
            Route("/api/open", answered(self.open), methods=["POST"]),
            Route("/api/events", self.events),
        ]

    def open(self, body: dict[str, Any]) -> Any:
        return _Results(self._run.episodes, self._opened).open(body)

    def run(self, body: dict[str, Any]) -> Any:
        folder = self._run.folder.resolve()
        return {
            "kind": "training",
            "name": folder.name,
            "config": self._run.config(),
            "card": self._run.card(),
            "large": LARGE,
            "episodes": list(map(episode, self._run.episodes.entries()[0])),
        }

    def events(self, request: Request) -> Response:
        """Send the log's lines, then new ones as they are written, until the page is closed."""
        return StreamingResponse(self._news(request), media_type="text/event-stream", headers=SECURITY)

    async def _news(self, request: Request) -> AsyncIterator[str]:
        log, rows, names = LogReader(self._run.log), list[Row](), list[str]()
        stamp: object = None  # so the first message makes the page read the files again
        named = 0  # lines of the log when the names were chosen

        def look() -> dict[str, Any] | None:
            nonlocal rows, names, named, stamp
            again, new = log.news()
            if again:
                rows, named = [], 0
            if new:  # a resumed training writes its last lines anew
                begin = new[0]["iteration"]
                rows = [row for row in rows if row["iteration"] < begin] + new
            changed, stamp = self._run.stamp != stamp, self._run.stamp
            if not (again or new or changed):
                return None
            if len(rows) > 1.1 * named:  # choosing takes a second for long logs
                names, named = shown(rows), len(rows)
            return {"again": again, "rows": new, "shown": names, "changed": changed}

        while not (request.app.state.ends() or await request.is_disconnected()):
            if news := await run_in_threadpool(look):
                yield f"data: {json.dumps(news)}\n\n"
            await asyncio.sleep(LOOK_SECONDS)


class _Results:
    def __init__(self, run: ResultFiles, opened: OpenedProgram) -> None:
        self._run, self._opened = run, opened
        self._stamp: object = None
        self._entries: dict[str, Entry] = {}
        self._notes: list[str] = []

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/api/run", answered(self.run), methods=["POST"]),
            Route("/api/result", answered(self.result), methods=["POST"]),
            Route("/api/open", answered(self.open), methods=["POST"]),
            Route("/api/events", self.events),
            Route("/picture/{number:int}", self.picture),
        ]

    def run(self, body: dict[str, Any]) -> Any:
        entries = self._read().values()
        return {
            "kind": "results",
            "name": self._run.path.resolve().name,
            "files": len(self._run.files),
            "rows": list(map(summary, entries)),
            "notes": self._notes,
            "pictures": [path.name for path in self._run.pictures],
        }

    def result(self, body: dict[str, Any]) -> Any:
        entry = self._entry(body)
        name = Path(entry.found.program).name
        command = (
            f"burnish explore {shlex.quote(str(self._run.path))} --program {shlex.quote(f'PATH/{name}')}"
        )
        return details(entry) | {"command": command}

    def open(self, body: dict[str, Any]) -> Any:
        entry = self._entry(body)
        return {"address": f"live/{self._opened.show(entry)}/", "trace": entry.found.trace}

    def picture(self, request: Request) -> Response:
        """Return a picture of the folder; no script in it runs, by the policy of its headers."""
        number: int = request.path_params["number"]
        if number >= len(self._run.pictures):
            return PlainTextResponse(f"the run has {len(self._run.pictures)} pictures", 404, SECURITY)
        return FileResponse(self._run.pictures[number], headers=SECURITY | {"Content-Security-Policy": INERT})

    def events(self, request: Request) -> Response:
        """Send a message now, and whenever a file has changed, until the page is closed."""
        return StreamingResponse(self._news(request), media_type="text/event-stream", headers=SECURITY)

    async def _news(self, request: Request) -> AsyncIterator[str]:
        sent: object = None
        while not (request.app.state.ends() or await request.is_disconnected()):
            if (stamp := self._run.stamp) != sent:
                sent = stamp
                yield "data: {}\n\n"
            await asyncio.sleep(LOOK_SECONDS)

    def _read(self) -> dict[str, Entry]:
        if (stamp := self._run.stamp) != self._stamp:
            found, notes = self._run.entries()
            self._entries, self._notes, self._stamp = {one.key: one for one in found}, notes, stamp
        return self._entries

    def _entry(self, body: dict[str, Any]) -> Entry:
        found = self._read().get(str(body.get("key")))
        if found is None:
            raise InputError(f"result {body.get('key')!r:.40} is unknown; reload the page")
        return found


INERT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"  # pictures have styles of their own


def _page(request: Request) -> Response:
    return Response((PAGE / "runs.html").read_bytes(), media_type="text/html", headers=SECURITY)
