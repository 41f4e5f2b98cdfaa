"""burnish corpus export and combine: corpora in the format of ml-compiler-opt and mlgo-utils."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from burnish.llvm.corpora.mlgo import DESCRIPTION, MlgoModule, cc1_options, combine_mlgo, write_mlgo
from burnish.llvm.corpora.store import Corpus, open_corpus


def export(options: argparse.Namespace) -> int:
    """Write a corpus, or one of its parts, as an MLGO corpus, with the options for clang."""
    corpus = open_corpus(options.folder)
    if options.part:
        corpus = corpus.part(options.part)
    flags = cc1_options(options.clang or ("-Oz",))
    written = write_mlgo(options.out, _modules(corpus, flags), more={"corpus_name": options.out.name})
    print(f"{len(written.modules)} modules in {options.out / DESCRIPTION}")
    return 0


def combine(options: argparse.Namespace) -> int:
    """Write one description for all MLGO corpora in a folder."""
    written = combine_mlgo(options.out)
    print(f"{len(written.modules)} modules in {options.out / DESCRIPTION}")
    return 0


def _modules(corpus: Corpus, flags: tuple[str, ...]) -> Iterator[MlgoModule]:
    for row in corpus.programs:
        content = corpus.open(row).content
        yield MlgoModule(row.name, content if isinstance(content, bytes) else content.encode(), flags)
