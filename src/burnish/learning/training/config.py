"""Configuration of a training run: a TOML file, read into frozen dataclasses.

    burnish train ppo-autophase            # one of burnish/learning/training/configs
    burnish train mine.toml                # a file

docs/training.md lists the keys.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from burnish.core.errors import InputError, UnknownName
from burnish.core.registry import default_task, load_task
from burnish.core.task import Task
from burnish.envs.reward import FAILURE_REWARD, FailureReward
from burnish.learning.training.tables import from_table

SHIPPED = Path(__file__).parent / "configs"


@dataclass(frozen=True)
class Source:
    """A reference to programs, and a selection among them."""

    use: str  # "corpus:train", "random:0..99", a file: see burnish.llvm.corpora.references
    count: int | None = None  # number of programs, drawn with the seed; all by default
    smallest: int = 1  # fewest IR instructions; only for a corpus, as are `largest` and `even`
    largest: int | None = None
    even: bool = False  # take equally many from each power-of-two range of sizes, as far as possible
    seed: int = 0  # for drawing `count` programs, and for their order
    variant: str = ""  # use this variant of the task instead of the programs themselves

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 1:
            raise InputError(f"count is {self.count}; expected at least 1")
        if self.largest is not None and self.largest < self.smallest:
            raise InputError(f"no program has from {self.smallest} to {self.largest} instructions")


@dataclass(frozen=True)
class Environment:
    """Settings of the environments: see docs/environments.md."""

    observation: str | tuple[str, ...] | None = None  # the task's first one by default
    actions: tuple[str, ...] | None = None  # all by default
    sites: int = 0  # number of sites that can be acted on, beside the whole program
    max_steps: int | None = None  # the task's own number by default
    reward: str = "log"
    failure_reward: FailureReward = FAILURE_REWARD  # reward of a crash: one for all, or by class of failure
    dense: bool | None = None  # reward after every step; by default as the objective defines
    count: int = 4  # environments, one worker process each
    deadline_seconds: float = 60.0  # time limit of one pass

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InputError(f"count is {self.count}; expected at least 1")
        if self.sites < 0:
            raise InputError(f"sites is {self.sites}; expected at least 0")


@dataclass(frozen=True)
class RunConfig:
    """Limits and intervals of a run, which ends at the first limit that it reaches."""

    iterations: int | None = None
    steps: int | None = None  # of all environments together
    seconds: float | None = None
    seed: int = 0
    standardize_steps: int = 1000  # steps played first, for the means and deviations of features; 0: none
    standardize_on: str = "random"
    """Decisions in those steps: "random"; "default" for the compiler's own on the training programs; a file
    of the compiler's decisions, such as one that `burnish inliner decisions` wrote; or a folder of quantiles,
    such as one that `burnish inliner vocabulary` or MLGO wrote."""
    threads: int = 1  # of torch; the compilers use the other cores
    validate_every: int = 10  # iterations
    checkpoint_every: int = 10  # iterations
    keep_every: int | None = (
        None  # iterations; a policy of each is kept in policies/; None: only the best one
    )
    patience: int | None = None  # validations in a row without a new best, after which the run stops

    def __post_init__(self) -> None:
        if self.iterations is self.steps is self.seconds is None:
            raise InputError("expected a limit: iterations, steps or seconds")
        limits = "iterations", "steps", "seconds", "threads"
        for name in (*limits, "validate_every", "checkpoint_every", "keep_every"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise InputError(f"{name} is {value}; expected more than 0")


@dataclass(frozen=True)
class Expert:
    """Source of the demonstrations for algorithms that imitate: a search, or a file of earlier results."""

    search: str = "genetic"  # see burnish.search; "mixed@shipped" is a search that a policy guides
    evaluations: int = 200  # for each program
    demonstrations: str = ""  # a file of collected traces or of the task's decisions, instead of a search
    idle: tuple[str, ...] = ()  # actions without effect that fill an episode after its demonstration ends

    def __post_init__(self) -> None:
        if self.evaluations < 1:
            raise InputError(f"evaluations is {self.evaluations}; expected at least 1")


@dataclass(frozen=True)
class Track:
    """Destinations of the metrics, beside the JSON lines."""

    curves: bool = True  # a picture at the end, by matplotlib
    tensorboard: bool = True
    mlflow: str = ""  # a tracking URI, such as "sqlite:///runs.db"
    wandb: str = ""  # a project
    wandb_mode: Literal["online", "offline"] = "offline"


@dataclass(frozen=True)
class Config:
    """A training run."""

    algorithm: Mapping[str, Any]  # its `name`; the other keys are the algorithm's own
    programs: tuple[Source, ...]  # to learn from
    run: RunConfig
    validation: tuple[Source, ...] = (Source("corpus:val", count=40, largest=2000, even=True),)
    task: str = ""  # the default task if empty
    objective: str | None = None  # the task's first one by default
    options: Mapping[str, Any] = field(default_factory=dict)
    """The task's settings, as on the command line: `without = ["outline*"]`."""
    description: str = ""
    environment: Environment = Environment()
    network: Mapping[str, Any] = field(default_factory=dict)  # the encoder: see burnish.learning.networks
    policy: Mapping[str, Any] = field(default_factory=dict)  # head and critic: see agents.policy
    start_from: str = ""
    """The policy with which training begins: a run's folder, a policy.npz, or the name of a shipped one."""
    start_temperature: float = 1.0
    """Divides the logits of that policy: below 1, fewer actions are drawn that are not the most probable."""
    expert: Expert = Expert()
    track: Track = Track()
    name: str = field(default="", compare=False)
    """Name of the file, for errors and for the run's folder."""

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm.get("name"), str):
            raise InputError('algorithm: name is missing; expected a text such as "ppo"')
        if not self.start_temperature > 0:
            raise InputError(f"start_temperature is {self.start_temperature}; expected more than 0")
        if not self.programs:
            raise InputError("programs: expected at least one table")

    def to_dict(self) -> dict[str, Any]:
        """Return a table that JSON can hold, from which `config_of` makes the same configuration."""
        return {name: value for name, value in _listed(asdict(self)).items() if name != "name"}

    def with_limits_of(self, other: Config) -> Config:
        """Return this configuration with another's CONTINUABLE limits, trackers and description."""
        mine = {name: getattr(other.run, name) for name in CONTINUABLE}
        return replace(self, run=replace(self.run, **mine), track=other.track, description=other.description)


