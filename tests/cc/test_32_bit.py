"""Code for 32-bit x86, by -m32. The sources include nothing, so that no 32-bit C library is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish import _native
from burnish.cli import main
from burnish.core.errors import CompileError
from burnish.llvm.toolchain import compile_to_bitcode
from tests.cc.conftest import Compiler

CLASS_32, I386 = b"\x7fELF\x01\x01", b"\x03\x00"
SOURCE = """
static int mix(int a, int b) {
  int mixed = a * 31;
  for (int i = 0; i < b; i++) mixed ^= (mixed >> 3) + i;
  return mixed;
}
int first(const char *text, int n) { return mix(text[0], n) + mix(text[1], n + 1); }
int second(const char *text, int n) { return mix(text[n], n) - mix(text[0], n); }
long long wide(long long a, long long b) { return a * b + a; }
"""

# What it is worth to leave calls alone.
OFTEN = "static int mix(int a) { return (a * 31) ^ (a >> 3) ^ (a << 5) ^ (a >> 7); }\n" + "".join(
    f"int f{i}(int a) {{ return mix(a + {i}) + mix(a - 9) * mix(a * {i + 5}); }}\n" for i in range(8)
)


def is_for_32_bits(content: bytes) -> bool:
    return content.startswith(CLASS_32) and content[18:20] == I386


def test_a_drop_in_compiler_makes_32_bit_objects_smaller(clang: Compiler, shrink: Compiler) -> None:
    for compiler in (clang, shrink):
        (compiler.directory / "plain.c").write_text(OFTEN)
        compiler("-Os", "-m32", "-c", "plain.c")
    before, after = ((one.directory / "plain.o").read_bytes() for one in (clang, shrink))
    (record,) = shrink.records()
    assert record["action"] == "optimized", record["reason"]
    assert is_for_32_bits(after)
    assert _native.object_sizes(after).text_bytes < _native.object_sizes(before).text_bytes


def test_optimize_makes_32_bit_objects_smaller(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, made = tmp_path / "plain.c", tmp_path / "plain.o"
    source.write_text(SOURCE)
    command = ["optimize", str(source), "--budget", "30 evaluations", "--workers", "1", "--json"]
    assert main([*command, "-o", str(made), "--", "-m32"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["cost"] < row["baselines"]["Oz"]
    assert is_for_32_bits(made.read_bytes())


def test_missing_headers_of_32_bits_are_told(tmp_path: Path) -> None:
    (tmp_path / "plain.c").write_text("#include <bits/none-of-this-name.h>\n")
    with pytest.raises(CompileError, match=r"32-bit C library.*libc6-dev-i386"):
        compile_to_bitcode(tmp_path / "plain.c", ["-m32"])
    with pytest.raises(CompileError) as caught:
        compile_to_bitcode(tmp_path / "plain.c")
    assert "32-bit" not in str(caught.value)
