"""Builds as people have them, by burnish: CMake, Meson, Bazel, Arduino's recipes, Zephyr's links."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from burnish.cc.commands.launch import find_launcher
from burnish.llvm.run.emulated import BOARDS
from burnish.llvm.toolchain import find_tool

BUILDS = Path(__file__).parent / "builds"
LINKED = Path(__file__).parent / "link" / "gnu"
PROJECT = Path(__file__).parent / "project"
PARTS = ("main.c", "sum.c", "rows.c", "shape.cpp")
GCC = "arm-none-eabi-gcc"
MESON = """
project('program', 'c', default_options: ['buildtype=minsize', 'b_staticpic=false'])
compiler = meson.get_compiler('c')
assert(compiler.has_header('string.h') and compiler.has_function('strlen'))
assert(compiler.sizeof('long') == 8)
parts = static_library('parts', 'part.c', 'library.c')
executable('program', 'main.c', 'asked.c', link_with: parts)
"""
CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(program C)
add_library(parts STATIC part.c library.c)
add_executable(program main.c asked.c)
target_link_libraries(program parts)
"""
BAZEL = """
cc_library(name = "parts", srcs = ["rows.c", "shape.cpp", "sum.c"], hdrs = ["sum.h"])
cc_binary(name = "program", srcs = ["main.c"], deps = [":parts"])
"""
# Bazel of Debian is older than Debian's rules_cc, and loads the rules of its own by this file's name.
BAZEL_RULES = "\n".join(
    f"{name} = native.{name}"
    for name in ("cc_binary", "cc_library", "cc_test", "cc_toolchain", "cc_toolchain_suite")
)
BAZEL_PACKAGES = {
    "bazel_skylib": "tools/skylib",
    "platforms": "tools/platforms",
    "rules_java": "rules/java",
    "rules_proto": "rules/proto",
}


@dataclass
class Folder:
    """A build's folder, with links to the launcher in PATH."""

    path: Path

    def __post_init__(self) -> None:
        (self.path / "bin").mkdir(parents=True)
        for name in (f"burnish-{GCC}", "burnish-wasm32-wasi-clang"):
            (self.path / "bin" / name).symlink_to(find_launcher("burnish-cc"))

    @property
    def launcher(self) -> list[str]:
        """burnish-cc with its options."""
        log = ("--report", f"{self.path}/log")
        return [find_launcher("burnish-cc"), *log, "--budget", "2evaluations"]

    def run(self, *command: str) -> str:
        """Run a command in the folder; return what it prints."""
        places = (str(self.path / "bin"), str(find_tool("clang").parent), os.environ["PATH"])
        home = {"HOME": str(self.path), "XDG_STATE_HOME": str(self.path), "PATH": ":".join(places)}
        done = subprocess.run(
            command,
            cwd=self.path,
            env=os.environ | home,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
            check=False,
        )
        assert not done.returncode, done.stdout
        return done.stdout

    def emulated(self, program: str) -> str:
        """Run a program in the emulator of a Cortex-M4."""
        options = ("-nographic", "-semihosting-config", "enable=on,target=native", "-kernel", program)
        return self.run(*BOARDS["arm"].qemu, *options)

    def rows(self, log: str = "log") -> dict[str, dict[str, Any]]:
        """Return the lines of the log, by their outputs' names."""
        lines = [json.loads(line) for line in (self.path / log).read_text().splitlines()]
        return {Path(line["output"]).name: line for line in lines}


def made(path: Path, *tools: str, sources: Path = LINKED) -> Folder:
    for tool in tools:
        if not shutil.which(tool) and not (find_tool("clang").parent / tool).exists():
            pytest.skip(f"{tool} is not installed")
    if GCC in tools and not Path("/usr/lib/picolibc/arm-none-eabi").is_dir():
        pytest.skip("picolibc-arm-none-eabi is not installed")
    shutil.copytree(sources, path)
    return Folder(path)


@pytest.mark.parametrize("compiler", ["clang", "gcc"])
def test_cmake_with_a_launcher(tmp_path: Path, compiler: str) -> None:
    """The launcher of the linker, too, for a whole program."""
    folder = made(tmp_path / "launched", "cmake", "ninja", compiler)
    (folder.path / "CMakeLists.txt").write_text(CMAKE)
    options = [
        "-B",
        "built",
        "-G",
        "Ninja",
        "-DCMAKE_BUILD_TYPE=MinSizeRel",
        f"-DCMAKE_C_COMPILER={compiler}",
    ]
    for tool in ("COMPILER", "LINKER"):
        words = ";".join([*folder.launcher, "--whole-program"])
        options.append(f"-DCMAKE_C_{tool}_LAUNCHER={words}")
    folder.run("cmake", *options)
    said = folder.run("cmake", "--build", "built")
    assert "warning" not in said
    assert folder.run("built/program", "10") == "392 42 7 299 absent\n"
    row = folder.rows()["program"]
    assert row["source"] == "4 units" and row["action"] == "optimized", row["reason"]


