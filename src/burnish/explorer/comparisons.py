"""Comparisons of the states after two traces: texts, diagrams, and sites' costs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from burnish.core.diagram import Drawing
from burnish.core.errors import CompilerCrash, InputError
from burnish.core.listing import Listing, Section
from burnish.core.objective import Objective
from burnish.core.recent import Recent
from burnish.core.trace import Trace
from burnish.explorer.changes import Changes, section_changes
from burnish.explorer.exploration import Exploration
from burnish.explorer.pictures import Picture, laid_out, merged, without
from burnish.workers.worker import Limits, Worker

LAYOUT_SECONDS = 20.0  # for a picture; the largest ones take 2
MOST_COMPARED = 50  # sections with their lines: people open a few, and 2,500 functions of sqlite3 take 8 s
READ = 4  # texts whose sections are kept, each 60 MB for sqlite3


class Comparisons:
    """Compares the states of an exploration; all methods may be called from several threads."""

    def __init__(self, exploration: Exploration, goal: Objective) -> None:
        """Set the exploration and the objective of its page; `close` ends the process that draws."""
        self._known, self._goal = exploration, goal
        self._read: Recent[tuple[str, str, bool], Sequence[Section]] = Recent(READ)
        self._layouts = Worker(Limits(deadline_seconds=LAYOUT_SECONDS))
        self._drawing = threading.Lock()  # a worker answers one thread at a time

    def close(self) -> None:
        """End the process that draws."""
        self._layouts.close()

    @property
    def objective_in_bytes(self) -> Objective | None:
        """The objective that divides a program's bytes among its functions; None without one."""
        known = [self._goal, *self._known.task.objectives.values()]
        return next((one for one in known if one.unit == "bytes" and one.by_site and not one.noisy), None)

    def changes(
        self,
        first: Trace,
        second: Trace,
        text: str = "",
        *,
        details: bool = False,
        library: bool = True,
        section: str | None = None,
        most: int | None = None,
    ) -> Changes:
        """Compare the states after two traces by a text, by default the usual one.

        Of more changed sections than `most`, by default MOST_COMPARED, the lines are unknown: ask for each
        `section` by name.

        Raises:
            InputError: the task has no such listing.
        """
        listing = self._listing(text)
        for trace in (first, second):
            self._known.state(trace)
        both = []
        for trace in (first, second):
            found = self._sections(trace, listing, details)
            both.append([one for one in found if section in (None, one.name)])
            self.site_costs(trace)  # while the session is open: to open it again, the trace is replayed
        most = MOST_COMPARED if most is None else most
        return section_changes(both[0], both[1], listing.renumbered, library=library, most=most)

    def picture(
        self, first: Trace, second: Trace, name: str, section: str = "", *, library: bool = True
    ) -> Picture:
        """Compare the states after two traces by a kind of diagram, of a section or of the whole program.

        Raises:
            InputError: the task draws no such diagram, or neither state has the section.
            CompilerCrash: graphviz fails.
        """
        drawing = self.drawing(name)
        listing = next(
            (one for one in self._known.task.listings if one.observation == drawing.observation), None
        )
        texts = [self._text(trace, drawing.observation) for trace in (first, second)]
        both = [drawing.diagram(text, section) for text in texts]
        if not library and not drawing.by_section:
            hidden = self.library(first, second)
            both = [without(diagram, hidden) for diagram in both]
        if not any(diagram.blocks for diagram in both):
            raise InputError(f"neither state has {section or 'anything'!r} to draw as {name!r}")
        drawn = merged(both[0], both[1], drawing, listing.renumbered if listing else None)
        try:
            with self._drawing:
                laid: Picture = self._layouts.call(laid_out, drawn)
        except CompilerCrash as error:
            size = f"{len(drawn.boxes)} boxes and {len(drawn.curves)} arrows"
            raise CompilerCrash(f"graphviz failed to draw {size}: {error}; choose another graph") from None
        return laid

    def drawing(self, name: str) -> Drawing:
        """Return a kind of diagram of the task by its name, or raise InputError."""
        drawings = self._known.task.shown.drawings
        if name not in drawings:
            known = ", ".join(drawings) or "no diagrams"
            raise InputError(f"{self._known.task.id} draws no {name!r}; it draws {known}")
        return drawings[name]

    def sections(
        self, first: Trace, second: Trace, text: str, *, library: bool = True
    ) -> list[dict[str, str]]:
        """Return the name, title and kind of change of the functions of two states, changed ones first."""
        kinds = {one.name: one.kind for one in self.changes(first, second, text, library=library).sections}
        listing, titles = self._listing(text), dict[str, str]()
        for trace in (second, first):
            for one in self._sections(trace, listing):
                if one.name and (library or not one.library):
                    titles.setdefault(one.name, one.title)
        order = sorted(titles, key=lambda name: name not in kinds)
        return [{"name": name, "title": titles[name], "kind": kinds.get(name, "same")} for name in order]

    def library(self, first: Trace, second: Trace) -> set[str]:
        """Return the names of the library's functions in two states."""
        found = set[str]()
        for listing in self._known.task.listings[:1]:
            for trace in (first, second):
                found |= {one.name for one in self._sections(trace, listing) if one.library}
        return found

    def site_costs(self, trace: Trace, objective: str | None = None) -> Mapping[str, float]:
        """Return the sites' costs after a trace; {} if sites have no costs of their own."""
        return self._known.site_costs(self._known.state(trace), objective or self._goal.name)

    def _listing(self, text: str) -> Listing:
        known = {one.observation: one for one in self._known.task.listings}
        if not known:
            raise InputError(f"{self._known.task.id} has no text observation to compare states by")
        if text and text not in known:
            raise InputError(f"states are not compared by {text!r}; expected {' or '.join(known)}")
        return known[text] if text else self._known.task.listings[0]

    def _sections(self, trace: Trace, listing: Listing, details: bool = False) -> Sequence[Section]:
        key = (self._known.state(trace).digest, listing.observation, details)
        if (found := self._read.get(key)) is None:
            found = listing.sections(self._text(trace, listing.observation), details)
            self._read.put(key, found)
        return found

    def _text(self, trace: Trace, observation: str) -> str:
        return str(self._known.observe(self._known.state(trace), observation))
