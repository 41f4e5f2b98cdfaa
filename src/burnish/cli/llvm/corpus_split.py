"""burnish corpus split: the splits of a corpus, and changes of them."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from burnish.cli.llvm.corpus_tables import show_splits
from burnish.console.table_forms import form_of
from burnish.core.errors import InputError, UnknownName
from burnish.llvm.corpora.splits import assign_splits, file_of, group_of, remove_splits, write_splits
from burnish.llvm.corpora.store import SPLITS, Corpus, open_corpus


def split(options: argparse.Namespace) -> int:
    """Show the splits, after assigning or resetting them if the options ask for that.

    Raises:
        InputError: the shares cannot be parsed, or there is no corpus.
    """
    corpus = open_corpus(options.folder)
    if options.by_file and not options.assign:
        raise InputError("--by-file: expected --assign too, such as --assign train=8,val=1,test=1")
    problem = ""
    if options.reset:
        remove_splits(options.folder)
    elif options.assign:
        problem = _assign(options, corpus)
    show_splits(open_corpus(options.folder), form_of(options))
    if problem:
        print(problem, file=sys.stderr)
    return 0


def _assign(options: argparse.Namespace, corpus: Corpus) -> str:
    """Assign programs to splits; return a warning if a split is empty, or ""."""
    shares = _shares(options.assign)
    group = file_of if options.by_file else group_of
    groups: Counter[str] = Counter()
    for row in corpus.rows:
        groups[group(row)] += row.is_program
    splits = assign_splits(groups, shares, options.seed)
    write_splits(options.folder, splits, options.seed)
    filled = {splits[name] for name, programs in groups.items() if programs}
    empty = sorted(name for name, share in shares.items() if share and name not in filled)
    if not empty:
        return ""
    kind, remedy = "folder", "add --by-file to split file by file"
    if options.by_file:
        kind, remedy = "file", "ask for fewer splits, or add programs"
    names = sorted(name for name, programs in groups.items() if programs)
    shown = f"one {kind}, {names[0]}" if len(names) == 1 else f"{len(names)} {kind}s"
    return (
        f"{options.folder}: {' and '.join(empty)} got no program. "
        f"The {groups.total()} programs are in {shown}, and a {kind} is in one split only; {remedy}."
    )


def _shares(text: str) -> dict[str, float]:
    """Parse shares such as 'train=8,val=1,test=1'.

    Raises:
        InputError: the text has another form.
        UnknownName: there is no such split.
    """
    try:
        shares = {name: float(share) for name, share in (part.split("=") for part in text.split(","))}
    except ValueError:
        raise InputError(f"--assign {text}: expected shares such as train=8,val=1,test=1") from None
    for name in shares:
        if name not in SPLITS:
            raise UnknownName.among("split", name, SPLITS)
    return shares
