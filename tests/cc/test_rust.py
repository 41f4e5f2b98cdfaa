"""burnish-rustc: crates, programs and libraries like rustc's, and smaller; everything else is rustc's own."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from burnish import _native
from burnish.cc.commands.launch import find_launcher
from burnish.cc.linked import read_linked
from burnish.cc.object_trials import offered_symbols
from burnish.cc.rust import links_in, loaded_bytes
from burnish.cc.rustc import REFUSED, RustCommand
from tests.cc.conftest import copied_launcher, write_script
from tests.cc.served import OPTIMIZERS
from tests.waiting import MOST_SECONDS, alive, wait_until

CRATES = Path(__file__).parent / "crates"
RUSTC, CARGO = shutil.which("rustc"), shutil.which("cargo")
with_rustc = pytest.mark.skipif(not RUSTC, reason="rustc is not installed: apt-get install rustc")
FOR_SIZE = ("-C", "opt-level=z", "-C", "embed-bitcode=no", "-C", "metadata=1")
SEARCH = ("--budget", "3evaluations", "--code-generation", "clang")
UNITS = "-Ccodegen-units=2"


@dataclass
class Rust:
    """A compiler, and a folder for what it makes."""

    folder: Path
    command: tuple[str, ...] = (str(RUSTC),)

    def __post_init__(self) -> None:
        self.folder.mkdir()

    def __call__(self, *words: str, source: str = "unit/src/lib.rs") -> subprocess.CompletedProcess[str]:
        given = [*self.command, *words, "--edition=2021", "--out-dir", str(self.folder), source]
        return subprocess.run(given, cwd=CRATES, capture_output=True, text=True, check=False)

    def make(self, kind: str, *words: str, source: str = "unit/src/lib.rs") -> None:
        name = "program" if kind == "bin" else "unit"
        done = self(f"--crate-type={kind}", f"--crate-name={name}", *FOR_SIZE, *words, source=source)
        assert done.returncode == 0, done.stderr

    def file(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()


@dataclass
class Burnish(Rust):
    """burnish-rustc, with its build log."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.log = self.folder.with_suffix(".jsonl")
        self.command = (find_launcher("burnish-rustc"), *SEARCH, "--report", str(self.log), str(RUSTC))

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


Made = TypeVar("Made", bound=Rust)


@pytest.fixture
def plain(tmp_path: Path) -> Rust:
    return Rust(tmp_path / "plain")


@pytest.fixture
def burnish(tmp_path: Path) -> Burnish:
    return Burnish(tmp_path / "burnish")


@pytest.fixture(scope="session")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Rust:
    """A library, a macro and a program, made by rustc; tests only read them."""
    return with_program(Rust(tmp_path_factory.mktemp("theirs") / "plain"))


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Burnish:
    """The same, made by burnish-rustc."""
    return with_program(Burnish(tmp_path_factory.mktemp("ours") / "burnish"))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Rust:
    """The library as one unit, made by rustc; tests copy or only read it."""
    rust = Rust(tmp_path_factory.mktemp("library") / "plain")
    rust.make("rlib", "-Ccodegen-units=1")
    return rust


def output_of(program: Path, *words: str) -> str:
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def with_program(rust: Made) -> Made:
    """Make a library, a procedural macro and a program that uses both."""
    macros = rust(*PASSED["a procedural macro"], source="macros/src/lib.rs")
    assert macros.returncode == 0, macros.stderr
    rust.make("rlib", UNITS)
    libraries = ("-L", str(rust.folder), "--extern", "unit", "--extern", "macros")
    rust.make("bin", *libraries, UNITS, source="src/main.rs")
    return rust


@with_rustc
def test_a_program_of_two_crates_is_smaller_and_prints_the_same(theirs: Rust, ours: Burnish) -> None:
    """A panic in the library unwinds through both crates; drops, threads and thread-locals work."""
    before, after = theirs.folder / "program", ours.folder / "program"
    expected = output_of(before)
    assert "dropped: of the library\ndropped: of the program\ntrue" in expected
    assert output_of(after) == expected
    assert read_linked(after).loaded_bytes < read_linked(before).loaded_bytes
    records = ours.records()
    assert {record["action"] for record in records} <= {"optimized", "kept"}
    assert {Path(record["output"]).name for record in records} == {"libunit.rlib", "program"}
    assert all(record["loaded_bytes"] <= record["loaded_bytes_before"] for record in records)
    assert {path.name for path in ours.folder.iterdir()} == {path.name for path in theirs.folder.iterdir()}


