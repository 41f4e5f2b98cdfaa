"""The server of the page: JSON over a StateTree, for this machine and one token only.

The token is the first part of each path, so the page's own addresses are relative.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from burnish.core.errors import BurnishError, CompilerCrash, InputError, NotMeasurable
from burnish.core.listing import whole
from burnish.core.trace import WHOLE_PROGRAM, Trace
from burnish.explorer.changes import Changes
from burnish.explorer.exports import suffixes
from burnish.explorer.features import counted
from burnish.explorer.pictures import as_json as as_picture
from burnish.explorer.state_tree import StateTree, as_json, edge_as_json, finite

Answer = Callable[[dict[str, Any]], Any]
"""A function of a request's JSON object; returns what becomes JSON, or bytes."""
PAGE = Path(__file__).parent / "page"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
HOST = "127.0.0.1"
POLL_SECONDS = 0.2  # between two looks for new states; people see no shorter delay
OPENED = 2  # changed functions whose lines travel at once: those that the page opens
MOST_BYTES = 1 << 20  # of a request: the longest traces have a hundredth
SECURITY = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address has the token
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; "
    "base-uri 'none'",
}


class Guard:
    """Refuses requests without the token, and those that another site's page has made."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app = app
        self._token = token.encode()
        self._hosts = {f"{HOST}:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        request = Request(scope)
        refusal = self._refusal(request)
        if refusal:
            return await PlainTextResponse(refusal, 403, SECURITY)(scope, receive, send)
        return await self.app(scope, receive, send)

    def _refusal(self, request: Request) -> str:
        """Return the reason to refuse; "" for none. A foreign Host is a rebound name (DNS rebinding)."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if host not in self._hosts:
            return f"Host is {host!r}; expected {HOST} with the port of burnish explore"
        if origin is not None and origin not in {f"http://{known}" for known in self._hosts}:
            return f"Origin is {origin!r}: another site's page may not use burnish explore"
        given = request.url.path[1:].partition("/")[0].encode()
        if not hmac.compare_digest(given, self._token):
            return "the token is missing or wrong; open the address that burnish explore printed"
        return ""


def make_app(tree: StateTree, token: str, port: int) -> Starlette:
    """Return the application; it reads nothing but the page's own files, and writes nothing.

    Args:
        tree: The states; the caller ends its search and closes its exploration.
        token: See `guarded`.
        port: See `guarded`.
    """
    return guarded(explorer_routes(tree), token, port)


def guarded(routes: Sequence[BaseRoute], token: str, port: int) -> Starlette:
    """Return an application that answers this machine's requests with the token.

    `app.state.ends` returns whether the server ends: the streams to open pages then end, too.

    Args:
        routes: The paths behind the token.
        token: Every request must have it.
        port: The port of the server, which a request's Host must name.
    """
    app = Starlette(
        routes=[Mount(f"/{token}", routes=routes)], middleware=[Middleware(Guard, token=token, port=port)]
    )
    app.state.ends = lambda: False
    return app


def explorer_routes(tree: StateTree) -> list[BaseRoute]:
    """Return the paths of the explorer of one program."""
    pages = _Endpoints(tree)
    return [
        Route("/", file_of_page),
        Route("/{name}.{suffix:str}", file_of_page),
        Route("/api/program", pages.program),
        *(Route(f"/api/{name}", answered(answer), methods=["POST"]) for name, answer in pages.answers()),
        Route("/api/events", pages.events),
    ]


