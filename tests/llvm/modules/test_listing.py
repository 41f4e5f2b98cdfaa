"""Listings: what a reader sees of IR and assembly; the assembly is the object's code."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from burnish.core.registry import load_task
from burnish.llvm.modules.listing import ASSEMBLY, LISTING, assembly_sections
from burnish.llvm.toolchain import find_tool
from tests.sources import program

ELF = """\
	.text
	.globl	_Z3addii                        # -- Begin function _Z3addii
	.p2align	4
	.type	_Z3addii,@function
_Z3addii:                               # @_Z3addii
	.cfi_startproc
# %bb.0:
	leal	(%rdi,%rsi), %eax
	jmp	.LBB0_1
.LBB0_1:                                # %inner
.Ltmp0:
	callq	_ZNSt6vectorIiSaIiEE4sizeEv@PLT # a call
	retq
.Lfunc_end0:
	.size	_Z3addii, .Lfunc_end0-_Z3addii
	.cfi_endproc
                                        # -- End function
	.section	.rodata.str1.1,"aMS",@progbits,1
.L.str:
	.asciz	"a # b"
	.long	7                               # 0x7
"""

MACH_O = """\
	.globl	_main                           ; -- Begin function main
_main:                                  ; @main
	.cfi_startproc
; %bb.0:
	mov	w0, #1                          ; =0x1
	ret
	.cfi_endproc
                                        ; -- End function
.subsections_via_symbols
"""


def test_sites_are_read_without_mangled_names() -> None:
    assert LISTING.title("_Z3addii > _ZN5GuardC2Ev #2") == "add(int, int) > Guard::Guard() #2"
    assert ASSEMBLY.title("_Z3addii.part.0") == "add(int, int) [clone .part.0]"
    assert LISTING.title("main > printf #1") == "main > printf #1"


def test_assembly_is_its_functions_without_noise() -> None:
    data, add = assembly_sections(ELF, details=False)
    assert (add.name, add.title, add.library) == ("_Z3addii", "add(int, int)", False)
    assert [line.split() for line in add.lines] == [
        ["add(int,", "int):"],
        ["leal", "(%rdi,%rsi),", "%eax"],
        ["jmp", ".LBB0_1"],
        [".LBB0_1:"],
        ["callq", "std::vector<int,", "std::allocator<int>", ">::size()@PLT"],
        ["retq"],
    ]
    assert [line.split(maxsplit=1) for line in data.lines] == [
        [".L.str:"],
        [".asciz", '"a # b"'],
        [".long", "7"],
    ]


def test_details_are_all_lines() -> None:
    found = assembly_sections(ELF, details=True)
    assert sorted(line for one in found for line in one.lines) == sorted(ELF.splitlines())


def test_other_comments_begin_functions_too() -> None:
    _, main = assembly_sections(MACH_O, details=False)
    assert [line.split() for line in main.lines] == [["_main:"], ["mov", "w0,", "#1"], ["ret"]]


def test_local_labels_are_renumbered_and_strings_are_not() -> None:
    assert ASSEMBLY.renumbered
    text = "jmp .LBB0_12\n.Lfunc_end3:\nleaq .L.str.4, LBB2_1 x.LBB0_1 L7"
    assert ASSEMBLY.renumbered.findall(text) == [".LBB0_12", ".Lfunc_end3", "LBB2_1"]


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("_ZNSt6vectorIiSaIiEE4sizeEv", True),
        ("_ZNKSt6vectorIiSaIiEE4sizeEv", True),
        ("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", True),
        ("_ZNSaIcEC1Ev", True),
        ("_ZZNSt6vectorIiSaIiEE4sizeEvENK6_GuardclEv", True),
        ("_ZZ4mainENK3$_0clEv", False),
        ("_ZN9__gnu_cxx13new_allocatorIiEC2Ev", True),
        ("__ZNSt3__16vectorIiNS_9allocatorIiEEE4sizeEv", True),
        ("_ZN5Shape4areaEv", False),
        ("_Z5totalISt6vectorIiSaIiEEEvT_", False),
        ("_ZN3StdC1Ev", False),
        ("Stack", False),
        ("main", False),
    ],
)
def test_functions_of_the_library_are_known_by_their_names(name: str, library: bool) -> None:
    ir = f"define void @{name}() {{\n  ret void\n}}\n"
    assert [one.library for one in LISTING.sections(ir, False)] == [False, library]


@pytest.mark.parametrize(
    ("task", "trace"),
    [
        ("llvm_passes", ("sroa<modify-cfg>",)),
        ("llvm_codegen", ("skip(peephole-opt)",)),
        ("llvm_inlining", ()),
    ],
)
def test_assembly_is_the_code_of_the_object(task: str, trace: tuple[str, ...], tmp_path: Path) -> None:
    session = load_task(task).open(program("hash_table.c"))
    session.replay(trace)
    (tmp_path / "out.s").write_text(str(session.observe("assembly")))
    subprocess.run([str(find_tool("clang")), "-c", "out.s", "-o", "out.o"], cwd=tmp_path, check=True)
    command = [str(find_tool("llvm-objcopy")), "-O", "binary", "-j", ".text", "out.o", "out.bin"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert len((tmp_path / "out.bin").read_bytes()) == session.measure("text-bytes")
