"""Work in a thread, one piece at a time, that ends early when it is asked to."""

from __future__ import annotations

import threading
from collections.abc import Callable

from burnish.core.errors import BurnishError, InputError

Work = Callable[[threading.Event], None]
"""A function that returns soon after the event is set."""


class Stoppable:
    """A thread for one kind of work; several threads may start and stop the work."""

    def __init__(self, name: str) -> None:
        """Set the name of the work, as messages have it: "a search"."""
        self.name = name
        self.error = ""  # of the last work; "" if it succeeded
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ends = threading.Event()

    @property
    def running(self) -> bool:
        """True while the work runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, work: Work) -> None:
        """Begin a piece of work.

        Raises:
            InputError: another piece runs already.
        """
        with self._lock:
            if self.running:
                raise InputError(f"{self.name} runs already; stop it first")
            self._ends, self.error = threading.Event(), ""
            self._thread = threading.Thread(target=self._run, args=(work, self._ends), daemon=True)
            self._thread.start()

    def stop(self, seconds: float | None = None) -> None:
        """End the work, and wait for its end, so many seconds at most."""
        self._ends.set()
        self.wait(seconds)

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end of the work, so many seconds at most."""
        if self._thread:
            self._thread.join(seconds)

    def _run(self, work: Work, ends: threading.Event) -> None:
        try:
            work(ends)
        except BurnishError as error:
            self.error = str(error)
        except Exception as error:
            if not ends.is_set():
                raise
            self.error = str(error)  # a compiler that hung was closed under the work
