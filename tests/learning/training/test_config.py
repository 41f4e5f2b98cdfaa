"""Every key of a training configuration is checked, and what is wrong is named."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from burnish.core.errors import InputError, UnknownName
from burnish.learning.training.config import Source, config_of, difference, read_config, shipped
from burnish.learning.training.tables import from_table

SMALL: dict[str, Any] = {
    "algorithm": {"name": "ppo", "learning_rate": 0.001},
    "programs": {"use": "random:0..9"},
    "run": {"iterations": 3},
}


def small(**changes: Any) -> dict[str, Any]:
    return SMALL | changes


def test_a_small_file_has_the_defaults_for_the_rest() -> None:
    config = config_of(SMALL, "my.toml")
    assert config.programs == (Source("random:0..9"),)
    assert config.validation[0].use == "corpus:val"
    assert config.environment.count == 4
    assert config.run.seed == 0
    assert config.track.tensorboard
    assert config.name == "my"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"runn": {}}, r"my\.toml: no key named 'runn'; did you mean 'run'"),
        ({"run": {"iteration": 3}}, r"my\.toml\.run: no key named 'iteration'; did you mean 'iterations'"),
        ({"run": {"iterations": "3"}}, r"my\.toml\.run\.iterations: expected a whole number, not '3'"),
        ({"run": {"iterations": True}}, r"run\.iterations: expected a whole number, not True"),
        ({"run": {"iterations": 0}}, r"my\.toml\.run: iterations is 0; expected more than 0"),
        ({"run": {}}, r"my\.toml\.run: expected a limit: iterations, steps or seconds"),
        ({"programs": {"uses": "x"}}, r"programs\[0\]: no key named 'uses'; did you mean 'use'"),
        ({"programs": [{"use": "a"}, {"count": 1}]}, r"programs\[1\]: use is missing; expected a text"),
        ({"programs": []}, r"my\.toml: programs: expected at least one table"),
        ({"programs": "corpus:train"}, r"my\.toml\.programs: expected a list, each a table"),
        ({"algorithm": {}}, r"my\.toml: algorithm: name is missing"),
        ({"track": {"wandb_mode": "onlin"}}, r"track\.wandb_mode: no choice named .onlin..*.online."),
        ({"environment": {"observation": 3}}, r"observation: expected a text or a list, each a text, not 3"),
        ({"environment": {"actions": ["gvn", 1]}}, r"environment\.actions\[1\]: expected a text, not 1"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        config_of(small(**changes), "my.toml")


def test_a_missing_table_is_named() -> None:
    without = {name: table for name, table in SMALL.items() if name != "run"}
    with pytest.raises(InputError, match=r"my\.toml: run is missing; expected a table"):
        config_of(without, "my.toml")


def test_a_configuration_survives_json() -> None:
    config = config_of(small(environment={"observation": ["autophase", "trace"]}), "my.toml")
    again = config_of(json.loads(json.dumps(config.to_dict())), "elsewhere.toml")
    assert again == config


def test_changes_are_read_as_toml(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[algorithm]\nname = 'ppo'\n[[programs]]\nuse = 'random:1'\n[run]\niterations = 3\n")
    changes = ["run.iterations=7", "programs.use=random:2", 'environment.actions=["gvn"]', "run.seconds=2"]
    config = read_config(str(path), changes)
    assert config.run.iterations == 7
    assert config.run.seconds == 2.0
    assert config.programs == (Source("random:2"),)
    assert config.environment.actions == ("gvn",)
    with pytest.raises(InputError, match="expected KEY=VALUE"):
        read_config(str(path), ["run.iterations"])
    with pytest.raises(InputError, match="task is not a table"):
        read_config(str(path), ["task=x", "task.x=2"])


def test_what_is_no_toml_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[run\n")
    with pytest.raises(InputError, match=r"my\.toml: not TOML: .*line 1"):
        read_config(str(path))


def test_an_unknown_name_is_answered_with_the_shipped_ones() -> None:
    with pytest.raises(UnknownName, match="did you mean 'smoke'"):
        read_config("smok")
    with pytest.raises(UnknownName, match=r"nothing\.toml: there is no such file"):
        read_config("nothing.toml")


@pytest.mark.parametrize("name", shipped())
def test_shipped_configurations_can_be_read(name: str) -> None:
    config = read_config(name)
    assert config.name == name
    assert config.description


def test_difference_names_keys_with_dots() -> None:
    config = config_of(SMALL, "my.toml")
    other = replace(config, run=replace(config.run, seed=1), objective="text-bytes")
    assert difference(config.to_dict(), other.to_dict()) == ["run.seed", "objective"]
    assert difference(config.to_dict(), config.to_dict()) == []


def test_only_limits_may_change_when_a_run_goes_on() -> None:
    config = config_of(SMALL, "my.toml")
    longer = config_of(small(run={"iterations": 9, "patience": 2}), "my.toml")
    assert config.with_limits_of(longer) == longer
    other_seed = config_of(small(run={"iterations": 9, "seed": 2}), "my.toml")
    assert config.with_limits_of(other_seed) != other_seed


@dataclass(frozen=True)
class Inner:
    sizes: tuple[int, ...] = (1,)
    pair: tuple[int, float] = (1, 2.0)


@dataclass(frozen=True)
class Outer:
    rate: float
    inner: Inner | None = None
    mode: Literal["a", "b"] = "a"
    number: Literal[1, 2] = 1


def test_tables_become_dataclasses() -> None:
    table = {"rate": 1, "inner": {"sizes": [2, 3], "pair": [1, 2]}, "mode": "b"}
    assert from_table(Outer, table, "x") == Outer(1.0, Inner((2, 3), (1, 2.0)), "b")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "x: rate is missing; expected a number"),
        ({"rate": 1, "inner": {"size": []}}, r"x\.inner: no key named 'size'; did you mean 'sizes'"),
        (
            {"rate": 1, "inner": {"sizes": [1, "2"]}},
            r"x\.inner\.sizes\[1\]: expected a whole number, not '2'",
        ),
        (
            {"rate": 1, "inner": {"pair": [1]}},
            r"pair: expected a list of 2: a whole number, a number, not \[1\]",
        ),
        ({"rate": 1, "inner": 3}, r"x\.inner: expected a table, not 3"),
        ({"rate": 1, "number": 3}, r"x\.number: expected 1 or 2, not 3"),
        ({"rate": "1"}, r"x\.rate: expected a number, not '1'"),
    ],
)
def test_wrong_values_are_named(table: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_table(Outer, table, "x")
