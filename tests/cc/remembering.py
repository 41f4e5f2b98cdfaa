"""Compilations in a folder of their own, with a memory that they share."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from pathlib import Path

from burnish.cc import build_log
from burnish.cc.build_log import Record
from burnish.cc.commands.launch import find_launcher
from burnish.cc.kept import ObjectMemory, Remembered
from tests.sources import DATA

HEADER = '#include "more.h"\n'


class Builds:
    """Compilations in a folder of their own, with a memory that they share."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.memory, self.log = folder, folder / "memory", folder / "log.jsonl"
        self.source, self.object = folder / "table.c", folder / "table.o"
        (folder / "more.h").write_text("int more(int);\n")
        self.source.write_text(HEADER + (DATA / "hash_table.c").read_text())

    def burnish(self, *options: str) -> list[str]:
        """Return the compiler with its options."""
        burnish = [find_launcher("burnish-cc"), "--alone", "--report", str(self.log)]
        chosen = (
            [] if any(word.startswith("--remember") for word in options) else [f"--remember={self.memory}"]
        )
        return [*burnish, *chosen, *options]

    def command(self, *options: str, source: str = "table.c") -> list[str]:
        output = Path(source).with_suffix(".o").name
        return [*self.burnish(*options), "-Oz", "-c", source, "-o", output]

    def build(self, *options: str) -> Record:
        """Compile, and return the line of the log."""
        said = subprocess.run(
            self.command(*options), cwd=self.folder, check=True, timeout=300, capture_output=True, text=True
        )
        self.said = said.stderr
        return self.last

    @property
    def last(self) -> Record:
        """The last line of the log."""
        return build_log.read(self.log)[-1]

    @property
    def remembered(self) -> Remembered:
        """The only compilation in the memory."""
        (one,) = ObjectMemory(self.memory).compilations(self.folder)
        return one

    def copied(self, folder: Path) -> Builds:
        """Return a copy in another folder, as if everything had been built there."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        copy = Builds(folder)
        with sqlite3.connect(copy.memory) as database:
            database.execute(
                "UPDATE sources SET compilation = json_set(compilation, '$.directory', ?)", (str(folder),)
            )
        return copy
