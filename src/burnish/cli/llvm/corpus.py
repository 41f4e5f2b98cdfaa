"""burnish corpus: programs for training and tests, from pinned packages or the user's files."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from burnish.cli.jobs.arguments import add_engine, executor_of, split_at_dashes
from burnish.cli.llvm.corpus_tables import (
    packages_table,
    print_summary,
    programs_table,
    show_datasets,
    show_runnable,
    show_splits,
    totals_of,
)
from burnish.console.command_parser import COUNT, SEED, CommandParser, whole_number
from burnish.console.progress import Bars
from burnish.console.table_forms import add_table_form, form_of
from burnish.core.errors import InputError, UnknownName
from burnish.files import default_cache
from burnish.llvm.corpora.building import PackProgress, build
from burnish.llvm.corpora.datasets.import_files import check_split, dataset_folder, import_dataset
from burnish.llvm.corpora.datasets.table import find_dataset
from burnish.llvm.corpora.fetch import fetch
from burnish.llvm.corpora.flags import UNCHANGED, FlagChanges, cc1_options, with_changes
from burnish.llvm.corpora.kernels import Kernel, kernels
from burnish.llvm.corpora.manifest import SPLITS, Package, find_package
from burnish.llvm.corpora.mlgo import DESCRIPTION, MlgoModule, combine_mlgo, write_mlgo
from burnish.llvm.corpora.objects import base_of, find_objects, read_object
from burnish.llvm.corpora.public import default_folder, package_job, packages_of
from burnish.llvm.corpora.random_modules import SIZE, random_job
from burnish.llvm.corpora.splits import assign_splits, file_of, group_of, remove_splits, write_splits
from burnish.llvm.corpora.store import Corpus, open_corpus
from burnish.llvm.corpora.user_package import UserPackage, build_user_package
from burnish.llvm.corpora.workloads import Recipe, workloads
from burnish.workers.executor import Executor

Add = Callable[..., argparse.Action]

COMPILER = {
    "build": "--from src --folder mine -- -Iinclude",
    "import": "polybench PolyBenchC-4.2.1 -- -USMALL_DATASET -DMEDIUM_DATASET",
    "export": "out -- -Oz",
    "extract": "out build/ -- -Oz",
}

SHARDS = ".shards"  # in the folder of a corpus: the results of parts, while an engine builds it

RUNNABLE: dict[str, Callable[[], Sequence[Kernel | Recipe]]] = {"kernels": kernels, "workloads": workloads}


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    words, clang = split_at_dashes(arguments)
    options = _parser().parse(words)
    options.clang = clang
    code: int = options.run(options)
    return code


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="burnish corpus",
        description="Make and look at a corpus: thousands of programs, compressed, opened one by one. "
        "The public one is compiled from open-source packages that are pinned by digest and split by "
        "project; nothing of theirs is executed.",
        epilog="burnish corpus build --split train\nburnish corpus build --from ~/project --folder mine",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    add = _command(commands, "fetch", _fetch, "download the packages and check their digests")
    _add_packages(add)

    add = _command(commands, "build", _build, "compile; resume a build that was stopped")
    _add_packages(add)
    add("--jobs", type=COUNT, metavar="N", help="processes; default: one for each core")
    add_engine(commands.choices["build"])
    add("--limit", type=COUNT, metavar="N", help="only the first N files of each package")
    add("--again", action="store_true", help="also build what exists already")
    add("--from", dest="source", metavar="WHAT", help=_FROM_HELP)
    add("--name", default="", help="with --from: name of the package; default: its folder's name")
    add("--functions", nargs="?", const="", metavar="NAME", help="with --from: each function, or this one")
    add("--link", "--lto", action="store_true", help="with --from: one program of all files")
    add("--thinlto", action="store_true", help="with --from: each program imports functions of the others")
    add("--objects", action="store_true", help="with --from: the modules in the objects that it names")
    _add_objects(add)
    _add_flag_changes(add)
    add("--quiet", action="store_true", help="no progress")
    _add_folder(add)
    add_table_form(commands.choices["build"])

    add = _command(
        commands, "import", _import, "make a corpus of a dataset's files; without a name, list them"
    )
    add("name", nargs="?", help="the dataset: cbench, polybench, ...")
    add("files", nargs="?", type=Path, metavar="DIR", help="your folder with the dataset's files")
    add("--jobs", type=COUNT, metavar="N", help="processes; default: one for each core")
    add_engine(commands.choices["import"])
    add("--limit", type=COUNT, metavar="N", help="only the first N programs by path")
    add("--again", action="store_true", help="also build what exists already")
    add("--quiet", action="store_true", help="no progress")
    add("--folder", type=Path, metavar="DIR", help="folder of the corpus; default: where its name finds it")
    add_table_form(commands.choices["import"], json="one line of JSON for each dataset, or the manifest")

    add = _command(commands, "random", _random, "generate random programs that can be run")
    commands.choices["random"].set_defaults(again=False)
    add("--count", type=COUNT, default=100, help="default: 100")
    add("--seed", type=SEED, default=0, help="seed of the first; the others count up from it")
    add("--jobs", type=COUNT, metavar="N", help="processes; default: one for each core")
    add_engine(commands.choices["random"])
    add("--quiet", action="store_true", help="no progress")
    add("--size", type=COUNT, default=SIZE, help=f"approximate IR instructions of each; default: {SIZE}")
    add("--folder", type=Path, required=True, help="folder of the corpus to write")

    add = _command(commands, "list", _list, "list the contents of a corpus, or the programs that can be run")
    add("what", nargs="?", help="a split, a package, kernels or workloads; default: all of the corpus")
    add("--status", choices=("compiled", "failed", "skipped", "repeated"), help="default: programs only")
    add("--smallest", type=whole_number(0), default=0, metavar="N", help="IR instructions")
    add("--largest", type=whole_number(0), metavar="N", help="IR instructions")
    add("--packages", action="store_true", help="packages instead of programs")
    _add_folder(add)
    add_table_form(commands.choices["list"], json="one line of JSON for each")

    add = _command(commands, "stats", _stats, "sizes and failures by split and package")
    _add_folder(add)
    add_table_form(commands.choices["stats"], json="one JSON object")

    add = _command(commands, "split", _split, "show the projects of each split, or split your own corpus")
    add("--assign", metavar="SHARES", help="such as train=8,val=1,test=1: split folder by folder")
    add("--by-file", action="store_true", help="with --assign: split file by file")
    add("--seed", type=SEED, default=0)
    add("--reset", action="store_true", help="restore the splits of the build")
    _add_folder(add)
    add_table_form(commands.choices["split"])

    add = _command(commands, "export", _export, "write an MLGO corpus; clang's options follow a double dash")
    add("out", type=Path, help="the folder that it is written to")
    add("part", nargs="?", help="a split or a package; default: all of the corpus")
    _add_flag_changes(add)
    _add_folder(add)

    add = _command(commands, "extract", _extract, "write an MLGO corpus of the modules in a build's objects")
    add("out", type=Path, help="the folder that it is written to")
    add("source", type=Path, help=_OBJECTS_HELP)
    _add_objects(add)
    _add_flag_changes(add)

    _command(commands, "combine", _combine, "write one description for all MLGO corpora in a folder")(
        "out", type=Path, help="the folder"
    )
    return parser


_FROM_HELP = (
    "your own instead of the public packages: a folder with C, C++, .ll or .bc files, a "
    "compile_commands.json, an MLGO corpus, or a pattern such as 'build/*.bc'; options for clang, of the "
    "public packages too, follow a double dash"
)


_OBJECTS_HELP = (
    "a folder, an object or an archive (.a), a link's parameter file, a compile_commands.json, or JSON of "
    "bazel aquery --output=jsonproto"
)


def _command(
    commands: argparse._SubParsersAction[CommandParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    text: str,
) -> Add:
    called = f"burnish corpus {name} {COMPILER[name]}" if name in COMPILER else ""
    said = f"{text[0].upper()}{text[1:]}."
    parser = commands.add_parser(name, help=text, description=said, compiler=called, subcommand=True)
    parser.set_defaults(run=run)
    return parser.add_argument


def _add_objects(add: Add) -> None:
    add("--base", type=Path, metavar="DIR", help="folder in which objects were linked; default: WHAT's own")
    add(
        "--command",
        type=_regex,
        default="",
        metavar="REGEX",
        help="only objects with a -cc1 option that begins so",
    )


def _regex(text: str) -> str:
    try:
        return re.compile(text).pattern
    except re.error as error:
        raise InputError(f"{text}: {error}; expected a regular expression") from None


def _add_flag_changes(add: Add) -> None:
    add("--add-flag", action="append", default=[], metavar="FLAG", help="add a -cc1 option; repeatable")
    add("--delete-flag", action="append", default=[], metavar="NAME", help="delete options that begin so")
    add("--replace-flag", action="append", default=[], metavar="NAME=VALUE", help="give them another value")


def _flag_changes(options: argparse.Namespace) -> FlagChanges:
    """Return the changes to options that the command line names."""
    replaced = {}
    for text in options.replace_flag:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError(f"--replace-flag {text}: expected NAME=VALUE, such as -fprofile-use=new.prof")
        replaced[name] = value
    return FlagChanges(tuple(options.add_flag), tuple(options.delete_flag), replaced)


def _add_packages(add: Add) -> None:
    add("--split", metavar="NAMES", help="default: train,val,test; with --from: train")
    add("--package", action="append", default=[], metavar="NAME", help="only this one; may be repeated")
    add("--sources", type=Path, default=default_cache(), metavar="DIR", help="folder for downloads")


def _add_folder(add: Add) -> None:
    add(
        "--folder",
        type=Path,
        default=default_folder(),
        metavar="DIR",
        help="folder of the corpus; default: a cache",
    )


def _chosen(options: argparse.Namespace) -> list[Package]:
    if options.package:
        return [find_package(name) for name in options.package]
    return packages_of(_known(options.split.split(",") if options.split else SPLITS))


def _known(splits: Sequence[str]) -> Sequence[str]:
    for name in splits:
        if name not in SPLITS:
            raise UnknownName.among("split", name, SPLITS)
    return splits


def _fetch(options: argparse.Namespace) -> int:
    packages = _chosen(options)
    with FetchProgress(packages) as progress:
        for package in packages:
            progress.start(package)
            fetch(package, options.sources, progress)
    print(f"{len(packages)} packages are in {options.sources}")
    return 0


def _build(options: argparse.Namespace) -> int:
    start = time.monotonic()
    _check_build(options)
    names = _build_user_package(options) if options.source else _build_public(options)
    corpus = open_corpus(options.folder)
    form = form_of(options)
    print_summary([row for row in corpus.rows if row.package in names], form=form)
    seconds = time.monotonic() - start
    form.note(f"{len(corpus)} programs in {options.folder}, digest {corpus.digest}, after {seconds:.0f} s")
    return 0


def _check_build(options: argparse.Namespace) -> None:
    """Refuse options that would have no effect: those for the user's files with the public packages, say."""
    of_objects = {"--base": options.base, "--command": options.command}
    of_own = {"--name": options.name, "--link": options.link, "--functions": options.functions is not None}
    of_own |= {"--thinlto": options.thinlto, "--objects": options.objects, **of_objects}
    of_own |= {"--add-flag, --delete-flag, --replace-flag": _flag_changes(options) != UNCHANGED}
    of_public = {"--package": options.package, "--limit": options.limit is not None}
    wrong = of_public if options.source else of_own
    given = [name for name, value in wrong.items() if value]
    if given:
        raise InputError(f"{', '.join(given)}: only {'without' if options.source else 'with'} --from")
    changed = {
        "--from": options.source,
        "--limit": options.limit is not None,
        "options for clang": options.clang,
    }
    if options.folder == default_folder() and any(changed.values()):
        what = next(name for name, value in changed.items() if value)
        raise InputError(
            f"{what}: expected --folder too; the public corpus in {options.folder} stays as it is"
        )
    if not options.objects and (given := [name for name, value in of_objects.items() if value]):
        raise InputError(f"{', '.join(given)}: only with --objects")
    ways = {"--link": options.link, "--thinlto": options.thinlto}
    ways["--functions"] = options.functions is not None
    if len(given := [name for name, value in ways.items() if value]) > 1:
        raise InputError(f"{' and '.join(given)}: expected only one of them")


