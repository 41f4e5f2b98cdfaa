"""The compared compilers, with options for small programs; each is a column of the tables."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from burnish.core.errors import MissingTool
from burnish.llvm.toolchain import find_tool

# so that "burnish cc" and lld are found next to this Python, also without an activated environment
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
ENVIRONMENT = os.environ | {"PATH": PATH, "LC_ALL": "C"}
SECTIONS = ("-ffunction-sections", "-fdata-sections", "-fPIE")
LINK = ("-pie", "-Wl,--gc-sections", "-s")
WITHOUT_TABLES = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
# The system's C++ library and start files, as gcc links them, so that programs differ only by their own code.
_CLANG_LINK = ("-rtlib=libgcc", "-unwindlib=libgcc")
_CLANG_CXX = ("-stdlib=libstdc++",)


@dataclass(frozen=True)
class Compiler:
    """A compiler and its options."""

    name: str
    cc: tuple[str, ...]
    cxx: tuple[str, ...]
    flags: tuple[str, ...]  # for both compiling and linking
    is_clang: bool = True
    linker: str = "-fuse-ld=lld"

    def driver(self, language: str) -> tuple[str, ...]:
        """Return the command for a language, c or c++."""
        return self.cxx if language == "c++" else self.cc

    @property
    def is_burnish(self) -> bool:
        """Return whether the compiler is a drop-in of burnish."""
        return self.cc[0] in ("burnish", "burnish-cc")

    def own_driver(self, language: str, folder: Path) -> tuple[str, ...]:
        """Return the command with a build log in a folder, and an empty memory unless it names one."""
        words = self.driver(language)
        if not self.is_burnish:
            return words
        words = (*words, "--report", str(folder / "cc.jsonl"))
        if any(word.startswith("--remember") for word in words):
            return words
        memory = folder / "memory"
        memory.unlink(missing_ok=True)
        return (*words, "--remember", str(memory))

    def compile_flags(self, language: str, *, tables: bool) -> tuple[str, ...]:
        """Return the options for each file, with or without asynchronous unwind tables."""
        library = _CLANG_CXX if self.is_clang and language == "c++" else ()
        return (*self.flags, *SECTIONS, *library, *(() if tables else WITHOUT_TABLES))

    def link_flags(self, language: str) -> tuple[str, ...]:
        """Return the options for linking."""
        library = _CLANG_CXX if language == "c++" else ()
        return (*self.flags, *LINK, self.linker, *((*_CLANG_LINK, *library) if self.is_clang else ()))

    def version(self) -> str:
        """Return the first line of the compiler's --version."""
        command = [str(find_tool("clang")) if self.is_burnish else self.cc[0], "--version"]
        return subprocess.run(
            command, env=ENVIRONMENT, capture_output=True, text=True, check=True
        ).stdout.splitlines()[0]


def built_in() -> dict[str, Compiler]:
    """Return the compilers that burnish is compared with, by name; the first is the baseline."""
    clang = ((str(find_tool("clang")),), (str(find_tool("clang++")),))
    gcc = (("gcc",), ("g++",))
    outliner = ("-mllvm", "-enable-machine-outliner=always")
    made = [
        Compiler("clang -Oz", *clang, ("-Oz",)),
        Compiler("clang -Oz, machine outliner", *clang, ("-Oz", *outliner)),
        Compiler("clang -Oz -fno-omit-frame-pointer", *clang, ("-Oz", "-fno-omit-frame-pointer")),
        Compiler("clang -Oz -flto", *clang, ("-Oz", "-flto")),
        Compiler("gcc -Os", *gcc, ("-Os",), is_clang=False),
        Compiler("gcc -Oz", *gcc, ("-Oz",), is_clang=False),
        Compiler("gcc -Os -flto", *gcc, ("-Os", "-flto"), is_clang=False, linker="-fuse-ld=bfd"),
    ]
    return {compiler.name: compiler for compiler in made}


def of_command(command: str) -> Compiler:
    """Return a drop-in for clang as a column, such as "burnish cc --budget 2 -flto" or "clang -Os".

    It gets -Oz unless it names a level itself. The compiler's own options begin with the first one that has
    one dash; burnish's options are before them.
    """
    words = shlex.split(command)
    own = (at for at, word in enumerate(words) if word.startswith("-") and not word.startswith("--"))
    at = next(own, len(words))
    words, flags = words[:at], tuple(words[at:])
    if not any(word.startswith("-O") for word in flags):
        flags = ("-Oz", *flags)
    if words[:2] == ["burnish", "cc"]:
        return Compiler(command, tuple(words), ("burnish", "c++", *words[2:]), flags)
    cxx = {"clang": "clang++", "gcc": "g++", "cc": "c++", "burnish-cc": "burnish-c++"}.get(
        Path(words[0]).name, words[0]
    )
    return Compiler(
        command,
        tuple(words),
        (str(Path(words[0]).with_name(cxx)), *words[1:]),
        flags,
        is_clang="gcc" not in Path(words[0]).name,
    )


def check(compiler: Compiler) -> None:
    """Raise MissingTool if a compiler is not installed."""
    for command in (compiler.cc[0], compiler.cxx[0]):
        if not shutil.which(command, path=PATH):
            raise MissingTool(
                f"{compiler.name}: there is no {command}; leave the column out with --compilers"
            )
