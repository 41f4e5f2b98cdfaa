"""Trackers of a run's metrics: JSON lines always; TensorBoard, MLflow and wandb as configured.

All trackers receive the same numbers under the same names. The horizontal axis is "steps" if the algorithm
has steps, and "iteration" otherwise. At the end, curves are drawn from the JSON lines.
"""

from __future__ import annotations

import json
import logging
import math
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from burnish.core.decoding import json_object
from burnish.core.errors import InputError, MissingTool, install
from burnish.files import read_json_lines, write_atomically
from burnish.learning.training.config import Config

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG = "log.jsonl"
EPISODES = "episodes.jsonl"
"""The last validation: a result for each program, whose trace leads to the best state of the episode."""
NAMES = "track.json"  # identifiers of the run in MLflow and wandb, for its continuation
TIMES = ("seconds", "steps_per_second", "validation/seconds")
"""Metrics that differ between two runs with the same seed; all others are equal."""

Row = Mapping[str, float | int]
FIRST = ("validation/ratio", "return", "entropy", "length", "steps_per_second")
LEFT_OUT = ("iteration", "steps", "episodes", "seconds", "updates", "finished")
COLUMNS = 5
LARGE = {
    "validation/ratio": "ratio on validation programs, reference / policy (dashed: as good as the reference)",
    "return": "return of training episodes, log(start / final)",
}
"""The metrics that decide, with their titles: they come first, as wide as the page."""
MOST = 12


class Tracker(Protocol):
    """A destination of metrics."""

    def log(self, row: Row) -> None:
        """Record the metrics of one iteration."""

    def close(self) -> None:
        """Write everything that is still buffered."""


def position(row: Row) -> int:
    """Return a row's position on the horizontal axis."""
    return int(row.get("steps", row["iteration"]))


def as_json(row: Row) -> str:
    """Return a row as one line of JSON; infinity and NaN become null."""
    return json.dumps({name: value if math.isfinite(value) else None for name, value in row.items()})


