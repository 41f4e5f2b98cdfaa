"""A ThinLTO build as mlgo-utils extract it: modules behind the import, with their index."""

from __future__ import annotations

import subprocess
from pathlib import Path

from burnish.core.registry import load_task
from burnish.llvm.corpora.flags import cc1_options
from burnish.llvm.corpora.mlgo import DESCRIPTION, MlgoModule, write_mlgo
from burnish.llvm.corpora.store import open_corpus
from burnish.llvm.corpora.user_package import UserPackage, build_user_package
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_inlining.observations import FEATURES
from burnish.tasks.llvm_inlining.session import InliningSession
from burnish.workers.executor import Processes

MAIN = """
int helper(int x);
int main(int count, char **words) { return helper(count) + helper(count + 1); }
"""
HELPER = "int helper(int x) { return x * 3 + 1; }\n"


def linked(folder: Path) -> None:
    """Build a program by ThinLTO, with what lld and clang make on the way."""
    (folder / "main.c").write_text(MAIN)
    (folder / "helper.c").write_text(HELPER)
    clang = [str(find_tool("clang")), "-Oz", "-flto=thin"]
    subprocess.run([*clang, "-c", "main.c", "helper.c"], cwd=folder, check=True)
    saved = ["-Wl,--save-temps=import", "-Wl,--thinlto-emit-index-files"]
    lld = ["-fuse-ld=lld", f"--ld-path={find_tool('ld.lld')}"]
    subprocess.run([*clang, *lld, *saved, "main.o", "helper.o", "-o", "program"], cwd=folder, check=True)


def test_what_was_imported_is_there_and_is_asked_about(tmp_path: Path) -> None:
    linked(tmp_path)
    modules = [
        MlgoModule(
            name,
            (tmp_path / f"{name}.3.import.bc").read_bytes(),
            cc1_options(("-Oz", "-flto=thin")),
            (tmp_path / f"{name}.thinlto.bc").read_bytes(),
        )
        for name in ("main.o", "helper.o")
    ]
    corpus = write_mlgo(tmp_path / "mlgo", modules)
    assert corpus.has_thinlto
    build_user_package(tmp_path / "mine", UserPackage(str(corpus.folder / DESCRIPTION)), do=Processes(1))
    (main,) = (one for one in open_corpus(tmp_path / "mine") if one.name.endswith("main.o"))
    session = load_task("llvm_inlining").open(main)
    assert isinstance(session, InliningSession)
    compiled = session.compiled()
    assert list(compiled.sites) == ["main > helper #1", "main > helper #2"]
    assert compiled.rows[:, FEATURES.index("is_callee_avail_external")].tolist() == [1, 1]
    assert compiled.rows[:, FEATURES.index("is_caller_avail_external")].tolist() == [0, 0]
    for site in compiled.sites:
        session.apply(session.index("inline"), site)
    assert "call i32 @helper" not in session.compiled().state.module.print()


def test_clang_compiles_such_a_module_by_its_index(tmp_path: Path) -> None:
    linked(tmp_path)
    content = (tmp_path / "main.o.3.import.bc").read_bytes()
    index = (tmp_path / "main.o.thinlto.bc").read_bytes()
    options = [word for word in cc1_options(("-Oz",)) if word != "-flto-unit"]
    corpus = write_mlgo(tmp_path / "mlgo", [MlgoModule("main.o", content, tuple(options), index)])
    command = [str(find_tool("clang")), *corpus.command("main.o"), "-o", str(tmp_path / "again.o")]
    subprocess.run(command, check=True)
    names = subprocess.run(
        [str(find_tool("llvm-nm")), str(tmp_path / "again.o")], check=True, capture_output=True, text=True
    ).stdout
    assert "T main" in names and "T helper" not in names