def _build_public(options: argparse.Namespace) -> list[str]:
    packages = _chosen(options)
    jobs = []
    with FetchProgress(packages, quiet=options.quiet) as fetching:
        for package in packages:
            fetching.start(package)
            root = fetch(package, options.sources, fetching)
            jobs.append(package_job(root, package, options.limit, tuple(options.clang)))
    with BuildProgress(quiet=options.quiet) as progress, _executor(options) as do:
        build(options.folder, jobs, do=do, progress=progress, again=options.again)
    return [package.name for package in packages]


def _build_user_package(options: argparse.Namespace) -> list[str]:
    own = UserPackage(
        options.source,
        options.name,
        options.split or "train",
        options.clang,
        options.functions,
        options.objects,
        options.base,
        options.command,
        _flag_changes(options),
    )
    with BuildProgress(quiet=options.quiet) as progress, _executor(options) as do:
        name = build_user_package(
            options.folder,
            own,
            link="lto" if options.link else "thinlto" if options.thinlto else "",
            do=do,
            progress=progress,
            again=options.again,
        )
    return [name]


@contextlib.contextmanager
def _executor(options: argparse.Namespace) -> Iterator[Executor]:
    """Yield the executor of a build; its shards' results are removed once the packs are complete."""
    shards = options.folder / SHARDS
    if options.again:
        shutil.rmtree(shards, ignore_errors=True)
    yield executor_of(options, shards)
    shutil.rmtree(shards, ignore_errors=True)


