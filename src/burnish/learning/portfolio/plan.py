"""How much of each stage of the training."""

from __future__ import annotations

from dataclasses import dataclass, field

from burnish.learning.portfolio.network import SequenceValuesConfig
from burnish.learning.training.collect import WORTH_KEEPING


@dataclass(frozen=True)
class Plan:
    """The keys of [algorithm]: how much of each stage."""

    objectives: tuple[str, ...] = ()
    """Searched for in turn, and measured; by default the configuration's own, which the policy is for."""
    observations: tuple[str, ...] = ()  # what the policy sees; by default the task's first one
    search: str = "12s"  # budget for each program
    searched: int = 400  # programs
    worth: float = WORTH_KEEPING  # reference / cost from which a trace is a candidate
    portfolio_programs: int = 200  # programs that the portfolio evolves on,
    slowest: float = 0.15  # those on which the reference takes no more seconds
    generations: int = 60
    strongest: int = 40  # traces of the search, those that gained most, beside the portfolio
    left_to_sites: tuple[str, ...] = ()  # beginnings of actions that only suffixes have
    also: tuple[str, ...] = ()  # policies, names or files, whose sequences are candidates as well
    size: int = 64  # sequences in the portfolio, at most
    table: int = 300  # programs that the portfolio is applied to
    suffixes: int = 32  # kept, at most
    suffix_programs: int = 150  # programs that suffixes are learned on
    jobs: int = 0  # programs at a time; 0: as many as there are cores
    chunk: int = 16  # programs in an iteration
    state: str = (
        ""  # the folder of the stages' files, shared by runs for other objectives; the run's own by default
    )
    fit: SequenceValuesConfig = field(default_factory=SequenceValuesConfig)
