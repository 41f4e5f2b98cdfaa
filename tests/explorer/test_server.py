"""The server refuses strangers, and answers what the page asks."""

from __future__ import annotations

import os
from typing import Any

import pytest
from starlette.testclient import TestClient

from burnish.core.errors import CompilerCrash
from burnish.core.registry import load_task
from burnish.explorer import comparisons, server, state_tree
from burnish.explorer.exploration import Exploration
from burnish.explorer.server import PAGE, make_app
from burnish.explorer.state_tree import StateTree
from burnish.search import Budget
from burnish.tasks.loop_nests.parsing import parse
from tests.explorer.conftest import TOKEN

SROA = "sroa<modify-cfg>"


@pytest.fixture
def client(tree: StateTree) -> TestClient:
    return TestClient(make_app(tree, TOKEN, 8000), base_url=f"http://127.0.0.1:8000/{TOKEN}")


@pytest.mark.parametrize("path", ["/", "/page.js", "/api/program", "/api/events", "/api/nothing"])
@pytest.mark.parametrize("token", ["", "/", "/wrong", f"/{TOKEN}x", f"/x/{TOKEN}"])
def test_token_is_needed_everywhere(client: TestClient, path: str, token: str) -> None:
    assert client.get(f"http://127.0.0.1:8000{token}{path}").status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:8000"},
        {"Host": "127.0.0.1:9"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9"},
    ],
)
def test_foreign_pages_and_rebound_names_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    assert client.get("/", headers=headers).status_code == 403
    assert client.post("/api/state", json={"trace": []}, headers=headers).status_code == 403


def test_own_page_is_served(client: TestClient) -> None:
    for path in ("/", *(f"/{file.name}" for file in PAGE.iterdir())):
        assert client.get(path, headers={"Origin": "http://127.0.0.1:8000"}).status_code == 200


@pytest.mark.parametrize("path", ["/server.py", "/../server.py", "/page/index.html", "/..%2fserver.py"])
def test_other_files_are_not_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code in {403, 404}  # outside of the token's folder, or unknown


def test_state_after_an_action(client: TestClient) -> None:
    start = client.post("/api/state", json={"trace": []}).json()
    after = client.post("/api/state", json={"trace": [SROA]}).json()
    assert after["parent"] == start["key"]
    assert after["cost"] < start["cost"]
    found = client.post("/api/changes", json={"since": [], "trace": [SROA]}).json()
    assert {section["title"] for section in found["sections"]} >= {"transpose", "multiply"}
    assert all(len(section["costs"]) == 2 for section in found["sections"])


def test_equal_states_are_one_node(client: TestClient) -> None:
    once, twice = (client.post("/api/state", json={"trace": [SROA] * n}).json() for n in (1, 2))
    assert once["key"] == twice["key"]


def test_legal_actions_are_those_of_a_site(client: TestClient) -> None:
    def at(site: str) -> dict[str, Any]:
        answer = client.post("/api/actions", json={"trace": [], "site": site})
        return answer.json()  # type: ignore[no-any-return]

    found = at("")
    assert (found["site"], found["whole"], found["left_out"]) == ("", True, 0)
    assert {"name": "transpose", "title": "transpose"} in found["sites"]
    assert {one["site"] for one in found["actions"]} == {""}
    assert SROA in {one["entry"] for one in found["actions"]}
    assert {one["entry"].partition(": ")[0] for one in at("transpose")["actions"]} == {"transpose"}
    assert {one["site"] for one in at("*")["actions"]} == {"", *(one["name"] for one in found["sites"])}
    assert at("a function that is gone")["site"] == ""


def test_of_many_sites_the_first_ones_are_listed_everywhere(
    client: TestClient, tree: StateTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_tree, "MOST_LISTED", len(tree.exploration.task.actions))
    found = client.post("/api/actions", json={"trace": [], "site": "*"}).json()
    assert len({one["site"] for one in found["actions"]}) == 2
    assert found["left_out"] == len(found["sites"]) - 1


