"""Names of datasets' programs: cbench-v1/qsort, cbench-v1/qsort@2, and CompilerGym's forms."""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from collections.abc import Sequence
from functools import partial

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.core.program_source import Programs
from burnish.llvm.corpora.datasets.import_files import dataset_folder
from burnish.llvm.corpora.datasets.runs import input_names, stored_workload
from burnish.llvm.corpora.datasets.table import Dataset, datasets, find_dataset
from burnish.llvm.corpora.store import Corpus, open_corpus

SCHEMES = ("benchmark://", "generator://")  # of CompilerGym
GENERATORS = {"csmith-v0": "csmith", "llvm-stress-v0": "llvm-stress"}  # CompilerGym's name and ours
INPUTS = re.compile(r"(?P<name>.*?)(?:@(?P<inputs>[\w,*]+)|\?dataset=(?P<index>\d+))?$")


def canonical(text: str) -> str:
    """Return burnish's name for one of CompilerGym's; any other text unchanged.

    Raises:
        InputError: the name is a generator's without a seed.
    """
    name = text
    for scheme in SCHEMES:
        name = name.removeprefix(scheme)
    generator, _, seed = name.partition("/")  # or a dataset, and a program
    if generator in GENERATORS:
        ours = GENERATORS[generator]
        if not seed:
            raise InputError(f"{text}: expected a seed too: {text}/0, or seeds, such as {ours}:0..999")
        return f"{ours}:{seed}"
    known = {dataset.id for dataset in datasets().values()}
    return generator.lower() + name[len(generator) :] if generator.lower() in known else name


def is_dataset_name(text: str) -> bool:
    """Return whether a text has the form of a dataset's name, burnish's or CompilerGym's."""
    first = canonical(text).partition("/")[0].partition("@")[0]
    if first.partition(":")[0] in GENERATORS.values():
        return False
    return text.startswith(SCHEMES) or first in {dataset.id for dataset in datasets().values()}


def dataset_of(text: str) -> Dataset:
    """Return the dataset in a name."""
    return find_dataset(canonical(text).partition("/")[0].partition("@")[0])


def dataset_programs(text: str) -> Sequence[Program]:
    """Return the programs that a dataset's name stands for, each with its first input.

    Names are cbench-v1, cbench-v1/qsort and cbench-v1/q*; behind them @2,3 names inputs, @* all inputs.

    Raises:
        InputError: the dataset is not imported; the message has the command.
        UnknownName: the dataset has no such program, or the program has no such input.
    """
    corpus, name, inputs = _parts(text)
    if not any(letter in name for letter in "*?[") and "/" in name:
        return [_with_inputs(corpus, corpus.find(name), inputs)]
    if "/" in name:
        found = corpus.where(lambda row: fnmatch.fnmatchcase(row.name, name))
        if not len(found):
            raise UnknownName.among(
                f"program in {corpus.folder}", name, [row.name for row in corpus.programs]
            )
        corpus = found
    if not inputs:
        return corpus
    names = [row.name for row in corpus.programs]
    return Programs(names, partial(_open, corpus, inputs))


def dataset_names(text: str) -> list[str]:
    """Return the full names of the programs that a dataset's name stands for, with its inputs."""
    programs, (_, name, inputs) = dataset_programs(text), _parts(text)
    ending = f"@{inputs}" if inputs else ""
    if isinstance(programs, Corpus):
        return [row.name for row in programs.programs]
    if isinstance(programs, Programs):
        return [f"{one}{ending}" for one in programs.names]
    return [f"{name}{ending}"]


def project_of(text: str) -> str:
    """Return a program's project: its folder in the dataset, or itself if it is in none."""
    name = canonical(text).partition("@")[0]
    folder = name.rpartition("/")[0]
    return folder if "/" in folder else name


def with_all_inputs(program: Program, names: Sequence[str] | None) -> Program:
    """Return a dataset's program with the named inputs (None: all); unchanged if it cannot be run."""
    dataset, _, path = program.name.partition("/")
    workload = stored_workload(dataset_folder(find_dataset(dataset)), path, names)
    return dataclasses.replace(program, workload=workload) if workload else program


def _parts(text: str) -> tuple[Corpus, str, str]:
    """Return the corpus, the name without inputs, and the inputs: "2,3", "*" or ""."""
    dataset = dataset_of(text)
    folder = dataset_folder(dataset)
    if not folder.is_dir():
        raise InputError(
            f"{text}: {dataset.id} is not imported; burnish does not ship it. Get {dataset.obtain}, then: "
            f"burnish corpus import {dataset.name} FOLDER"
        )
    found = INPUTS.fullmatch(canonical(text))
    assert found  # the pattern takes any text
    if found["index"] is None:
        return open_corpus(folder), found["name"], found["inputs"] or ""
    known = input_names(folder, found["name"].partition("/")[2])
    number = int(found["index"])  # CompilerGym counts from 0
    if number >= len(known):
        raise UnknownName.among(f"input of {found['name']}", number, map(str, range(len(known))))
    return open_corpus(folder), found["name"], known[number]


def _open(corpus: Corpus, inputs: str, name: str) -> Program:
    return _with_inputs(corpus, corpus.find(name), inputs)


def _with_inputs(corpus: Corpus, program: Program, inputs: str) -> Program:
    if not inputs:
        return program
    path = program.name.partition("/")[2]
    names = None if inputs == "*" else inputs.split(",")
    workload = stored_workload(corpus.folder, path, names)
    if workload is None:
        raise InputError(f"{program.name}@{inputs}: this program has no inputs; expected {program.name}")
    return dataclasses.replace(program, workload=workload)
