"""Trainings as jobs of SLURM: by programs that stand in for it, and by SLURM where it runs."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.cli.train import main
from burnish.cluster.batch_job import script, submit
from burnish.core.errors import InputError, MissingTool
from tests.cluster.conftest import needs_slurm
from tests.cluster.trainings import curve
from tests.waiting import wait_until

# A job is the process group of its script; its state is in $STATE: pid, requeued, over.
SBATCH = """\
#!/bin/bash
script=${@: -1}
export SLURM_JOB_ID=$$ SLURM_JOB_NODELIST=here SLURM_RESTART_COUNT=0
export SLURM_NTASKS=$(sed -n 's/^#SBATCH --ntasks=//p' "$script")
log=$(sed -n 's/^#SBATCH --output=//p' "$script")
echo "$$"
(
    while :; do
        bash "$script" >>"$log" 2>&1 &
        echo $! >"$STATE/pid.new"; mv "$STATE/pid.new" "$STATE/pid"
        wait $!
        [ -e "$STATE/requeued" ] || break
        mv "$STATE/requeued" "$STATE/was_requeued"
    done
    touch "$STATE/over"
) >/dev/null 2>&1 &
"""
SCONTROL = """\
#!/bin/bash
case $1 in
    show) echo localhost ;;
    requeue) touch "$STATE/requeued" ;;
esac
"""
SRUN = """\
#!/bin/bash
while [[ $1 == --* ]]; do shift; done
for rank in $(seq 0 $((SLURM_NTASKS - 1))); do
    SLURM_PROCID=$rank "$@" &
    pids+=($!)
done
worst=0
for _ in "${pids[@]}"; do
    wait -n; code=$?
    if [ $code != 0 ]; then worst=$code; kill -KILL "${pids[@]}" 2>/dev/null; fi
