"""Objects of crates in the memory: the next build takes them, and burnish improve searches on for them."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from burnish import _native
from burnish.cc import build_log
from burnish.cc.build_log import Record
from burnish.cc.commands.launch import find_launcher
from burnish.cc.improving_step import CHANGED, Improved, step
from burnish.cc.kept import ObjectMemory, Remembered
from burnish.cc.rust import first_rule
from burnish.cc.rust_trials import Bitcode
from tests.cc.test_rust import CRATES, RUSTC, with_rustc

PROGRAM = """
use std::collections::BTreeMap;
fn main() {
    let mut lengths: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for word in ["one", "two", "three", "four", "five"] {
        lengths.entry(word.len()).or_default().push(word.to_uppercase());
    }
    println!("{lengths:?}");
}
"""


class Crate:
    """A crate in a folder of its own, with a memory."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.memory, self.log = folder, folder / "memory", folder / "log.jsonl"
        self.kind, self.source = kind, folder / "unit.rs"
        self.source.write_text(PROGRAM if kind == "bin" else (CRATES / "unit" / "src" / "lib.rs").read_text())

    def build(self, *words: str) -> Record:
        """Compile, and return the line of the log."""
        burnish = [find_launcher("burnish-rustc"), "--alone", "--report", str(self.log)]
        chosen = ["--remember", str(self.memory), "--budget", "0.3s", str(RUSTC)]
        options = [
            "-Copt-level=z",
            "-Cembed-bitcode=no",
            "-Ccodegen-units=1",
            "-Cmetadata=1",
            "--edition=2021",
        ]
        command = [*burnish, *chosen, f"--crate-type={self.kind}", *options, *words, "unit.rs"]
        subprocess.run(command, cwd=self.folder, check=True, timeout=300)
        return build_log.read(self.log)[-1]

    @property
    def remembered(self) -> Remembered:
        (one,) = ObjectMemory(self.memory).compilations(self.folder)
        return one

    def improve(self) -> Improved:
        """Search on, and return the step."""
        return step(self.remembered, self.memory, 0.3, 1)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a test, to which it returns after a step in this process."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@with_rustc
def test_a_library_is_recalled_and_improved(here: Path) -> None:
    crate, emit = Crate(here, "rlib"), "--emit=dep-info,metadata,link"
    first, again = crate.build(emit), crate.build(emit)
    assert not first.recalled and again.recalled and not again.evaluations
    found = crate.improve()
    assert not found.reason and found.after == crate.remembered
    assert found.after.effort > found.before.effort and found.after.cost <= found.before.cost
    last = crate.build(emit)
    assert last.recalled and last.loaded_bytes == found.after.cost
    members = _native.archive_members((here / "libunit.rlib").read_bytes())
    (made,) = [content for name, _, content in members if ".rcgu." in name]
    assert _native.object_sizes(made, True).loaded_bytes == found.after.cost
    crate.source.write_text(crate.source.read_text() + "// another comment\n")
    assert crate.improve().reason == CHANGED
    assert crate.build(emit).loaded_bytes == found.after.cost
    assert not crate.improve().reason


@with_rustc
def test_a_program_is_recalled_and_improved(here: Path) -> None:
    """Without a list of its files, the search goes on with the last version."""
    crate = Crate(here, "bin")
    first, again = crate.build(), crate.build()
    assert not first.recalled and again.recalled and again.loaded_bytes == first.loaded_bytes
    found = crate.improve()
    assert not found.reason and not found.before.files
    last = crate.build()
    assert last.recalled and last.loaded_bytes == found.after.cost
    said = subprocess.run([here / "unit"], check=True, capture_output=True, text=True).stdout
    assert said == '{3: ["ONE", "TWO"], 4: ["FOUR", "FIVE"], 5: ["THREE"]}\n'


def test_a_crate_has_the_files_of_its_first_rule(tmp_path: Path) -> None:
    assert first_rule(tmp_path) == "read:"
    (tmp_path / "unit.d").write_text("libunit.rlib: a.rs b.rs\n\na.rs:\n\nb.rs:\n\n# env-dep:BUILT=x: y\n")
    assert first_rule(tmp_path) == "libunit.rlib: a.rs b.rs"


@pytest.mark.parametrize("reference", [b"\x7fELF...", b"\0asm..."])
def test_a_module_is_kept_with_what_a_search_reads(reference: bytes) -> None:
    made = Bitcode(b"front\n12", b"after\n", True)
    expected = made if reference.startswith(b"\0asm") else replace(made, after=b"")
    assert Bitcode.decode(made.encode(reference)) == expected
