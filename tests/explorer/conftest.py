"""A page of a small program, served from this process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, sync_playwright
from starlette.applications import Starlette

from burnish.explorer.exploration import Exploration
from burnish.explorer.exports import OpenedFile
from burnish.explorer.server import make_app
from burnish.explorer.state_tree import StateTree
from burnish.tasks.llvm_passes import TASK
from tests.sources import DATA, program

CHROMIUM = Path("/usr/bin/chromium")
TOKEN = "a-token"
MATRIX = OpenedFile(str(DATA / "matrix.c"))


@contextmanager
def serving(make: Callable[[int], Starlette]) -> Iterator[str]:
    """Serve the application that `make` returns for a port; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        app = make(port)
        server = uvicorn.Server(
            uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
        )
        app.state.ends = lambda: server.should_exit
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}/{TOKEN}/"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return Chromium, without a page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def tree() -> Iterator[StateTree]:
    with closing(StateTree(Exploration(TASK, program("matrix.c")), opened=MATRIX)) as tree:
        yield tree


@pytest.fixture(scope="package")
def address(tree: StateTree) -> Iterator[str]:
    """Return the address of the page."""
    with serving(lambda port: make_app(tree, TOKEN, port)) as address:
        yield address
