"""What a training run is made of: a TOML file, read into frozen dataclasses.

    burnish train ppo-autophase            # one of burnish/training/configs
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
    """Programs: a reference, and which of what it stands for."""

    use: str  # "corpus:train", "random:0..99", a file: see burnish.llvm.corpora.references
    count: int | None = None  # so many of them, drawn with the seed; all by default
    smallest: int = 1  # IR instructions; of a corpus only
    largest: int | None = None
    even: bool = False  # as many from every doubling of size as possible
    seed: int = 0  # of the choice
    variant: str = ""  # one of the task's variants, in place of the programs themselves

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 1:
            raise InputError(f"count is {self.count}; expected at least 1")
        if self.largest is not None and self.largest < self.smallest:
            raise InputError(f"no program has from {self.smallest} to {self.largest} instructions")


@dataclass(frozen=True)
class Environment:
    """What the environments are: see docs/environments.md."""

    observation: str | tuple[str, ...] | None = None  # the task's first one by default
    actions: tuple[str, ...] | None = None  # all by default
    sites: int = 0  # that can be acted on, beside the whole program
    max_steps: int | None = None  # the task's own number by default
    reward: str = "log"
    failure_reward: FailureReward = FAILURE_REWARD  # what a crash costs, also by class of failure
    dense: bool | None = None  # as the objective says by default
    count: int = 4  # environments, a worker process each
    deadline_seconds: float = 60.0  # of one pass

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InputError(f"count is {self.count}; expected at least 1")
        if self.sites < 0:
            raise InputError(f"sites is {self.sites}; expected at least 0")


@dataclass(frozen=True)
class RunConfig:
    """How long, and what is kept. It ends at the first of the limits that are set."""

    iterations: int | None = None
    steps: int | None = None  # of all environments together
    seconds: float | None = None
    seed: int = 0
    standardize_steps: int = 1000  # of play at first, to know features' means; 0: as they are
    standardize_on: str = "random"
    """Who plays them: "random", or "default", the compiler itself on the programs to learn from; or a file of
    that, say of `burnish inliner decisions`."""
    threads: int = 1  # of torch; the compilers want the other cores
    validate_every: int = 10  # iterations
    checkpoint_every: int = 10  # iterations
    patience: int | None = None  # validations in a row without a better one, until it stops early

    def __post_init__(self) -> None:
        if self.iterations is self.steps is self.seconds is None:
            raise InputError("expected a limit: iterations, steps or seconds")
        for name in ("iterations", "steps", "seconds", "threads", "validate_every", "checkpoint_every"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise InputError(f"{name} is {value}; expected more than 0")


@dataclass(frozen=True)
class Expert:
    """Who shows an algorithm that imitates what to do: a search, or what one has found."""

    search: str = "genetic"  # see burnish.search; or "mixed@shipped": guided by a policy
    evaluations: int = 200  # for each program
    demonstrations: str = ""  # a file of traces that training.collect wrote, instead of a search
    idle: tuple[str, ...] = ()  # actions that change nothing, for the rest of an episode: when it is done

    def __post_init__(self) -> None:
        if self.evaluations < 1:
            raise InputError(f"evaluations is {self.evaluations}; expected at least 1")


@dataclass(frozen=True)
class Track:
    """Where the metrics go, beside the JSON lines."""

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
    task: str = ""  # burnish's first one by default
    objective: str | None = None  # the task's first one by default
    options: Mapping[str, Any] = field(default_factory=dict)
    """The task's settings, as on the command line: `without = ["outline*"]`."""
    description: str = ""
    environment: Environment = Environment()
    network: Mapping[str, Any] = field(default_factory=dict)  # the encoder's: see burnish.learning.networks
    policy: Mapping[str, Any] = field(default_factory=dict)  # head and critic: see agents.policy
    start_from: str = ""  # the folder of a run whose best policy this one begins with
    expert: Expert = Expert()
    track: Track = Track()
    name: str = field(default="", compare=False)
    """Of the file, for errors and for the folder of the run."""

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm.get("name"), str):
            raise InputError('algorithm: name is missing; expected a text such as "ppo"')
        if not self.programs:
            raise InputError("programs: expected at least one table")

    def to_dict(self) -> dict[str, Any]:
        """Return what `config_of` makes the same configuration of; JSON can hold it."""
        return {name: value for name, value in _listed(asdict(self)).items() if name != "name"}

    def with_limits_of(self, other: Config) -> Config:
        """Return this configuration with what may differ between a run and its continuation."""
        mine = {name: getattr(other.run, name) for name in CONTINUABLE}
        return replace(self, run=replace(self.run, **mine), track=other.track, description=other.description)


CONTINUABLE = ("iterations", "steps", "seconds", "patience", "checkpoint_every")
"""Keys of [run] that change how long a curve is, not how it goes."""


def read_config(name: str, changes: Iterable[str] = ()) -> Config:
    """Read a file, or one of those that are shipped by its bare name.

    Args:
        name: A path, or such as "ppo-autophase".
        changes: Such as "run.iterations=20": keys with values as TOML writes them; quotes may be missing.

    Raises:
        UnknownName: there is no such file; or an unknown key in it.
        InputError: it is not TOML, or a value is not what was expected.
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
    """Make a configuration of what a TOML file says; `where` is its name.

    Raises:
        UnknownName: a key is not known; the message names the file, the table and the nearest keys.
        InputError: a value is not what was expected.
    """
    table = dict(table)
    for name in ("programs", "validation"):
        if isinstance(table.get(name), Mapping):  # one table is a list of one
            table[name] = [table[name]]
    return replace(from_table(Config, table, where), name=Path(where).stem)


def named_task(config: Config) -> Task:
    """Return the task that a configuration names, without its options; the default task where it names none.

    Raises:
        UnknownName: there is no such task.
    """
    return load_task(config.task) if config.task else default_task()


def shipped() -> dict[str, Path]:
    """Return the configurations that come with burnish, by their bare names."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def find_config(name: str) -> Path:
    """Return the path of a file, or of a shipped one by its bare name.

    Raises:
        UnknownName: there is neither.
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
    """Return the keys, with dots, in which two tables differ."""
    keys = []
    for key in dict.fromkeys([*old, *new]):
        a, b = old.get(key), new.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            keys += difference(a, b, f"{prefix}{key}.")
        elif a != b:
            keys.append(f"{prefix}{key}")
    return keys


def change_table(table: dict[str, Any], change: str) -> None:
    """Change a key of a table, such as "run.iterations=20".

    Raises:
        InputError: it is not written like that.
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
            raise InputError(f"{change!r}: {name} is no table")
        table = inner
    table[last] = value


def _listed(value: Any) -> Any:
    """Return tuples as lists, everywhere, and without what is None: as TOML and JSON would give it back."""
    if isinstance(value, Mapping):
        return {key: _listed(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_listed(item) for item in value]
    return value
