"""SLURM's job arrays, or processes of this machine, by submitit."""

from __future__ import annotations

import logging
import subprocess
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from burnish.cluster.content import pack, read_content, unpack
from burnish.cluster.engine import Batch, Ended
from burnish.cluster.shards import do
from burnish.core.errors import InputError, MissingTool, install
from burnish.files import write_atomically

POLL_SECONDS = 0.5
DEFAULTS = {"cpus_per_task": 1, "timeout_min": 240}  # submitit's own limit is some minutes
GONE_SECONDS = 30.0  # a job that is no longer queued and has no result after so long was lost
BATCHES, CONTENT, LOGS = "batches", "content", "submitit"


class PackedBatch:
    """A batch on disk, which submitit calls in a job; a job that is preempted is queued again."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder, self.number = folder, number

    def __call__(self) -> int:
        """Do the shards; return their number."""
        path = self.folder / BATCHES / f"{self.number}.pickle"
        batch: Batch = unpack(path.read_bytes(), partial(read_content, self.folder / CONTENT))
        return sum(1 for _ in do(batch, self.folder))

    def checkpoint(self, *_: Any, **__: Any) -> Any:
        """Return the submission for a requeued job: the same batch, whose finished shards are skipped."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def slurm_cores(partition: str = "") -> int:
    """Return the number of cores of SLURM's nodes, in a partition or in all.

    Raises:
        MissingTool: SLURM is not installed, or does not answer.
    """
    command = ["sinfo", "--noheader", "--format=%C", *([f"--partition={partition}"] if partition else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise MissingTool("--on slurm: sinfo is not on PATH; run it on a node where sbatch works") from None
    except subprocess.CalledProcessError as error:
        raise MissingTool(f"--on slurm: {error.stderr.strip()}") from None
    return sum(int(line.split("/")[-1]) for line in done.stdout.split())  # allocated/idle/other/total


class SubmititEngine:
    """Jobs of submitit, in a folder that all nodes share."""

    def __init__(self, folder: Path, *, cluster: str, slots: int, settings: Mapping[str, Any]) -> None:
        """Open submitit's executor.

        Args:
            folder: The run's folder.
            cluster: "slurm", or "local" for processes of this machine.
            slots: The most jobs at a time.
            settings: submitit's parameters, such as {"slurm_partition": "main", "timeout_min": 60}.

        Raises:
            MissingTool: submitit or sbatch is not installed.
            InputError: submitit does not know a parameter.
        """
        try:
            import submitit
        except ImportError:
            raise MissingTool(f"submitit is not installed: {install('cluster')}") from None
        logging.getLogger("submitit").setLevel(logging.ERROR)  # it warns at each poll without accounting
        self.folder, self.slots, self.most = folder.resolve(), slots, 2048  # a job takes a second to start
        self._cluster = cluster
        for part in (BATCHES, CONTENT, LOGS):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        try:
            self._executor = submitit.AutoExecutor(self.folder / LOGS / "%j", cluster=cluster)
            array = {"slurm_array_parallelism": slots} if cluster == "slurm" else {}
            self._executor.update_parameters(**{**DEFAULTS, **settings, **array})
        except RuntimeError as error:
            raise MissingTool(f"--on slurm: {error}") from None
        except (NameError, TypeError, ValueError) as error:
            raise InputError(f"[slurm]: {error}") from None
        self._waiting: list[int] = []
        self._jobs: dict[int, Any] = {}
        self._gone: dict[int, float] = {}  # when a job was first seen neither queued nor with a result

    def begin(self, number: int, batch: Batch) -> None:
        """See Engine; the job is submitted by the next call of `ended`, together with others."""
        write_atomically(self.folder / BATCHES / f"{number}.pickle", pack(tuple(batch), self._put))
        self._waiting.append(number)

    def ended(self, seconds: float) -> list[Ended]:
        """See Engine."""
        self._submit()
        end = time.monotonic() + seconds
        while True:
            found = self._over()
            if found or time.monotonic() >= end:
                return found
            time.sleep(POLL_SECONDS)

    def close(self) -> None:
        """See Engine."""
        for job in self._jobs.values():
            job.cancel(check=False)
        self._jobs.clear()

    def _put(self, digest: str, content: bytes) -> None:
        path = self.folder / CONTENT / digest
        if not path.exists():
            write_atomically(path, content)

    def _submit(self) -> None:
        whole = self._cluster == "slurm" and not self._jobs  # an array, whose parallelism SLURM limits
        room = len(self._waiting) if whole else max(0, self.slots - len(self._jobs))
        numbers, self._waiting = self._waiting[:room], self._waiting[room:]
        if numbers:
            jobs = self._executor.map_array(
                PackedBatch.__call__, [PackedBatch(self.folder, n) for n in numbers]
            )
            self._jobs |= dict(zip(numbers, jobs, strict=True))

    def _over(self) -> list[Ended]:
        queued = self._queued()
        found = []
        for number, job in list(self._jobs.items()):
            if job.paths.result_pickle.exists():
                found.append(Ended(number, _reason(job)))
            elif self._is_gone(number, job, queued):
                lost = f"job {job.job_id} ended without a result; see {job.paths.stderr}"
                found.append(Ended(number, lost))
            else:
                continue
            del self._jobs[number]
            self._gone.pop(number, None)
        if found:
            self._submit()
        return found

    def _is_gone(self, number: int, job: Any, queued: set[str] | None) -> bool:
        if self._cluster != "slurm":
            return bool(job.done()) and not job.paths.result_pickle.exists()
        if queued is None or job.job_id in queued or job.job_id.split("_")[0] in queued:
            self._gone.pop(number, None)
            return False
        return time.monotonic() - self._gone.setdefault(number, time.monotonic()) > GONE_SECONDS

    def _queued(self) -> set[str] | None:
        """Return the numbers of queued and running jobs; None if unknown."""
        if self._cluster != "slurm" or not self._jobs:
            return None
        numbers = sorted({job.job_id.split("_")[0] for job in self._jobs.values()})
        command = ["squeue", "--noheader", "--array", "--format=%i", f"--jobs={','.join(numbers)}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:  # squeue fails once all jobs are forgotten
            return set() if "Invalid job id" in done.stderr else None
        return set(done.stdout.split())


def _reason(job: Any) -> str:
    """Return the last line of a job's error; "" if the batch ended."""
    outcome, value = job._get_outcome_and_result()
    return "" if outcome == "success" else str(value).strip().splitlines()[-1]
