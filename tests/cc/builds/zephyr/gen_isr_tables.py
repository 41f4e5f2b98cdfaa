"""Write the table of interrupts as C, from the section .intlist of the first link.

python gen_isr_tables.py PROGRAM TABLE.c
"""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

ROWS = 8
ATTRIBUTES = '__attribute__((section(".isr_table"), used))'


def main(program: str, table: str) -> None:
    """Write a program's table."""
    raw = Path(f"{table}.bin")
    options = ("-O", "binary", "--only-section=intlist", "--set-section-flags", "intlist=alloc")
    subprocess.run(["arm-none-eabi-objcopy", *options, program, str(raw)], check=True)
    listed = subprocess.run(["arm-none-eabi-nm", program], check=True, capture_output=True, text=True).stdout
    names = {int(line.split()[0], 16): line.split()[2] for line in listed.splitlines() if line[0] != " "}
    handlers = {
        number: names[address & ~1] for number, address in struct.iter_unpack("<II", raw.read_bytes())
    }
    declared = "".join(f"void {name}(void);\n" for name in sorted(set(handlers.values())))
    rows = ", ".join(handlers.get(number, "0") for number in range(ROWS))
    text = f"{declared}void (*const isr_table[])(void) {ATTRIBUTES} = {{{rows}}};\n"
    Path(table).write_text(f"{text}int table_size(void) {{ return {ROWS}; }}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