class JsonLines:
    """A file with one JSON object per iteration."""

    def __init__(self, path: Path, keep_bytes: int = 0) -> None:
        """Truncate the file to `keep_bytes` and append from there."""
        self._file = path.open("ab")
        self._file.truncate(keep_bytes)

    @property
    def size_bytes(self) -> int:
        """Length of the file so far."""
        return self._file.seek(0, 2)

    def log(self, row: Row) -> None:
        """Append a line."""
        self._file.write(as_json(row).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """Read a log that JsonLines wrote, without a last line that was cut off.

    Raises:
        InputError: the file does not exist, or a line other than the last is not a JSON object.
    """
    if not path.exists():
        raise InputError(f"{path}: expected an existing {LOG} of burnish train")
    return read_json_lines(path, partial(json_object, what="a line of a training log"), appended=True)


class TensorBoard:
    """Event files: tensorboard --logdir FOLDER."""

    def __init__(self, folder: Path, config: Config, begin: int) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MissingTool(missing("tensorboard", "train", "set track.tensorboard = false")) from None
        self._writer = SummaryWriter(str(folder / "tensorboard"), purge_step=begin or None)
        if not begin:
            text = json.dumps(config.to_dict(), indent=2)
            self._writer.add_text("config", f"```json\n{text}\n```")

    def log(self, row: Row) -> None:
        """Write each metric as a scalar."""
        for name, value in row.items():
            self._writer.add_scalar(name, value, position(row))
        self._writer.flush()

    def close(self) -> None:
        """Close the event file."""
        self._writer.close()


class MLflow:
    """A run in a database or on a server: mlflow ui --backend-store-uri URI."""

    def __init__(self, uri: str, config: Config, run: str) -> None:
        try:
            from mlflow.entities import Metric, Param
            from mlflow.exceptions import MlflowException
            from mlflow.tracking import MlflowClient
        except ImportError:
            raise MissingTool(missing("mlflow", "mlflow", 'set track.mlflow = ""')) from None
        logging.getLogger("mlflow").setLevel(logging.WARNING)  # it reports every table that it creates
        self._metric: Callable[..., Any] = Metric
        try:
            self._client = MlflowClient(uri)
            self.run = run or self._create(config, Param)
        except MlflowException as error:
            raise InputError(f"track.mlflow: {uri}: {str(error).partition('. ')[0]}") from None

    def _create(self, config: Config, param: Callable[..., Any]) -> str:
        known = self._client.get_experiment_by_name("burnish")
        experiment = known.experiment_id if known else self._client.create_experiment("burnish")
        run: str = self._client.create_run(experiment, run_name=config.name).info.run_id
        self._client.log_batch(run, params=[param(name, text) for name, text in flat(config.to_dict())])
        return run

    def log(self, row: Row) -> None:
        """Write all metrics in one call."""
        now, step = int(time.time() * 1000), position(row)
        self._client.log_batch(
            self.run, metrics=[self._metric(name, float(value), now, step) for name, value in row.items()]
        )

    def close(self) -> None:
        """Mark the run as finished."""
        self._client.set_terminated(self.run)


class Wandb:
    """A run of Weights & Biases; offline it is a folder, which `wandb sync` uploads."""

    def __init__(self, folder: Path, config: Config, run: str) -> None:
        try:
            import wandb
        except ImportError:
            raise MissingTool(missing("wandb", "wandb", 'set track.wandb = ""')) from None
        self.run = run or uuid.uuid4().hex[:8]
        self._run = wandb.init(
            project=config.track.wandb,
            name=config.name,
            id=self.run,
            resume="allow",
            dir=str(folder),
            mode=config.track.wandb_mode,
            config=config.to_dict(),
            settings=wandb.Settings(silent=True, console="off"),
        )

    def log(self, row: Row) -> None:
        """Write all metrics in one call."""
        self._run.log(dict(row), step=position(row))

    def close(self) -> None:
        """Mark the run as finished."""
        self._run.finish()


def open_trackers(folder: Path, config: Config, begin: int) -> list[Tracker]:
    """Open the trackers that a configuration names, beside the JSON lines.

    The run's folder keeps its identifiers in MLflow and wandb. `begin` is the first position to log, from
    which a killed process's rows are replaced; 0 for a new run.

    Raises:
        MissingTool: a package is not installed.
        InputError: MLflow cannot use its URI.
    """
    path = folder / NAMES
    names: dict[str, str] = json.loads(path.read_text()) if path.exists() and begin else {}
    trackers: list[Tracker] = []
    if config.track.tensorboard:
        trackers.append(TensorBoard(folder, config, begin))
    if config.track.mlflow:
        trackers.append(mlflow := MLflow(config.track.mlflow, config, names.get("mlflow", "")))
        names["mlflow"] = mlflow.run
    if config.track.wandb:
        trackers.append(run := Wandb(folder, config, names.get("wandb", "")))
        names["wandb"] = run.run
    if names:
        write_atomically(path, json.dumps(names).encode())
    return trackers


def missing(package: str, extra: str, otherwise: str) -> str:
    """Return an error message with the command that installs a package, and the setting that avoids it."""
    return f"{package} is not installed; {install(extra)}, or {otherwise}"


def flat(table: Mapping[str, Any], prefix: str = "") -> Sequence[tuple[str, str]]:
    """Return the leaves of nested tables: (dotted key, text)."""
    leaves: list[tuple[str, str]] = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            leaves += flat(value, f"{prefix}{key}.")
        else:
            leaves.append((f"{prefix}{key}", str(value)))
    return leaves


def plot_log(log: Path, picture: Path) -> None:
    """Draw the metrics of a log into a file: .png, .svg or .pdf. The score and the return are large.

    Raises:
        MissingTool: matplotlib is not installed.
        InputError: the log does not exist.
    """
    try:
        from matplotlib.figure import Figure  # not pyplot, which keeps figures and needs a display
    except ImportError:
        raise MissingTool(missing("matplotlib", "train", "set track.curves = false")) from None
    rows = read_log(log)
    names = shown(rows)
    large = [name for name in names if name in LARGE]
    small = [name for name in names if name not in LARGE]
    heights = [2.8] * len(large) + [1.7] * -(-len(small) // COLUMNS)
    figure = Figure(figsize=(10, max(1.0, sum(heights) + 0.4)), layout="constrained")
    if heights:
        grid = figure.add_gridspec(len(heights), COLUMNS, height_ratios=heights)
        for number, name in enumerate(large):
            _draw(figure.add_subplot(grid[number, :]), rows, name, letters=12)
        for number, name in enumerate(small):
            row, column = divmod(number, COLUMNS)
            _draw(figure.add_subplot(grid[len(large) + row, column]), rows, name, letters=9)
    figure.supxlabel("steps" if any("steps" in row for row in rows) else "iteration", fontsize=10)
    figure.savefig(picture, dpi=110)


def _draw(axes: Axes, rows: Sequence[dict[str, Any]], name: str, letters: int) -> None:
    """Draw one metric, with letters of this size in points."""
    from matplotlib.ticker import EngFormatter

    x, y = curve(rows, name)
    axes.plot(x, y, color="#0072b2", marker="." if len(x) < 30 else "", linewidth=1.4)
    axes.set_title(LARGE.get(name, name), loc="left", fontsize=letters)
    axes.tick_params(labelsize=max(8, letters - 2))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))  # such as 20k
    axes.grid(color="#e2e5e9")
    axes.spines[["top", "right"]].set_visible(False)
    if name == "validation/ratio":
        axes.axhline(1.0, color="#59636f", linewidth=1.0, linestyle="--")  # as good as the reference


def shown(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of at most MOST metrics that change: those in FIRST, losses, others, validation."""
    names = dict.fromkeys(name for row in rows for name in row)
    rest = [name for name in names if name not in (*FIRST, *LEFT_OUT, *TIMES)]
    rest.sort(key=lambda name: (not name.startswith("loss"), name.startswith("validation/")))
    return [name for name in (*FIRST, *rest) if len(set(curve(rows, name)[1])) > 1][:MOST]


def curve(rows: Sequence[dict[str, Any]], name: str) -> tuple[list[int], list[float]]:
    """Return the positions and values of a metric, from the rows that have one."""
    points = [(position(row), row[name]) for row in rows if row.get(name) is not None]
    return [x for x, _ in points], [y for _, y in points]