@with_rustc
def test_an_archive_differs_in_its_objects_alone(theirs: Rust, ours: Burnish) -> None:
    """Metadata and names are rustc's; each object offers the same symbols."""
    pairs = [_native.archive_members(rust.file("libunit.rlib")) for rust in (theirs, ours)]
    assert [name for name, _, _ in pairs[0]] == [name for name, _, _ in pairs[1]]
    changed = [
        (first, second) for (_, _, first), (_, _, second) in zip(*pairs, strict=True) if first != second
    ]
    assert changed
    for first, second in changed:
        assert offered_symbols(first) == offered_symbols(second)
        sizes = [_native.object_sizes(content, True).loaded_bytes for content in (first, second)]
        assert sizes[1] < sizes[0]


@with_rustc
def test_a_shared_library_does_the_same(plain: Rust, burnish: Burnish) -> None:
    results = []
    for rust in (plain, burnish):
        rust.make("cdylib", "-Ccodegen-units=1")
        library = ctypes.CDLL(str(rust.folder / "libunit.so"))
        library.checksum_of.restype = ctypes.c_uint32
        results.append(library.checksum_of(b"burnish", ctypes.c_size_t(7)))
    assert results[0] == results[1]
    sizes = [read_linked(rust.folder / "libunit.so").loaded_bytes for rust in (plain, burnish)]
    assert sizes[1] <= sizes[0]


@with_rustc
def test_an_object_with_debug_information_is_smaller(plain: Rust, burnish: Burnish) -> None:
    for rust in (plain, burnish):
        rust.make("lib", "--emit=obj", "-g", "-Ccodegen-units=1")
    theirs, ours = (_native.object_sizes(rust.file("unit.o"), True) for rust in (plain, burnish))
    assert ours.loaded_bytes < theirs.loaded_bytes
    names = [{one.name for one in _native.elf_sections(rust.file("unit.o"))} for rust in (plain, burnish)]
    assert ".debug_info" in names[0] & names[1]


PASSED = {
    "the version": ("-vV",),
    "a question": ("--print", "cfg", "--crate-type=bin"),
    "metadata": ("--emit=metadata,dep-info", "--crate-type=lib", *FOR_SIZE),
    "no level": ("--crate-type=lib",),
    "a level for speed": ("--crate-type=lib", "-Copt-level=3"),
    "-O": ("--crate-type=lib", "-O"),
    "the last level": ("--crate-type=lib", *FOR_SIZE, "--codegen", "opt-level=0"),
    "a build script": ("--crate-type=bin", "--crate-name=build_script_build", *FOR_SIZE, "build.rs"),
    "a procedural macro": (
        "--crate-type=proc-macro",
        "--crate-name=macros",
        "--extern=proc_macro",
        *FOR_SIZE,
    ),
    "a broken crate": ("--crate-type=lib", "--cfg", *FOR_SIZE),
}
SOURCES = {"a build script": "build.rs", "a procedural macro": "macros/src/lib.rs"}


@with_rustc
@pytest.mark.parametrize("what", PASSED)
def test_rustc_alone_does_what_makes_no_smaller_object(plain: Rust, tmp_path: Path, what: str) -> None:
    """The launcher is in a folder without Python."""
    launcher = Path(copied_launcher(tmp_path / "bin"))
    alone = launcher.rename(launcher.with_name("burnish-rustc"))
    ours = Rust(tmp_path / "alone", (str(alone), str(RUSTC)))
    words = tuple(word for word in PASSED[what] if word != "build.rs")
    done, expected = (rust(*words, source=SOURCES.get(what, "unit/src/lib.rs")) for rust in (ours, plain))
    assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout)
    assert done.stderr.replace("alone", "plain") == expected.stderr
    assert [path.name for path in ours.folder.iterdir()] == [path.name for path in plain.folder.iterdir()]


@with_rustc
def test_errors_are_those_of_rustc(plain: Rust, burnish: Burnish, tmp_path: Path) -> None:
    broken = tmp_path / "broken.rs"
    broken.write_text("pub fn broken() -> u32 { missing }")
    done, expected = (rust("--crate-type=lib", *FOR_SIZE, source=str(broken)) for rust in (burnish, plain))
    assert (done.returncode, done.stderr) == (expected.returncode, expected.stderr)
    assert expected.returncode and "missing" in expected.stderr
    assert not burnish.records()


@with_rustc
@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("-Clinker-plugin-lto", f"-C linker-plugin-lto: {REFUSED['linker-plugin-lto']}"),
        ("-Cllvm-args=-inline-threshold=0", f"-C llvm-args: {REFUSED['llvm-args']}"),
        ("-Cno-vectorize-loops", f"-C no-vectorize-loops: {REFUSED['no-vectorize-loops']}"),
    ],
)
def test_some_options_leave_the_library_to_rustc(
    plain: Rust, burnish: Burnish, option: str, reason: str
) -> None:
    for rust in (plain, burnish):
        rust.make("rlib", option)
    assert burnish.file("libunit.rlib") == plain.file("libunit.rlib")
    record = burnish.records()[0]
    assert (record["action"], record["reason"]) == ("passed through", reason)
    assert Path(record["output"]).name == "libunit.rlib"