def _import(options: argparse.Namespace) -> int:
    if not options.name:
        show_datasets(None if options.json else form_of(options))
        return 0
    dataset = find_dataset(options.name)
    if not options.files:
        raise InputError(
            f"{dataset.id}: expected the folder with its files too: burnish corpus import {dataset.name} "
            f"DIR. Where the files are: {dataset.obtain}"
        )
    options.folder = options.folder or dataset_folder(dataset)
    with BuildProgress(quiet=options.quiet) as progress, _executor(options) as do:
        manifest = import_dataset(
            dataset,
            options.files,
            options.folder,
            flags=tuple(options.clang),
            limit=options.limit,
            do=do,
            progress=progress,
            again=options.again,
        )
    if options.json:
        print(json.dumps(asdict(manifest)))
        return 0
    corpus, form = open_corpus(options.folder), form_of(options)
    print_summary(corpus.rows, form=form)
    for program, reason in manifest.not_run.items():
        form.note(f"{program} cannot be run: {reason}")
    form.note(f"licence: {manifest.licence}")
    form.note(
        f"{len(corpus)} programs of {dataset.id} in {options.folder}, split {dataset.split}; "
        f"{manifest.runnable} can be run; digest {corpus.digest}"
    )
    return 0


def _random(options: argparse.Namespace) -> int:
    job = random_job(options.count, options.seed, options.size)
    with BuildProgress(quiet=options.quiet) as progress, _executor(options) as do:
        build(options.folder, [job], do=do, progress=progress)
    corpus = open_corpus(options.folder)
    print(f"{len(corpus)} programs in {options.folder}, digest {corpus.digest}")
    return 0