class _Endpoints:
    def __init__(self, tree: StateTree) -> None:
        self._tree = tree

    def answers(self) -> Iterator[tuple[str, Answer]]:
        """Yield the names of the requests with a JSON object, and the functions that answer them."""
        yield "baselines", self.baselines  # beside the program, because they take longer than all else
        yield "state", self.state
        yield "actions", self.actions
        yield "predictions", self.predictions
        yield "changes", self.changes
        yield "counts", self.counts  # beside the changes, because they take longer
        yield "graph", self.graph
        yield "bytes", self.site_bytes
        yield "features", self.features
        yield "exports", self.exports
        yield "file", self.file
        yield "minimize", self.minimize
        yield "try", self.try_all
        yield "search", self.search
        yield "stop", self.stop

    def program(self, request: Request) -> Response:
        task, goal = self._tree.exploration.task, self._tree.goal
        return JSONResponse(
            {
                "program": self._tree.exploration.program.name,
                "task": task.id,
                "objective": goal.name,
                "unit": goal.unit,
                "reference": task.label(task.reference),
                "exact": not goal.noisy,
                "policy": self._tree.predictor.name,
                "observations": counted(task),
                "files": suffixes(task),
                "bytes": self._tree.comparisons.objective_in_bytes is not None,
                "functions": any(one.sections is not whole for one in task.listings),
                "texts": [
                    {"name": one.observation, "label": one.label or one.observation} for one in task.listings
                ],
                "graphs": [
                    {"name": name, "by_section": one.by_section, "text": one.observation}
                    for name, one in task.shown.drawings.items()
                ],
            },
            headers=SECURITY,
        )

    def baselines(self, body: dict[str, Any]) -> Any:
        task, costs = self._tree.exploration.task, self._tree.baselines()
        return {
            "baselines": [{"label": task.label(name), "cost": cost} for name, cost in costs.items()],
            "reference_cost": costs.get(task.reference),
        }

    def state(self, body: dict[str, Any]) -> Any:
        trace = _trace(body)
        return as_json(self._tree.visit(trace)) | {"titles": self._tree.exploration.task.site_titles(trace)}

    def actions(self, body: dict[str, Any]) -> Any:
        found, title = (
            self._tree.actions(_trace(body), _text(body, "site")),
            self._tree.exploration.task.site_title,
        )
        return {
            "site": found.site,
            "sites": [{"name": name, "title": title(name)} for name in found.sites if name],
            "whole": WHOLE_PROGRAM in found.sites,
            "actions": [{"entry": one.entry, "site": one.site} for one in found.actions],
            "left_out": found.left_out,
        }

    def changes(self, body: dict[str, Any]) -> Any:
        """Return the changed sections, the first ones with their lines, or one section with its lines."""
        first, second = _trace(body, "since"), _trace(body)
        found = self._compared(body, OPENED)
        before, after = (
            self._tree.comparisons.site_costs(trace) if found.sections else {} for trace in (first, second)
        )
        sections = [
            {
                "name": change.name,
                "title": change.title,
                "kind": change.kind,
                "counts": [change.added, change.removed] if change.compared else None,
                "costs": [before.get(change.name), after.get(change.name)],
                "lines": change.lines if change.compared and place < OPENED else None,
            }
            for place, change in enumerate(found.sections)
        ]
        return {"sections": sections, "unchanged": found.unchanged, "hidden": found.hidden}

    def counts(self, body: dict[str, Any]) -> Any:
        """Return the numbers of added and removed lines by section, without those that are unknown."""
        found = self._compared(body).sections
        return {change.name: [change.added, change.removed] for change in found if change.compared}

    def _compared(self, body: dict[str, Any], most: int | None = None) -> Changes:
        return self._tree.comparisons.changes(
            _trace(body, "since"),
            _trace(body),
            _text(body, "text"),
            details=body.get("details") is True,
            library=body.get("library") is True,
            section=_text(body, "section") if "section" in body else None,
            most=most,
        )

    def graph(self, body: dict[str, Any]) -> Any:
        """Return the picture of a section, by default the first changed one, and all sections."""
        first, second, name = _trace(body, "since"), _trace(body), _text(body, "graph")
        library = body.get("library") is True
        drawing = self._tree.comparisons.drawing(name)
        sections = list[dict[str, str]]()
        section = _text(body, "section")
        if drawing.by_section:
            sections = self._tree.comparisons.sections(first, second, drawing.observation, library=library)
            if section not in {one["name"] for one in sections}:
                section = next((one["name"] for one in sections), "")
        picture = self._tree.comparisons.picture(first, second, name, section, library=library)
        return {"section": section, "sections": sections, "picture": as_picture(picture)}

    def site_bytes(self, body: dict[str, Any]) -> Any:
        """Return the functions' bytes before and after, and the program's; or a reason for none."""
        first, second = _trace(body, "since"), _trace(body)
        known, compared = self._tree.exploration, self._tree.comparisons
        goal = compared.objective_in_bytes
        if goal is None:
            return {"missing": f"{known.task.id} does not divide bytes among functions."}
        try:
            costs = [compared.site_costs(trace, goal.name) for trace in (first, second)]
            wholes = [known.cost(known.state(trace), goal.name) for trace in (first, second)]
        except NotMeasurable as error:
            return {"missing": f"This program has no {goal.name}: {error}."}
        if not all(costs):  # a staged task has them in some of its stages
            return {"missing": "The functions' bytes are unknown in one of these states."}
        hidden = set[str]() if body.get("library") is True else compared.library(first, second)
        names = [name for name in dict.fromkeys([*costs[1], *costs[0]]) if name not in hidden]
        return {
            "objective": goal.name,
            "description": goal.description,
            "whole": wholes,
            "hidden": len(hidden & {*costs[0], *costs[1]}),
            "functions": [
                {
                    "name": name,
                    "title": known.task.site_title(name),
                    "bytes": [costs[0].get(name), costs[1].get(name)],
                }
                for name in names
            ],
        }

    def predictions(self, body: dict[str, Any]) -> Any:
        """Answer with the policy's name, and its predictions by entry."""
        return asdict(self._tree.predictions(_trace(body), _text(body, "site")))

    def features(self, body: dict[str, Any]) -> Any:
        return self._tree.features(_trace(body, "since"), _trace(body), _text(body, "observation"))

    def exports(self, body: dict[str, Any]) -> Any:
        return self._tree.texts(_trace(body))

    def minimize(self, body: dict[str, Any]) -> Any:
        reduced = self._tree.minimize(_trace(body))
        return {"trace": reduced.trace, "minimal": reduced.minimal}

    def try_all(self, body: dict[str, Any]) -> Any:
        self._tree.start_trials(_trace(body), _trace(body, "entries"))
        return {}

    def search(self, body: dict[str, Any]) -> Any:
        self._tree.start_search(_trace(body))
        return {}

    def stop(self, body: dict[str, Any]) -> Any:
        work = {"search": self._tree.search, "trials": self._tree.trials}
        if (named := _text(body, "work")) not in work:
            raise InputError(f"work is {named!r}; expected one of {', '.join(work)}")
        work[named].stop()
        return {}

    def file(self, body: dict[str, Any]) -> bytes:
        return self._tree.file(_trace(body), _text(body, "suffix"))

    def events(self, request: Request) -> Response:
        """Send new states as server-sent events, until the page is closed."""
        return StreamingResponse(self._news(request), media_type="text/event-stream", headers=SECURITY)

    async def _news(self, request: Request) -> AsyncIterator[str]:
        states = edges = evaluated = 0
        last, tree = dict[str, object](), self._tree
        while not (request.app.state.ends() or await request.is_disconnected()):
            new_states, new_edges, costs = tree.log[states:], tree.edges()[edges:], tuple(tree.evaluated)
            now = {
                "searching": tree.search.running,
                "trying": tree.trials.running,
                "errors": [work.error for work in (tree.search, tree.trials) if work.error],
                "left_out": tree.left_out,
            }
            if new_states or new_edges or len(costs) != evaluated or now != last:
                states, edges = states + len(new_states), edges + len(new_edges)
                evaluated, last = len(costs), now
                news = now | {
                    "states": list(map(as_json, new_states)),
                    "titles": tree.exploration.task.site_titles(
                        one.trace[-1] for one in new_states if one.trace
                    ),
                    "edges": list(map(edge_as_json, new_edges)),
                    "evaluated": list(map(finite, costs)),
                }
                yield f"data: {json.dumps(news)}\n\n"
            await asyncio.sleep(POLL_SECONDS)