@with_rustc
def test_bitcode_for_later_links_stays_in_smaller_objects(plain: Rust, burnish: Burnish) -> None:
    """rustc's link-time optimization makes the same program of both libraries."""
    enough = {"3evaluations": "20evaluations"}  # for a smaller object
    burnish.command = tuple(enough.get(word, word) for word in burnish.command)
    programs, objects = [], []
    for rust in (plain, burnish):
        macros = rust(*PASSED["a procedural macro"], source="macros/src/lib.rs")
        assert macros.returncode == 0, macros.stderr
        rust.make("rlib", "-Cembed-bitcode=yes", "-Ccodegen-units=1")
        objects += [
            one for name, _, one in _native.archive_members(rust.file("libunit.rlib")) if "rcgu" in name
        ]
        libraries = ("-L", str(rust.folder), "--extern", "unit", "--extern", "macros")
        linker = Rust(rust.folder / "linked")
        linker.make("bin", *libraries, "-Clto", "-Cembed-bitcode=yes", source="src/main.rs")
        programs.append(linker.file("program"))
    assert programs[0] == programs[1]
    bitcode = [
        {one.name: (one.flags, one.content) for one in _native.elf_sections(made) if ".llvm" in one.name}
        for made in objects
    ]
    assert bitcode[0] == bitcode[1] and ".llvmbc" in bitcode[0]
    sizes = [_native.object_sizes(made, True).loaded_bytes for made in objects]
    assert sizes[1] < sizes[0], burnish.records()[0]["reason"]


def stand_in(library: Rust, rust: Rust, name: str, *words: str) -> list[str]:
    """Return the command after rustc, with a stand-in for the search; rustc has made the library."""
    shutil.copytree(library.folder, rust.folder, dirs_exist_ok=True)
    log = str(rust.folder.with_suffix(".jsonl"))
    command = [sys.executable, str(OPTIMIZERS), name, "rustc", "--compiled=1", "--report", log, *words, "--"]
    crate = ["--crate-type=rlib", "--crate-name=unit", *FOR_SIZE, "-Ccodegen-units=1", "--edition=2021"]
    return [*command, str(RUSTC), *crate, "--out-dir", str(rust.folder), "unit/src/lib.rs"]


@with_rustc
@pytest.mark.parametrize("name", ["garbage", "drop_everything"])
def test_a_search_that_fails_leaves_the_first_trial(library: Rust, tmp_path: Path, name: str) -> None:
    """Symbols, metadata and names are those of rustc; the reason is in the log."""
    rust = Rust(tmp_path / "ours")
    command = stand_in(library, rust, name)
    assert subprocess.run(command, cwd=CRATES, check=True, capture_output=True).stderr == b""
    for first, better in zip(
        _native.archive_members(library.file("libunit.rlib")),
        _native.archive_members(rust.file("libunit.rlib")),
        strict=True,
    ):
        assert first[0] == better[0]
        if first[2] != better[2]:
            assert offered_symbols(first[2]) == offered_symbols(better[2])


@with_rustc
def test_a_killed_search_leaves_rustcs_library_and_no_process(
    library: Rust, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLEEPS", str(tmp_path / "sleeps"))
    rust = Rust(tmp_path / "ours")
    command = stand_in(library, rust, "sleep")
    process = subprocess.Popen(command, cwd=CRATES)
    wait_until((tmp_path / "sleeps").exists)
    children = [int(pid) for pid in (tmp_path / "sleeps").read_text().split()]
    process.kill()
    process.wait(MOST_SECONDS)
    wait_until(lambda: not any(map(alive, children)))
    assert rust.file("libunit.rlib") == library.file("libunit.rlib")
    assert [path.name for path in rust.folder.iterdir()] == ["libunit.rlib"]


@with_rustc
@pytest.mark.skipif(not CARGO, reason="cargo is not installed: apt-get install cargo")
def test_cargo_builds_a_package_with_a_script_and_a_macro(tmp_path: Path) -> None:
    project = shutil.copytree(CRATES, tmp_path / "project")
    wrapper = tmp_path / "wrapper"
    words = (find_launcher("burnish-rustc"), *SEARCH, "--report", str(tmp_path / "log"))
    write_script(wrapper, f'exec {" ".join(words)} "$@"')

    def built(target: str, variables: dict[str, str]) -> Path:
        command = [str(CARGO), "build", "--release", "--offline", "--target-dir", target]
        subprocess.run(
            command, cwd=project, env=os.environ | variables, check=True, capture_output=True, text=True
        )
        return project / target / "release" / "program"

    theirs, ours = built("plain", {}), built("burnish", {"RUSTC_WRAPPER": str(wrapper)})
    assert output_of(ours) == output_of(theirs)
    assert "42 by a script" in output_of(ours)
    assert read_linked(ours).loaded_bytes < read_linked(theirs).loaded_bytes
    sources = [json.loads(line)["source"] for line in (tmp_path / "log").read_text().splitlines()]
    assert {Path(source).name for source in sources} == {"lib.rs", "main.rs"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-Copt-level=z a.rs", ("Oz", "a.rs", "a")),
        ("-C opt-level=s --crate-type lib --crate-name=b a.rs", ("Os", "a.rs", "libb.rlib")),
        ("-O -o out/c a-b.rs --emit obj,link", ("O2", "a-b.rs", "out/c")),
        ("--codegen=opt-level=3 a-b.rs --emit=obj --out-dir=out", ("O3", "a-b.rs", "out/a_b.o")),
        ("--crate-type=cdylib -Cextra-filename=-1 --out-dir out -l m a.rs", ("O0", "a.rs", "out/liba-1.so")),
    ],
)
def test_a_command_says_what_it_makes(words: str, expected: Sequence[str]) -> None:
    command = RustCommand(("rustc", *words.split()))
    assert (command.level, command.source, str(command.output)) == tuple(expected)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", False),
        ("--target=thumbv7em-none-eabi", True),
        (f"--target {platform.machine()}-mine.json", False),
    ],
)
def test_a_target_is_another_machines(words: str, expected: bool) -> None:
    """Its calls have a limit of stack, as with burnish cc."""
    assert RustCommand(("rustc", *words.split(), "a.rs")).is_for_another_machine == expected