def test_meson_on_this_machine(tmp_path: Path) -> None:
    """Its libraries are thin archives."""
    folder = made(tmp_path / "native", "meson", "ninja")
    (folder.path / "meson.build").write_text(MESON)
    words = [*folder.launcher, "--whole-program"]
    (folder.path / "burnish.ini").write_text(f"[binaries]\nc = {words}\nar = 'llvm-ar'\n")
    folder.run("meson", "setup", "built", "--native-file", "burnish.ini")
    folder.run("meson", "compile", "-C", "built")
    assert (folder.path / "built/libparts.a").read_bytes().startswith(b"!<thin>")
    assert folder.run("built/program", "10") == "392 42 7 299 absent\n"
    row = folder.rows()["program"]
    assert row["source"] == "4 units" and row["action"] == "optimized", row["reason"]


@pytest.mark.parametrize("options", [[], ["--copt=-flto", "--linkopt=-flto"]], ids=["objects", "program"])
def test_bazel(tmp_path: Path, options: list[str]) -> None:
    """In sandboxes, where only outputs and burnish's folders can be written; a response file tells gold."""
    folder = made(tmp_path / "built", "bazel", sources=PROJECT)
    installed = {name: Path("/usr/share/bazel", path) for name, path in BAZEL_PACKAGES.items()}
    if not all(path.is_dir() for path in installed.values()):
        pytest.skip("Debian's bazel-skylib, bazel-platforms, bazel-rules-java and -proto are not installed")
    rules = tmp_path / "rules"
    (rules / "cc").mkdir(parents=True)
    for file, text in {"WORKSPACE": "", "cc/BUILD": "", "cc/defs.bzl": BAZEL_RULES}.items():
        (rules / file).write_text(text)
    (folder.path / "WORKSPACE").touch()
    (folder.path / "BUILD").write_text(BAZEL)
    bazel = ["bazel", "--batch", f"--output_user_root={tmp_path}/bazel"]
    command = [*bazel, "build", "-c", "opt", "--copt=-Oz", *options]
    command += [f"--repo_env=CC={find_launcher('burnish-cc')}", "--action_env=HOME"]
    for name in (".cache", ".local"):
        (folder.path / name).mkdir()
        command.append(f"--sandbox_writable_path={folder.path / name}")
    for name, path in {**installed, "rules_cc": rules}.items():
        command.append(f"--override_repository={name}={path}")

    def build() -> dict[str, Any]:
        folder.run(*command, "//:program")
        rows = folder.rows(".local/state/burnish/cc.jsonl")
        row = rows["program" if options else "sum.o"]
        assert row["action"] == "optimized", row["reason"]
        return row | {"result": folder.run("bazel-bin/program")}

    first = build()
    folder.run(*bazel, "clean")
    again = build()
    assert again["evaluations"] == 0 and again["time"] > first["time"]
    for name in ("result", "loaded_bytes"):
        assert again[name] == first[name]
    folder.run(find_launcher("burnish-cc"), "-O0", *PARTS, "-o", "plain", "-lstdc++")
    assert first["result"] == folder.run("./plain")


def test_meson_for_a_microcontroller(tmp_path: Path) -> None:
    folder = made(tmp_path / "cross", "meson", "ninja", GCC, "qemu-system-arm")
    (folder.path / "meson.build").write_text(MESON.replace("== 8", "== 4"))
    main = folder.path / "main.c"
    main.write_text(main.read_text().replace("atoi(words[1])", "10"))
    shutil.copy(BUILDS / "arduino" / "board.ld", folder.path)
    machine = ["-mcpu=cortex-m4", "-mthumb", "--specs=picolibc.specs"]
    libc = ["--crt0=semihost", "--oslib=semihost", f"-T{folder.path}/board.ld", "-Wl,--gc-sections"]
    (folder.path / "cortex-m4.ini").write_text(
        f"[binaries]\nc = {[*folder.launcher, GCC]}\nar = 'arm-none-eabi-ar'\nstrip = 'arm-none-eabi-strip'\n"
        f"[built-in options]\nc_args = {machine}\nc_link_args = {[*machine, *libc]}\n"
        "[properties]\nneeds_exe_wrapper = true\n"
        "[host_machine]\nsystem = 'none'\ncpu_family = 'arm'\ncpu = 'cortex-m4'\nendian = 'little'\n"
    )
    folder.run("meson", "setup", "built", "--cross-file", "cortex-m4.ini")
    folder.run("meson", "compile", "-C", "built")
    assert folder.emulated("built/program") == "392 42 7 299 absent\n"
    assert {row["level"] for row in folder.rows().values()} <= {"Os", "Oz", "O0"}
    assert "main.c.o" in folder.rows()


