"""burnish cc offers a policy of evictions to the search of code generation, and repeats what it decided."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.cc import build_log
from burnish.cc.commands import cc
from burnish.cc.remaking import remake
from burnish.cc.repeating import BEGIN
from burnish.core.errors import InputError
from burnish.llvm.corpora import kernels
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_codegen.actions import EVICT
from tests.loaded_code import loaded_code
from tests.tasks.llvm_codegen.test_evict_action import saved

SOURCE = Path(kernels.__file__).parent / "kernels" / "sha256.c"


def output_of(made: Path) -> bytes:
    program = made.with_suffix("")
    subprocess.run([find_tool("clang"), made, "-o", program], check=True)
    return subprocess.run([program, "500", "1"], capture_output=True, check=True).stdout


def test_the_evictions_of_a_policy_are_repeated_from_the_log(tmp_path: Path) -> None:
    policy, log = saved(tmp_path), tmp_path / "log"
    own = ["--report", log, "--budget", "4 evaluations", "--speed-limit", "none", "--policy", "none"]
    own += ["--objective", "loaded-bytes", "--evict-policy", policy]
    made = tmp_path / "made.o"
    assert cc.main([*map(str, own), "-O2", "-c", str(SOURCE), "-o", str(made)], cxx=False) == 0
    (record,) = build_log.read(log)
    assert record.evict_policy == str(policy)
    remake(record, lambda words: words, tmp_path / "again.o")
    assert (tmp_path / "again.o").read_bytes() == made.read_bytes()

    def remade(name: str, *code: str) -> Path:
        decided = replace(record, action="optimized", trace=(BEGIN, *code))
        remake(decided, lambda words: words, tmp_path / name)
        return tmp_path / name

    clangs, evicted = remade("clangs.o", "default"), remade("evicted.o", EVICT)
    assert loaded_code(clangs.read_bytes()) != loaded_code(evicted.read_bytes())
    assert output_of(clangs) == output_of(evicted)


def test_the_option_names_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    monkeypatch.chdir(tmp_path)
    options, _ = cc.parse(["--evict-policy", "policy.npz", "-Oz"])
    assert options and options.evict_policy == str(path)
    with pytest.raises(InputError, match="--evict-policy nowhere: no such file"):
        cc.parse(["--evict-policy", "nowhere", "-Oz"])