def file_of_page(request: Request) -> Response:
    """Return a file of the page; the page itself if the path names none."""
    named = request.path_params
    name = f"{named['name']}.{named['suffix']}" if "name" in named else "index.html"
    kind = KINDS.get(Path(name).suffix)
    path = PAGE / name
    if kind is None or path.parent != PAGE or not path.is_file():
        return PlainTextResponse(f"{name} is not a file of the page", 404, SECURITY)
    return Response(path.read_bytes(), media_type=kind, headers=SECURITY)


def answered(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that reads a JSON object, and answers with JSON or bytes; errors are JSON, too."""

    async def endpoint(request: Request) -> Response:
        try:
            body = await request.body()
            if len(body) > MOST_BYTES:
                raise InputError(f"the request has {len(body)} bytes; expected {MOST_BYTES} at most")
            read = json.loads(body or b"{}")
            if not isinstance(read, dict):
                raise InputError("the request is not a JSON object; reload the page")
            found = await run_in_threadpool(answer, read)
            if isinstance(found, bytes):
                return Response(found, media_type="application/octet-stream", headers=SECURITY)
            return JSONResponse(found, headers=SECURITY)
        except asyncio.CancelledError:  # the server ends, and does not wait for this answer
            return JSONResponse({"error": "burnish explore has ended"}, 503, SECURITY)
        except (InputError, ValueError) as error:
            return JSONResponse({"error": str(error)}, 400, SECURITY)
        except CompilerCrash as error:
            return JSONResponse({"error": str(error), "crash": True}, 409, SECURITY)
        except BurnishError as error:
            return JSONResponse({"error": str(error)}, 500, SECURITY)

    return endpoint


def _text(body: dict[str, Any], name: str) -> str:
    text = body.get(name, "")
    if not isinstance(text, str):
        raise InputError(f"{name} is {text!r:.60}; expected a text")
    return text


def _trace(body: dict[str, Any], name: str = "trace") -> Trace:
    trace = body.get(name)
    if not isinstance(trace, list) or not all(isinstance(text, str) for text in trace):
        raise InputError(f"{name} is {trace!r:.60}; expected a list of entries")
    return tuple(trace)
