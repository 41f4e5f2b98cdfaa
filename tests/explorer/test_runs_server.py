"""The server of runs: strangers are refused, one program is open at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from burnish.core.errors import InputError
from burnish.explorer.exploration import Exploration
from burnish.explorer.runs import Entry, ResultFiles, TrainingRun, run_at
from burnish.explorer.runs_server import OpenedProgram, make_runs_app
from burnish.explorer.state_tree import StateTree
from burnish.learning.training.track import EPISODES
from burnish.tasks.llvm_passes import TASK
from tests.cli.results import result_of
from tests.explorer.conftest import TOKEN
from tests.sources import program

NAMES = ("matrix.c", "strings.c")


def open_tree(entry: Entry) -> StateTree:
    """Open a program of tests/data."""
    if entry.found.program not in NAMES:
        raise InputError(f"{entry.found.program}: No such file or directory")
    return StateTree(Exploration(TASK, program(entry.found.program)), entry.found.objective)


def written(folder: Path) -> ResultFiles:
    """Write results of two programs and of one that is gone; return them as a run."""
    rows = [
        replace(result_of(name, program(name).digest, "mem2reg"), baselines={"Oz": 2.0}) for name in NAMES
    ]
    rows += [result_of("gone.c", "0" * 32), replace(rows[0], trace=("mem2reg", "gvn"))]
    (folder / "results.jsonl").write_text("".join(f"{one.to_json()}\n" for one in rows))
    (folder / "search.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    found = run_at(folder)
    assert isinstance(found, ResultFiles)
    return found


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with closing(OpenedProgram(open_tree)) as opened:
        app = make_runs_app(written(tmp_path), opened, TOKEN, 8000)
        yield TestClient(app, base_url=f"http://127.0.0.1:8000/{TOKEN}")


PATHS = ("/", "/runs.js", "/api/run", "/api/events", "/picture/0", "/live/1/", "/live/1/api/program")


@pytest.mark.parametrize("path", PATHS)
def test_token_and_own_host_are_needed_everywhere(client: TestClient, path: str) -> None:
    assert client.get(f"http://127.0.0.1:8000{path}").status_code == 403
    assert client.get(path, headers={"Host": "evil.example:8000"}).status_code == 403
    assert client.get(path, headers={"Origin": "http://evil.example"}).status_code == 403


def opened(client: TestClient, key: str) -> str:
    answer = client.post("/api/open", json={"key": key})
    assert answer.status_code == 200, answer.json()
    return str(answer.json()["address"])


def test_one_program_is_open_at_a_time(client: TestClient) -> None:
    first = opened(client, "0:0")
    assert client.get(first).status_code == 200
    assert client.get(f"{first}page.js").status_code == 200
    state = client.post(f"{first}api/state", json={"trace": ["mem2reg"]}).json()
    assert state["cost"] > 0
    assert client.get(f"{first}api/program").json()["objective"] == "text-bytes"
    assert opened(client, "0:3") == first  # the same program, another trace
    second = opened(client, "0:1")
    assert client.get(f"{second}api/program").json()["program"] == "strings.c"
    closed = client.post(f"{first}api/state", json={"trace": []})
    assert closed.status_code == 410
    assert "this program is closed, since another one was opened" in closed.text


def test_training_shows_its_episodes_and_opens_their_best_states(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"algorithm": {"name": "ppo"}}')
    rows = [
        replace(result_of(name, program(name).digest, "mem2reg"), baselines={"O0": 2.0, "Oz": 1.0}, cost=0.5)
        for name in NAMES
    ]
    with closing(OpenedProgram(open_tree)) as opened_program:
        app = make_runs_app(TrainingRun(tmp_path), opened_program, TOKEN, 8000)
        client = TestClient(app, base_url=f"http://127.0.0.1:8000/{TOKEN}")
        assert client.post("/api/run", json={}).json()["episodes"] == []
        (tmp_path / EPISODES).write_text("".join(f"{one.to_json()}\n" for one in rows))
        found = client.post("/api/run", json={}).json()["episodes"]
        assert [(one["program"], one["steps"], one["cost"], one["ratio"]) for one in found] == [
            (name, 1, 0.5, 2.0) for name in NAMES
        ]
        assert found[0]["reward"] == pytest.approx(math.log(4))
        address = opened(client, found[1]["key"])
        assert client.get(f"{address}api/program").json()["program"] == "strings.c"


def test_program_that_is_gone_leaves_the_open_one_open(client: TestClient) -> None:
    first = opened(client, "0:0")
    refused = client.post("/api/open", json={"key": "0:2"})
    assert (refused.status_code, refused.json()["error"]) == (400, "gone.c: No such file or directory")
    assert client.get(first).status_code == 200
    command = client.post("/api/result", json={"key": "0:2"}).json()["command"]
    assert command.startswith("burnish explore ")
    assert command.endswith(" --program PATH/gone.c")


@pytest.mark.parametrize("key", ["0:9", "", None, ["0:0"], "../x"])
def test_unknown_result_is_an_error(client: TestClient, key: object) -> None:
    for path in ("/api/result", "/api/open"):
        answer = client.post(path, json={"key": key})
        assert answer.status_code == 400
        assert "is unknown; reload the page" in answer.json()["error"]


def test_pictures_cannot_run_scripts(client: TestClient) -> None:
    answer = client.get("/picture/0")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert client.get("/picture/1").status_code == 404
    assert client.get("/picture/-1").status_code == 404


def test_results_that_are_added_are_shown(client: TestClient, tmp_path: Path) -> None:
    assert len(client.post("/api/run", json={}).json()["rows"]) == 4
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write(result_of("later.c", "1" * 32).to_json() + '\n{"task":')
    found = client.post("/api/run", json={}).json()
    assert [line["program"] for line in found["rows"]][3:] == ["matrix.c", "later.c"]
    assert found["notes"] == ["results.jsonl: the last line is incomplete, and left out"]


def test_training_has_its_card_and_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"algorithm": {"name": "ppo"}}')
    (tmp_path / "policy.card.json").write_text('{"file": "policy.npz"}')
    app = make_runs_app(TrainingRun(tmp_path), OpenedProgram(open_tree), TOKEN, 8000)
    found = TestClient(app, base_url=f"http://127.0.0.1:8000/{TOKEN}").post("/api/run", json={}).json()
    assert found["kind"] == "training"
    assert found["config"] == {"algorithm": {"name": "ppo"}}
    assert found["card"] == {"file": "policy.npz"}
