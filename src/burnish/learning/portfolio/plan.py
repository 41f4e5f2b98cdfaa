"""Configuration of the stages of the training."""

from __future__ import annotations

from dataclasses import dataclass, field

from burnish.learning.portfolio.network import SequenceValuesConfig
from burnish.learning.training.collect import WORTH_KEEPING


@dataclass(frozen=True)
class Plan:
    """The keys of [algorithm]: the effort of each stage."""

    objectives: tuple[str, ...] = ()
    """Objectives that are searched for by turns, and all measured; by default the policy's own."""
    observations: tuple[str, ...] = ()  # input of the policy; by default the task's first observation
    search: str = "12s"  # budget for each program
    searched: int = 400  # programs to search
    worth: float = WORTH_KEEPING  # least reference / cost of a trace that becomes a candidate
    portfolio_programs: int = 200  # programs that the portfolio evolves on
    slowest: float = 0.15  # seconds; only programs on which the reference takes no longer
    generations: int = 60
    strongest: int = 40  # traces of the search with the largest gains, added to the portfolio
    left_to_sites: tuple[str, ...] = ()  # prefixes of the actions that only suffixes may have
    also: tuple[str, ...] = ()  # policies, by name or file, whose sequences are further candidates
    size: int = 64  # most sequences in the portfolio
    table: int = 300  # programs that the portfolio is applied to
    suffixes: int = 32  # most suffixes that are kept
    suffix_programs: int = 150  # programs that suffixes are learned on
    jobs: int = 0  # programs in parallel; 0: the number of cores
    chunk: int = 16  # programs in an iteration
    state: str = (
        ""  # folder of the stages' files, which runs for other objectives may share; by default the run's own
    )
    fit: SequenceValuesConfig = field(default_factory=SequenceValuesConfig)