def test_the_second_compilation_goes_to_another_folder() -> None:
    words = "--crate-name a -g --out-dir out -C opt-level=z -L dependency=deps --test a.rs".split()
    again = RustCommand(("rustc", *words)).once_more(Path("made"))
    expected = "rustc --crate-name=a -g -C opt-level=z -L dependency=deps --test a.rs --out-dir made".split()
    assert list(again) == [*expected, "-C", "save-temps", "--print", "link-args"]


@with_rustc
def test_only_the_same_emit_makes_the_same_metadata(tmp_path: Path) -> None:
    """So the second compilation makes machine code, too, though an archive takes no more than its bitcode."""
    metadata = []
    for name, emit in (("first", "metadata,link"), ("again", "metadata,link"), ("less", "metadata,llvm-bc")):
        rust = Rust(tmp_path / name)
        rust.make("rlib", f"--emit={emit}", "-Ccodegen-units=1", "-Csave-temps")
        metadata.append(rust.file("libunit.rmeta"))
    assert metadata[0] == metadata[1] != metadata[2]


def test_a_printed_link_is_read_with_its_variables() -> None:
    line = r'LC_ALL="C" "cc" "a \"b\"\u{e9}\n" "-o" "made/a"'
    assert links_in(f"said by a macro\n{line}\n") == {
        Path("made/a"): ("env", "LC_ALL=C", "cc", 'a "b"é\n', "-o", "made/a")
    }


@with_rustc
def test_wrong_options_end_a_build_at_its_first_command(burnish: Burnish) -> None:
    launcher = find_launcher("burnish-rustc")
    for words, said in (
        (("--budget", "soon", "rustc", "-vV"), "--budget soon: expected"),
        (("--whole-program", "rustc", "-O", "a.rs"), "lto = true"),
        (("--bugdet", "2s", "rustc"), "did you mean --budget?"),
        (("no-such-compiler", "a.rs"), "no such compiler"),
        (("--budget", "2s"), "expected rustc and its arguments"),
        ((), "expected rustc and its arguments"),
    ):
        done = subprocess.run([launcher, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and said in done.stderr, words


@with_rustc
def test_a_library_for_webassembly_is_smaller(plain: Rust, burnish: Burnish) -> None:
    target = ("--target=wasm32-unknown-unknown", "-Ccodegen-units=1")
    if plain("--crate-type=rlib", *target).returncode:
        pytest.skip("Rust's library for WebAssembly is not installed: apt-get install libstd-rust-dev-wasm32")
    wasmtime = pytest.importorskip("wasmtime")
    results = []
    for rust in (plain, burnish):
        rust.make("cdylib", *target)
        store = wasmtime.Store()
        module = wasmtime.Module.from_file(store.engine, str(rust.folder / "unit.wasm"))
        exports = wasmtime.Instance(store, module, []).exports(store)
        exports["memory"].write(store, b"burnish", 8)
        results.append((exports["checksum_of"](store, 8, 7), loaded_bytes(rust.folder / "unit.wasm")))
    assert results[0][0] == results[1][0]
    assert results[1][1] <= results[0][1]
    assert all(record["loaded_bytes"] <= record["loaded_bytes_before"] for record in burnish.records())
    for rust in (plain, burnish):
        rust.make("rlib", *target)
    assert burnish.records()[-1]["action"] == "optimized"
