"""What is asked of the optimizer for one link: the user's options, and what the link itself says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from burnish.cc import shares
from burnish.cc.file_budget import CODE_SHARE, FileBudget
from burnish.cc.link.merging import Link, Merged
from burnish.cc.linked import Linked
from burnish.cc.outcomes import SYNONYMS
from burnish.cc.requests import DEFAULT_OBJECTIVE, OptimizeRequest

# A search ends after so many evaluations without a gain: see burnish.cc.outcomes.
_LEAST_PATIENCE, _BYTES_OF_PATIENCE = 256, 16


def level_request(link: Link, merged: Merged) -> OptimizeRequest:
    """Return the request without a search's budget."""
    options = link.options
    return OptimizeRequest(
        name=link.program.name,
        objective=options.objective or DEFAULT_OBJECTIVE,
        speed_limit=options.speed_limit,
        level=SYNONYMS.get(merged.level, merged.level),
        budget_seconds=None,
        seed=options.seed,
        search=options.search,
        policy=options.policy,
        code_share=CODE_SHARE if options.searches_code else 0.0,
        memory=options.memory,
        clock=link.compiled.clock,
    )


@contextmanager
def search_request(
    link: Link, merged: Merged, before: Linked, level: Linked | None
) -> Iterator[OptimizeRequest | None]:
    """Yield the request to the search; None where the build's budget is used up.

    Args:
        link: Of the program.
        merged: Its module.
        before: The linker's own program.
        level: The program of the module after the level's own passes, where there is one. What that has less
            of code and read-only data than the linker's own, a search may spend on smaller unwind tables.
    """
    base = level_request(link, merged)
    code_bytes = before.of_kind("code")
    base = replace(base, patience=max(_LEAST_PATIENCE, code_bytes // _BYTES_OF_PATIENCE))
    if level:
        base = replace(base, code_growth=max(1.0, constant_bytes(before) / max(1, constant_bytes(level))))
    if link.options.build_seconds is None:
        yield _within(base, link.options.budget, merged, link)
        return
    with shares.share(link.options, merged.clang_seconds, link.compiled.clock) as share:
        yield _within(base, FileBudget(seconds=share), merged, link) if share else None


def constant_bytes(linked: Linked) -> int:
    """Return the bytes of code and read-only data, which is what caches see at run time."""
    return linked.of_kind("code") + linked.of_kind("read-only data")


def _within(base: OptimizeRequest, budget: FileBudget, merged: Merged, link: Link) -> OptimizeRequest:
    """Return the request of a search; a multiple counts all since clang had compiled the first unit."""
    until = budget.until(merged.clang_seconds, link.compiled.ended - merged.spent_seconds)
    if budget.seconds is not None:
        until = base.clock.now() + budget.seconds  # what is tried before the search counts as well
    return replace(
        base,
        evaluations=budget.evaluations,
        until=until,
        remembered=budget.remembered,
        code_share=budget.code_share(merged.clang_seconds) if base.code_share else 0.0,
    )