CONTINUABLE = ("iterations", "steps", "seconds", "patience", "checkpoint_every")
"""Keys of [run] that change the length of a training curve but not its course."""


def read_config(name: str, changes: Iterable[str] = ()) -> Config:
    """Read a configuration file, or a shipped configuration by its bare name.

    Args:
        name: A path, or a bare name such as "ppo-autophase".
        changes: Keys and values such as "run.iterations=20", in TOML's notation; texts need no quotes.

    Raises:
        UnknownName: there is no such file, or it has an unknown key.
        InputError: the file is not TOML, or a value has the wrong type or range.
    """
    path = find_config(name)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    for change in changes:
        change_table(table, change)
    return config_of(table, str(path))


def config_of(table: Mapping[str, Any], where: str) -> Config:
    """Make a configuration from the table of a TOML file; `where` is the file's name.

    Raises:
        UnknownName: a key is not known; the message names the file, the table and the nearest keys.
        InputError: a value has the wrong type or range.
    """
    table = dict(table)
    for name in ("programs", "validation"):
        if isinstance(table.get(name), Mapping):  # one table is a list of one
            table[name] = [table[name]]
    return replace(from_table(Config, table, where), name=Path(where).stem)


def named_task(config: Config) -> Task:
    """Return the task that a configuration names, or the default task, without the configured options.

    Raises:
        UnknownName: there is no such task.
    """
    return load_task(config.task) if config.task else default_task()


def shipped() -> dict[str, Path]:
    """Return the configurations that come with burnish, by their bare names."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def find_config(name: str) -> Path:
    """Return the path of a configuration file, or of a shipped configuration by its bare name.

    Raises:
        UnknownName: there is neither such a file nor such a shipped configuration.
    """
    path = Path(name)
    if path.is_file():
        return path
    known = shipped()
    if name in known:
        return known[name]
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise UnknownName(f"{name}: there is no such file")
    raise UnknownName.among("training configuration", name, known)


def difference(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return the dotted keys in which two nested tables differ."""
    keys = []
    for key in dict.fromkeys([*old, *new]):
        a, b = old.get(key), new.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            keys += difference(a, b, f"{prefix}{key}.")
        elif a != b:
            keys.append(f"{prefix}{key}")
    return keys


def change_table(table: dict[str, Any], change: str) -> None:
    """Set one key of a nested table, given a text such as "run.iterations=20".

    Raises:
        InputError: the text has another form, or a key before the last is not a table.
    """
    key, equals, text = change.partition("=")
    *tables, last = key.strip().split(".")
    if not equals or not last:
        raise InputError(f"{change!r}: expected KEY=VALUE, such as run.iterations=20")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    for name in tables:
        inner = table.setdefault(name, {})
        if isinstance(inner, list) and len(inner) == 1:
            inner = inner[0]
        if not isinstance(inner, dict):
            raise InputError(f"{change!r}: {name} is not a table")
        table = inner
    table[last] = value


def _listed(value: Any) -> Any:
    """Return a value as JSON would read it back: nested tuples as lists, without keys whose value is None."""
    if isinstance(value, Mapping):
        return {key: _listed(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_listed(item) for item in value]
    return value