def recipes(folder: Folder) -> dict[str, str]:
    """Return the properties of platform.txt and platform.local.txt, which comes later and wins."""
    texts = [folder.path / name for name in ("platform.txt", "platform.local.txt")]
    lines = [line for text in texts if text.exists() for line in text.read_text().splitlines()]
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def arduino(folder: Folder) -> str:
    """Build a sketch as arduino-cli does: a recipe for each file, an archive of the core; run it."""
    known = recipes(folder)
    built = folder.path / "built"
    known |= {"compiler.path": f"{Path(shutil.which(GCC) or '').parent}/", "build.mcu": "cortex-m4"}
    known |= {"build.path": str(built), "build.project_name": "sketch", "includes": "-Icore"}
    known |= {"archive_file_path": f"{built}/core.a", "build.variant.path": str(folder.path)}
    built.mkdir()

    def run(recipe: str, **more: str) -> None:
        text, before = known[f"recipe.{recipe}.pattern"], ""
        while text != before:
            before, text = text, re.sub(r"\{([\w.]+)\}", lambda name: (known | more)[name[1]], text)
        folder.run(*shlex.split(text))

    for source in sorted([*folder.path.glob("core/*.c*"), folder.path / "sketch.cpp"]):
        made = f"{built}/{source.name}.o"
        run("c.o" if source.suffix == ".c" else "cpp.o", source_file=str(source), object_file=made)
        if source.parent.name == "core":
            run("ar", object_file=made)
    run("c.combine", object_files=f"{built}/sketch.cpp.o")
    return folder.emulated(f"{built}/sketch.elf")


def test_recipes_of_arduino(tmp_path: Path) -> None:
    """The recipes of compilations get burnish-cc before them, and that of the link for a whole program."""
    plain = made(tmp_path / "plain", GCC, "qemu-system-arm", sources=BUILDS / "arduino")
    expected = arduino(plain)
    assert expected.splitlines()[0] == "ready" and len(expected.splitlines()) == 5
    for recipe in ("objects", "program"):
        folder = made(tmp_path / recipe, GCC, sources=BUILDS / "arduino")
        own = [*folder.launcher, *(["--whole-program"] if recipe == "program" else [])]
        steps = ("c.o", "cpp.o", "c.combine") if recipe == "program" else ("c.o", "cpp.o")
        known = recipes(folder)
        lines = [
            f"recipe.{step}.pattern={shlex.join(own)} {known[f'recipe.{step}.pattern']}" for step in steps
        ]
        (folder.path / "platform.local.txt").write_text("\n".join(lines))
        assert arduino(folder) == expected
        rows = folder.rows()
        if recipe == "program":
            assert rows["sketch.elf"]["action"] == "optimized", rows["sketch.elf"]["reason"]
            assert rows["sketch.elf"]["source"] == "4 units"
        else:
            assert {"sketch.cpp.o", "Print.cpp.o"} <= rows.keys()
            assert not any("clang cannot be told" in row["reason"] for row in rows.values())


def test_a_build_as_zephyrs(tmp_path: Path) -> None:
    """By GCC, then with a link that has the compiler's name, then as whole programs."""
    printed = []
    for way in ("gcc", "objects", "program"):
        folder = made(tmp_path / way, "cmake", "ninja", GCC, "qemu-system-arm", sources=BUILDS / "zephyr")
        tools = [f"set(CMAKE_C_COMPILER {'burnish-' if way == 'objects' else ''}{GCC})"]
        tools += [f"set(CMAKE_AR {GCC.replace('gcc', 'ar')})", "set(CMAKE_SYSTEM_NAME Generic)"]
        tools.append("set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)")
        if way == "program":
            own = " ".join([*folder.launcher, "--whole-program"])
            tools += [f"set(CMAKE_C_{tool}_LAUNCHER {own})" for tool in ("COMPILER", "LINKER")]
        (folder.path / "tools.cmake").write_text("\n".join(tools))
        options = ["-DCMAKE_TOOLCHAIN_FILE=tools.cmake", f"-DPYTHON={sys.executable}"]
        folder.run("cmake", "-B", "built", "-G", "Ninja", *options)
        folder.run("cmake", "--build", "built")
        printed.append(folder.emulated("built/final.elf"))
    assert printed[0] == "adc 34\nuart 24\n3 3782 -1\nready 7 ticks 1 count 7\n"
    assert printed[1] == printed[2] == printed[0]
    for name in ("first.elf", "final.elf"):
        row = folder.rows()[name]
        assert row["source"] == "5 units" and row["action"] == "optimized", row["reason"]
