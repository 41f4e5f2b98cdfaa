"""Random walks through a task, and snapshots of its states."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from burnish.core.errors import CompilerCrash
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import WHOLE_PROGRAM
from burnish.envs.env import Env

NEAR = 3  # number of first sites that a walk visits and a snapshot includes


def wander(session: Session, rng: np.random.Generator, steps: int, *, avoid: int = 0) -> None:
    """Apply random legal actions at random sites, except the task's last `avoid` actions; ignore crashes."""
    for _ in range(steps):
        sites = (WHOLE_PROGRAM, *session.sites()[:NEAR])
        mask = session.mask(sites).reshape(len(sites), len(session.actions))
        legal = np.argwhere(mask[:, : len(session.actions) - avoid])
        if not len(legal):
            return
        site, action = rng.choice(legal)
        with contextlib.suppress(CompilerCrash):
            session.apply(int(action), sites[site])


def play(env: Env, rng: np.random.Generator) -> Iterator[tuple[Any, float, bool]]:
    """Play a random episode to its end; yield (observation, reward, truncated) after each step."""
    while True:
        action = rng.choice(np.flatnonzero(env.action_masks()))
        observed, reward, terminated, truncated, _ = env.step(action)
        yield observed, reward, truncated
        if terminated or truncated:
            return


def snapshot(task: Task, session: Session) -> dict[str, object]:
    """Return a state's reproducible parts: its digest, masks, exact costs and noise-free observations."""
    sites = session.sites()
    known: dict[str, object] = {"digest": session.digest(), "trace": tuple(session.trace), "sites": sites}
    known["mask"] = session.mask((WHOLE_PROGRAM, *sites[:NEAR]))[: len(task.actions)].tolist()
    for objective in task.exact_objectives:
        known[objective] = session.measure(objective), session.site_costs(objective)
    for name, item in task.observations.items():
        if item.noisy:
            continue
        observed = session.observe(name)
        arrays = observed if isinstance(observed, tuple) else (observed,)
        known[name] = [(str(a.dtype), a.tolist()) if isinstance(a, np.ndarray) else a for a in arrays]
    return known