def _list(options: argparse.Namespace) -> int:
    if options.what in RUNNABLE:
        show_runnable(options.what, RUNNABLE[options.what](), None if options.json else form_of(options))
        return 0
    corpus = open_corpus(options.folder)
    if options.what:
        corpus = corpus.part(options.what)
    largest = options.largest if options.largest is not None else sys.maxsize
    rows = [
        row
        for row in corpus.rows
        if (row.status == options.status if options.status else row.is_program)
        and options.smallest <= row.instructions <= largest
    ]
    if options.packages:
        form_of(options).show(packages_table(rows))
    elif options.json:
        for row in rows:
            print(json.dumps(asdict(row)))
    else:
        form_of(options).show(programs_table(rows))
    return 0


def _stats(options: argparse.Namespace) -> int:
    corpus = open_corpus(options.folder)
    if options.json:
        print(json.dumps(totals_of(corpus)))
    else:
        form = form_of(options)
        print_summary(corpus.rows, detailed=True, form=form)
        form.note(f"{len(corpus)} programs, digest {corpus.digest}")
    return 0


def _export(options: argparse.Namespace) -> int:
    corpus = open_corpus(options.folder)
    if options.part:
        corpus = corpus.part(options.part)
    given, changes = cc1_options(options.clang or ("-Oz",)), _flag_changes(options)
    modules = (
        MlgoModule(
            row.name,
            corpus.open(row).content,
            with_changes(given if options.clang or not row.options else row.options, changes),
        )
        for row in corpus.programs
    )
    written = write_mlgo(options.out, modules, more={"corpus_name": options.out.name})
    print(f"{len(written.modules)} modules in {options.out / DESCRIPTION}")
    return 0