done
exit $worst
"""
TRAINING = (
    "smoke --set algorithm.name=dd-ppo --set algorithm.preempt=1.0 --set algorithm.steps=8 "
    "--set environment.max_steps=4 --set run.checkpoint_every=1 --set run.validate_every=20 "
    "--set track.tensorboard=false --set track.curves=false --set run.iterations=20"
).split()


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put programs on PATH that stand in for SLURM; return the folder of the job's state."""
    folder = tmp_path / "bin"
    state = tmp_path / "state"
    state.mkdir()
    folder.mkdir()
    for name, text in (("sbatch", SBATCH), ("scontrol", SCONTROL), ("srun", SRUN)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("STATE", str(state))
    return state


def log_of(folder: Path) -> str:
    return (folder / "slurm.log").read_text()


def rows(folder: Path) -> int:
    log = folder / "log.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def test_a_job_that_is_warned_is_queued_again_and_is_the_same_run(slurm: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert main([*TRAINING, "--on", "slurm", "--processes", "2", "--out", str(out)]) == 0
    wait_until(lambda: rows(out) > 3)
    os.kill(int((slurm / "pid").read_text()), signal.SIGUSR1)
    wait_until((slurm / "over").exists)
    assert (slurm / "was_requeued").exists()
    assert not (out / "stop").exists()
    log = log_of(out)
    assert log.count("stopped after iteration") == 1
    assert "resuming after iteration" in log
    again = tmp_path / "undisturbed"
    assert main([*TRAINING, "--processes", "2", "--out", str(again), "-q"]) == 0
    assert curve(out) == curve(again)


@pytest.mark.slow
def test_a_rank_that_dies_in_a_job_costs_no_more_than_its_iteration(slurm: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert main([*TRAINING, "--on", "slurm", "--processes", "2", "--out", str(out)]) == 0
    wait_until(lambda: rows(out) > 3)
    ranks = subprocess.run(["pgrep", "-f", f"burnish.cli train.*{out}"], capture_output=True, text=True)
    os.kill(max(map(int, ranks.stdout.split())), signal.SIGKILL)
    wait_until((slurm / "over").exists)
    log = log_of(out)
    assert "all ranks begin again from the last checkpoint" in log
    assert [row["iteration"] for row in curve(out)] == list(range(21))


def test_an_error_of_the_configuration_ends_the_job(slurm: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    wrong = ["smoke", "--set", "algorithm.unknown=1", "--out", str(out)]
    submit(out, ["train", *wrong], tasks=1, name="wrong")
    wait_until((slurm / "over").exists)
    assert log_of(out).count("unknown") == 1


def test_the_script_has_the_options_and_the_command(tmp_path: Path) -> None:
    options = {"slurm_partition": "main", "timeout_min": 90, "mem_gb": 8, "slurm_exclusive": True, "slots": 4}
    text = script(tmp_path, ["train", "a b", "--on", "slurm"], tasks=3, name="smoke", options=options)
    wanted = ("partition=main", "time=90", "mem=8G", "exclusive", "ntasks=3", "requeue", "signal=B:USR1@180")
    for one in wanted:
        assert f"\n#SBATCH --{one}\n" in text
    assert f"{shlex.quote(sys.executable)} -m burnish.cli train 'a b' --on slurm &\n" in text
    assert subprocess.run(["bash", "-n"], input=text, text=True).returncode == 0


def test_wrong_jobs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"\[slurm\]: partition: expected slots, slurm_NAME"):
        script(tmp_path, [], tasks=1, name="x", options={"partition": "main"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match="sbatch is not on PATH; run it on a node where sbatch works"):
        submit(tmp_path / "run", ["train"], tasks=1, name="x")
    (tmp_path / "sbatch").write_text("#!/bin/sh\necho invalid partition >&2; exit 1\n")
    (tmp_path / "sbatch").chmod(0o755)
    with pytest.raises(InputError, match="--on slurm: invalid partition"):
        submit(tmp_path / "run", ["train"], tasks=1, name="x")


@needs_slurm
def test_slurm_runs_a_training(tmp_path: Path) -> None:
    out = tmp_path / "run"
    training = [*TRAINING, "--set", "run.iterations=2", "--on", "slurm", "--out", str(out)]
    assert main(training) == 0
    wait_until(lambda: (out / "slurm.log").exists() and "all iterations are done" in log_of(out))
    assert [row["iteration"] for row in curve(out)] == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.skipif("slurm_nodes() < 2", reason="no SLURM of two nodes runs here")
def test_a_job_on_two_nodes_learns_what_one_machine_learns(tmp_path: Path) -> None:
    out, again, engines = tmp_path / "run", tmp_path / "local", tmp_path / "engines.toml"
    engines.write_text("[slurm]\nnodes = 2\nslurm_ntasks_per_node = 1\n")
    where = ["--on", "slurm", "--engine-options", str(engines), "--out", str(out)]
    assert main([*TRAINING, "--processes", "2", *where]) == 0
    wait_until(lambda: (out / "policy.npz").exists())
    assert main([*TRAINING, "--processes", "2", "--out", str(again), "-q"]) == 0
    assert curve(out) == curve(again)


@pytest.mark.slow
@needs_slurm
@pytest.mark.parametrize("signal_name", ["USR1", "TERM"])
def test_slurm_queues_a_warned_job_again(tmp_path: Path, signal_name: str) -> None:
    out = tmp_path / "run"
    assert main([*TRAINING, "--on", "slurm", "--processes", "1", "--out", str(out)]) == 0
    wait_until(lambda: rows(out) > 3)
    (job,) = subprocess.run(
        ["squeue", "--noheader", "--format=%i", "--name=burnish-smoke"], capture_output=True, text=True
    ).stdout.split()
    subprocess.run(["scancel", f"--signal={signal_name}", "--batch", job], check=True)
    wait_until(lambda: rows(out) == 21)
    wait_until(lambda: (out / "policy.npz").exists())
    log = log_of(out)
    assert log.count("stopped after iteration") == 1
    assert [row["iteration"] for row in curve(out)] == list(range(21))
