"""Small modules: two in text, and C without a library, linked by wasm-ld."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.llvm.toolchain import find_tool
from burnish.tasks.wasm_passes.running import wat_to_wasm

COUNT = """
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\\10\\00\\00\\00\\01\\00\\00\\00")
  (global $sum (mut i32) (i32.const 0))
  (func $digit (param $value i32)
    (i32.store8 (i32.const 16) (i32.add (i32.const 97) (i32.and (local.get $value) (i32.const 15))))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func $twice (param $value i32) (result i32)
    (local $same i32)
    (local.set $same (local.get $value))
    (i32.add (local.get $same) (local.get $value)))
  (func $never (result i32) (i32.const 1000000))
  (func $main (export "_start")
    (local $i i32)
    (block $out
      (loop $again
        (br_if $out (i32.ge_u (local.get $i) (i32.const 9)))
        (global.set $sum (i32.add (global.get $sum) (call $twice (local.get $i))))
        (call $digit (global.get $sum))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $again)))
    (if (i32.eq (i32.const 1) (i32.const 2)) (then (drop (call $never))))))
"""

CONSTANTS = """
(module
  (memory (export "memory") 1)
  (table funcref (elem $add $xor))
  (type $binary (func (param i32 i32) (result i32)))
  (func $add (type $binary) (i32.add (local.get 0) (local.get 1)))
  (func $xor (type $binary) (i32.xor (local.get 0) (local.get 1)))
  (func $same (type $binary) (i32.add (local.get 0) (local.get 1)))
  (func (export "mixed") (param $value i32) (result i32)
    (i32.store (i32.const 1234567) (local.get $value))
    (i32.store (i32.const 1234567) (i32.load (i32.const 1234567)))
    (i32.add
      (call_indirect (type $binary) (local.get $value) (i32.const 1234567) (i32.const 0))
      (i32.add
        (call $same (local.get $value) (i32.const 1234567))
        (call $xor (local.get $value) (i32.const 1234567))))))
"""

C = r"""
typedef struct { const char *text; unsigned long size; } piece;
__attribute__((import_module("wasi_snapshot_preview1"), import_name("fd_write")))
int fd_write(int, const piece *, unsigned long, unsigned long *);

static void print(const char *text, unsigned long size) {
  piece one = {text, size};
  unsigned long done;
  fd_write(1, &one, 1, &done);
}

static void print_number(unsigned value) {
  char digits[12];
  int at = 11;
  digits[at] = '\n';
  do digits[--at] = (char)('0' + value % 10); while (value /= 10);
  print(digits + at, (unsigned long)(12 - at));
}

static unsigned state = 1;
static unsigned draw(void) { return state = state * 1103515245u + 12345u; }

static void sort(unsigned *row, int count) {
  for (int i = 1; i < count; i++)
    for (int j = i; j > 0 && row[j - 1] > row[j]; j--) {
      unsigned kept = row[j];
      row[j] = row[j - 1];
      row[j - 1] = kept;
    }
}

static unsigned hash(const unsigned char *text, int size) {
  unsigned sum = 2166136261u;
  for (int i = 0; i < size; i++) sum = (sum ^ text[i]) * 16777619u;
  return sum;
}

static unsigned classify(unsigned value) {
  switch (value % 7) {
    case 0: return value / 3;
    case 1: return value * 5 + 1;
    case 2: return value ^ 0x55aa55aau;
    case 3: return value << 3 | value >> 29;
    case 4: return value & 0x00ff00ffu;
    default: return ~value;
  }
}

static double mean(const unsigned *row, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += row[i];
  return sum / count;
}

void _start(void) {
  static unsigned row[60];
  for (int i = 0; i < 60; i++) row[i] = draw() >> 8;
  print_number(hash((const unsigned char *)row, sizeof row));
  for (int i = 0; i < 60; i++) row[i] = classify(row[i]);
  sort(row, 60);
  print_number(hash((const unsigned char *)row, sizeof row));
  print_number((unsigned)mean(row, 60));
  print("done\n", 5);
}
"""


@cache
def count() -> Program:
    """Return a program that prints nine letters."""
    return Program("count.wat", "wasm", wat_to_wasm("count.wat", COUNT.encode()))


@cache
def constants() -> Program:
    """Return a module with an exported function, repeated constants and duplicate functions."""
    return Program("constants.wat", "wasm", wat_to_wasm("constants.wat", CONSTANTS.encode()))


@cache
def compiled(level: str = "Oz") -> Program:
    """Return a program of C, compiled at a level and linked with the names of its functions."""
    with TemporaryDirectory() as made:
        source = Path(made) / "program.c"
        source.write_text(C)
        task = load_task("llvm_passes")
        arguments = ("--target=wasm32-wasi", "-ffreestanding", "-fno-inline")
        program = task.source().load(str(source), arguments).program
        object_file, linked = source.with_suffix(".o"), source.with_suffix(".wasm")
        session = task.baseline(level)(program)
        object_file.write_bytes(task.files.emitters[".o"](session, (), level))
        linker = find_tool("wasm-ld")
        subprocess.run([linker, "-O2", "--strip-debug", object_file, "-o", linked], check=True)
        return Program("program.wasm", "wasm", linked.read_bytes())