def test_only_the_opened_sections_travel_with_lines(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "OPENED", 1)
    body = {"since": [], "trace": [SROA]}
    opened, *others = client.post("/api/changes", json=body).json()["sections"]
    assert opened["lines"] and opened["counts"]
    assert "multiply" in {one["name"] for one in others}
    assert {(one["lines"], one["counts"]) for one in others} == {(None, None)}
    counts = client.post("/api/counts", json=body).json()
    assert counts[opened["name"]] == opened["counts"]
    assert counts.keys() == {one["name"] for one in [opened, *others]}
    (one,) = client.post("/api/changes", json=body | {"section": "multiply"}).json()["sections"]
    assert one["name"] == "multiply"
    assert one["counts"] == counts["multiply"]
    assert [sum(line[0] == kind for line in one["lines"]) for kind in ("added", "removed")] == one["counts"]


def test_of_many_sections_the_first_ones_are_counted(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "MOST_COMPARED", 1)
    assert len(client.post("/api/counts", json={"since": [], "trace": [SROA]}).json()) == 1


@pytest.mark.parametrize("trace", [["no-such-pass"], ["nowhere: gvn"], "gvn", [1], None])
def test_illegal_action_is_an_error_with_a_message(client: TestClient, trace: object) -> None:
    answer = client.post("/api/state", json={"trace": trace})
    assert answer.status_code == 400
    assert answer.json()["error"]


@pytest.mark.parametrize("body", [b"[", b"[]", b"\xff", b" " * 2_000_000])
def test_broken_requests_are_refused(client: TestClient, body: bytes) -> None:
    assert client.post("/api/state", content=body).status_code == 400


def test_crash_of_the_compiler_is_a_state(
    client: TestClient, tree: StateTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tree.exploration
    digests = known._sandboxes.digests

    def crash(trace: tuple[str, ...]) -> tuple[str, ...]:
        if trace[-1:] == ("gvn",):
            raise CompilerCrash("died of signal 11")
        return digests(trace)

    monkeypatch.setattr(known._sandboxes, "digests", crash)
    crashed = client.post("/api/state", json={"trace": ["gvn"]}).json()
    assert (crashed["cost"], crashed["error"]) == (None, "died of signal 11")
    assert client.post("/api/state", json={"trace": [SROA]}).status_code == 200
    tree.log.remove(tree.nodes.pop(crashed["key"]))
    del known.edges[known.root.digest, "gvn"]


def test_a_search_grows_the_tree_from_the_shown_state(client: TestClient, tree: StateTree) -> None:
    first = tree.exploration.state((SROA,)).trace  # of the state; a page may have reached it by mem2reg
    before = len(tree.log)
    tree.start_search((SROA,), Budget(evaluations=8, workers=1))
    tree.search.wait()
    assert not tree.search.error
    new = tree.log[before:]
    assert new
    assert all(node.trace[: len(first)] == first and node.parent in tree.nodes for node in new)


def test_program_and_its_baselines(client: TestClient) -> None:
    found = client.get("/api/program").json()
    assert found["reference"] == "-Oz"
    assert found["functions"]
    costs = client.post("/api/baselines").json()
    assert {one["label"] for one in costs["baselines"]} == {"-O0", "-Oz", "-O3"}


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("stop", {"work": "nothing"}, "expected one of search, trials"),
        ("stop", {}, "expected one of search, trials"),
        ("stop", {"work": 1}, "expected a text"),
        ("file", {"trace": [], "suffix": ".exe"}, "does not write this format"),
        ("file", {"trace": ["no-such-pass"], "suffix": ".bc"}, "no action named"),
        ("features", {"trace": [], "since": [], "observation": "ir"}, "array of named numbers"),
        ("try", {"trace": [], "entries": "gvn"}, "expected a list of entries"),
        ("minimize", {"trace": ["no-such-pass"]}, "no action named"),
    ],
)
def test_wrong_requests_say_what_was_expected(
    client: TestClient, name: str, body: dict[str, object], said: str
) -> None:
    answer = client.post(f"/api/{name}", json=body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]


def test_texts_and_graphs_of_the_task(client: TestClient) -> None:
    found = client.get("/api/program").json()
    assert found["texts"] == [{"name": "ir", "label": "IR"}, {"name": "assembly", "label": "assembly"}]
    assert {"name": "calls", "by_section": False, "text": "ir"} in found["graphs"]


