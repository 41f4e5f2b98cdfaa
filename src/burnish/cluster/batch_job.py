"""A training as a job of SLURM: a script for sbatch, which is queued again until the training ends.

Some minutes before its time ends, and when another job preempts it, SLURM sends a signal. The training then
ends after its iteration, with a checkpoint, and the job is queued again as the same job and the same run.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from burnish.cluster.ranks import RESTARTS
from burnish.core.errors import InputError, MissingTool
from burnish.files import write_atomically
from burnish.learning.training.loop import STOP

SCRIPT, LOG = "job.sh", "slurm.log"
IN_JOB = "BURNISH_JOB"  # set in the job: the same command then trains, and submits nothing
WARNING_SECONDS = 180  # before the end of the job's time; longer than an iteration should take

# Options by submitit's names, which are those of [slurm] for other commands; slurm_NAME is --NAME.
NAMES = {
    "timeout_min": "--time={}",
    "mem_gb": "--mem={}G",
    "cpus_per_task": "--cpus-per-task={}",
    "gpus_per_node": "--gpus-per-node={}",
    "nodes": "--nodes={}",
}

TEXT = """\
#!/bin/bash
{directives}
# Written by burnish train --on slurm. The command continues from the last checkpoint in {folder}.
cd {here} || exit 2
export {in_job}=1
stop={stop}
asked=
trap 'asked=1; touch "$stop"' USR1 TERM
rm -f "$stop"
for generation in $(seq 0 {restarts}); do
    MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
    MASTER_PORT=$((20000 + (SLURM_JOB_ID * 16 + generation) % 10000))
    export MASTER_ADDR MASTER_PORT
    srun --kill-on-bad-exit=1 bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS exec "$@"' rank \\
        {command} &
    running=$!
    while kill -0 "$running" 2>/dev/null; do wait "$running"; code=$?; done
    if [ $code = 0 ] && [ ! -e "$stop" ]; then exit; fi
    if [ -n "$asked" ]; then scontrol requeue "$SLURM_JOB_ID"; exit; fi
    case $code in 0 | 2) exit $code ;; esac  # stopped by hand, or an error that another start would repeat
    echo "burnish: exit code $code; all ranks begin again from the last checkpoint"
done
exit $code
"""


def submit(
    folder: Path, command: Sequence[str], *, tasks: int, name: str, options: Mapping[str, Any] = {}
) -> str:
    """Submit a training; return the job's number.

    Args:
        folder: The run's folder, which gets the script and the job's log.
        command: The arguments of burnish, which the job runs in this working directory.
        tasks: The number of tasks, one for each rank.
        name: The job's name.
        options: Options of sbatch by submitit's names: {"slurm_partition": "main", "timeout_min": 60}.

    Raises:
        MissingTool: sbatch is not on PATH.
        InputError: an option is unknown, or SLURM refuses the job.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder.resolve() / SCRIPT
    write_atomically(
        path, script(folder.resolve(), command, tasks=tasks, name=name, options=options).encode()
    )
    try:
        done = subprocess.run(["sbatch", "--parsable", str(path)], capture_output=True, text=True)
    except FileNotFoundError:
        raise MissingTool("--on slurm: sbatch is not on PATH; run it on a node where sbatch works") from None
    if done.returncode:
        raise InputError(f"--on slurm: {done.stderr.strip()}")
    return done.stdout.strip().partition(";")[0]


def script(
    folder: Path, command: Sequence[str], *, tasks: int, name: str, options: Mapping[str, Any] = {}
) -> str:
    """Return the script for sbatch; see `submit`.

    Raises:
        InputError: an option is unknown.
    """
    given = {
        f"--job-name=burnish-{name}": True,
        f"--output={folder / LOG}": True,
        "--open-mode=append": True,
        "--requeue": True,
        f"--signal=B:USR1@{WARNING_SECONDS}": True,
        f"--ntasks={tasks}": True,
    }
    given |= {_directive(key, value): True for key, value in options.items() if key != "slots"}
    return TEXT.format(
        directives="\n".join(f"#SBATCH {one}" for one in given),
        folder=folder,
        here=shlex.quote(str(Path.cwd())),
        in_job=IN_JOB,
        stop=shlex.quote(str(folder / STOP)),
        restarts=RESTARTS,
        command=shlex.join([sys.executable, "-m", "burnish.cli", *command]),
    )


def _directive(key: str, value: Any) -> str:
    if key in NAMES:
        return NAMES[key].format(value)
    if match := re.fullmatch(r"slurm_(\w+)", key):
        option = match[1].replace("_", "-")
        return f"--{option}" if value is True else f"--{option}={value}"
    raise InputError(f"[slurm]: {key}: expected slots, slurm_NAME for sbatch's --NAME, or {', '.join(NAMES)}")