def _extract(options: argparse.Namespace) -> int:
    """Write the modules in objects; those without one are left out, and said."""
    left_out = []
    given, changes = cc1_options(options.clang or ("-Oz",)), _flag_changes(options)
    root = base_of(options.source, options.base)

    def modules() -> Iterator[MlgoModule]:
        for one in find_objects(options.source, options.base):
            found = read_object(one, root, options.command)
            if isinstance(found, str):
                left_out.append(f"{one.name}: {found}")
            else:
                own = given if options.clang or not found.options else found.options
                yield replace(found, options=with_changes(own, changes))

    try:
        written = write_mlgo(options.out, modules(), more={"corpus_name": options.out.name})
    except InputError as error:
        raise InputError("\n".join([str(error), *left_out[:1]])) from None
    print(f"{len(written.modules)} modules in {options.out / DESCRIPTION}")
    if left_out:
        print(f"{len(left_out)} objects left out, such as {left_out[0]}")
    return 0


def _combine(options: argparse.Namespace) -> int:
    print(f"{len(combine_mlgo(options.out).modules)} modules in {options.out / DESCRIPTION}")
    return 0


def _split(options: argparse.Namespace) -> int:
    """Show the splits, after assigning or resetting them if the options ask for that."""
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
    check_split(options.folder, [split for split, share in shares.items() if share])
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
    """Parse shares such as 'train=8,val=1,test=1'."""
    try:
        shares = {name: float(share) for name, share in (part.split("=") for part in text.split(","))}
    except ValueError:
        raise InputError(f"--assign {text}: expected shares such as train=8,val=1,test=1") from None
    _known([*shares])
    return shares


class FetchProgress(Bars):
    """A bar of downloaded bytes, on a terminal only."""

    def __init__(self, packages: Sequence[Package], *, quiet: bool = False) -> None:
        text = TextColumn("{task.description}")
        super().__init__(text, BarColumn(), DownloadColumn(), TimeElapsedColumn(), quiet=quiet)
        self._task = self._bars.add_task("fetching", total=sum(package.size_bytes for package in packages))
        self._done, self._package = 0, 0
        self._names = {package.name: number for number, package in enumerate(packages, 1)}

    def start(self, package: Package) -> None:
        """Show which package is fetched next."""
        self._done += self._package
        self._package = package.size_bytes
        which = f"fetching {package} ({self._names[package.name]} of {len(self._names)})"
        self._bars.update(self._task, description=which, completed=self._done)

    def __call__(self, done: int, total: int) -> None:
        """Show the downloaded bytes of the current package."""
        self._bars.update(self._task, completed=self._done + done)


class BuildProgress(Bars):
    """Packages, files, rate and time left: a bar on a terminal, occasional lines otherwise."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("files  {task.fields[rate]:.0f}/s "),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            quiet=quiet,
        )
        self._task = self._bars.add_task("", total=None, rate=0.0)

    def __call__(self, progress: PackProgress) -> None:
        """Show the progress of a build."""
        seconds = time.monotonic() - self._start
        rate = (progress.files_done - progress.resumed) / max(seconds, 1e-9)
        failed = progress.statuses.get("failed", 0)
        text = f"{progress.packages_done}/{progress.packages} packages"
        text += f"  {failed} failed" if failed else ""
        left = (progress.files - progress.files_done) / rate if rate else float("nan")
        files = f"{progress.files_done}/{progress.files} files"
        self._log(f"{text}  {files}  {rate:.0f}/s  {left:.0f} s left")
        self._bars.update(
            self._task, description=text, total=progress.files, completed=progress.files_done, rate=rate
        )