def test_changes_of_another_text(client: TestClient) -> None:
    body = {"since": [], "trace": [SROA], "text": "assembly"}
    found = client.post("/api/changes", json=body).json()
    lines = found["sections"][0]["lines"]
    assert any("%rsp" in text for _, text, *_ in lines)


def test_graph_of_a_function_by_default_a_changed_one(client: TestClient) -> None:
    body = {"since": [], "trace": [SROA], "graph": "control flow"}
    found = client.post("/api/graph", json=body).json()
    first = found["sections"][0]
    assert (found["section"], first["kind"]) == (first["name"], "changed")
    assert {box["kind"] for box in found["picture"]["boxes"]} >= {"changed"}
    other = client.post("/api/graph", json=body | {"section": "multiply"}).json()
    assert other["section"] == "multiply"
    assert other["picture"]["boxes"] != found["picture"]["boxes"]
    unknown = client.post("/api/graph", json=body | {"section": "no such function"}).json()
    assert unknown["section"] == found["section"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"graph": "no such graph"}, "it draws control flow, loops, calls"),
        ({}, "it draws control flow"),
        ({"graph": 1}, "expected a text"),
        ({"graph": "calls", "since": None}, "expected a list"),
    ],
)
def test_graph_that_the_task_does_not_draw_is_an_error(
    client: TestClient, body: dict[str, object], said: str
) -> None:
    answer = client.post("/api/graph", json={"since": [], "trace": []} | body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]


def test_file_is_sent_as_bytes(client: TestClient) -> None:
    answer = client.post("/api/file", json={"trace": [SROA], "suffix": ".bc"})
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.content.startswith(b"BC")


def test_predictions_of_a_state(client: TestClient) -> None:
    found = client.post("/api/predictions", json={"trace": [SROA]}).json()
    assert found["policy"] == "llvm_passes-ir-instructions"
    assert sum(found["probabilities"].values()) == pytest.approx(1)


def test_minimised_trace_is_shorter(client: TestClient) -> None:
    found = client.post("/api/minimize", json={"trace": ["globaldce", SROA, "mem2reg"]}).json()
    assert len(found["trace"]) == 1
    assert found["minimal"]


def test_text_that_the_task_does_not_have_is_an_error(client: TestClient) -> None:
    answer = client.post("/api/changes", json={"since": [], "trace": [], "text": "question"})
    assert answer.status_code == 400
    assert "expected ir or assembly" in answer.json()["error"]


def test_bytes_of_functions_are_those_of_the_objective(client: TestClient, tree: StateTree) -> None:
    found = client.post("/api/bytes", json={"since": [], "trace": [SROA]}).json()
    assert found["objective"] == "loaded-bytes"
    known = tree.exploration
    for i, trace in enumerate(((), (SROA,))):
        state = known.state(trace)
        costs = {one["name"]: one["bytes"][i] for one in found["functions"] if one["bytes"][i] is not None}
        assert costs == known.site_costs(state, "loaded-bytes")
        assert found["whole"][i] == known.cost(state, "loaded-bytes")


def test_task_without_bytes_by_function_says_so() -> None:
    nest = parse("f32 m=4 n=4\nc[m,n] = a[m,n] + b[m,n]").program("sum")
    with Exploration(load_task("loop_nests"), nest) as exploration:
        tree = StateTree(exploration)
        client = TestClient(make_app(tree, TOKEN, 8000), base_url=f"http://127.0.0.1:8000/{TOKEN}")
        about = client.get("/api/program").json()
        assert not about["bytes"]
        assert not about["functions"]  # so the page does not offer to hide the library's
        found = client.post("/api/bytes", json={"since": [], "trace": []}).json()
        assert found == {"missing": "loop_nests-v0 does not divide bytes among functions."}
        tree.close()


def test_crash_of_graphviz_is_an_error_and_the_next_picture_is_drawn(
    client: TestClient, tree: StateTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"since": [], "trace": [SROA], "graph": "calls"}
    monkeypatch.setattr(comparisons, "laid_out", abort)
    answer = client.post("/api/graph", json=body)
    assert answer.status_code == 409
    assert "graphviz failed to draw 4 boxes" in answer.json()["error"]
    monkeypatch.undo()
    assert client.post("/api/graph", json=body).json()["picture"]["boxes"]


def abort(picture: object) -> None:
    """Die as C code does; a worker calls this."""
    os.abort()
