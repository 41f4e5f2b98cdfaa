"""A command line of rustc: which objects it makes, where they are, and why burnish leaves them to rustc."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.llvm.toolchain import is_native

RUSTC = "rustc"  # the compiler in the memory and in the build log
_FLAGS = frozenset({"--test", "--verbose", "--version", "--help"})  # long options without a value
_SHORT = tuple(f"-{letter}" for letter in "CZLloAWDF")  # options with a value, in the same word or the next
_LTO = "with link-time optimization the object is not final"
_OF_PASSES = "it may affect passes, too, and burnish's passes would ignore it"

# Options of code generation (-C) that tie an object to one run of rustc's own passes.
REFUSED = {
    "linker-plugin-lto": _LTO,
    "incremental": "rustc takes some objects from an earlier compilation",
    "instrument-coverage": "coverage counters are inserted by passes of rustc's own",
    "profile-generate": "profiles are collected by passes of rustc's own",
    "profile-use": "profiles are used by passes of rustc's own",
    "llvm-args": _OF_PASSES,
    "passes": _OF_PASSES,
    "no-prepopulate-passes": _OF_PASSES,
    "inline-threshold": _OF_PASSES,
    "remark": "the option reports on rustc's own passes",
    "no-vectorize-loops": "burnish's passes may vectorize",
    "no-vectorize-slp": "burnish's passes may vectorize",
}
# Values of such options that leave an object as it is.
_HARMLESS = {"split-debuginfo": ("off",), "relocation-model": ("pic", "pie", "static")}
# Unstable options by which cargo builds the standard library.
_OF_CARGO = ("unstable-options", "force-unstable-if-unmarked", "no-embed-metadata")
_OFF = ("n", "no", "off", "false")


@dataclass(frozen=True)
class RustCommand:
    """A command line of rustc, with the compiler as its first word."""

    words: tuple[str, ...]

    @property
    def options(self) -> Iterator[tuple[str, str]]:
        """The options with their values, in order; the crate's source is the value of ""."""
        left = iter(self.words[1:])
        for word in left:
            name, equals, value = word.partition("=")
            if word.startswith("--"):
                yield name, value if equals or name in _FLAGS else next(left, "")
            elif word.startswith(_SHORT):
                yield word[:2], word[2:] or next(left, "")
            elif word.startswith("-"):
                yield word, ""
            else:
                yield "", word

    def last(self, *names: str) -> str:
        """Return the last value of an option, which has several names; "" if it is not there."""
        found = [value for name, value in self.options if name in names]
        return found[-1] if found else ""

    def all_of(self, *names: str) -> list[str]:
        """Return the values of an option whose values are lists with commas."""
        return [part for name, value in self.options if name in names for part in value.split(",")]

    @property
    def codegen(self) -> dict[str, str]:
        """The options of code generation, -C NAME=VALUE; the last ones count."""
        found = [value for name, value in self.options if name in ("-C", "--codegen")]
        return {name.replace("_", "-"): value for name, _, value in (one.partition("=") for one in found)}

    @property
    def level(self) -> str:
        """The optimization level as LLVM names it: "O0" ... "O3", "Os", "Oz"."""
        level = "O0"
        for name, value in self.options:
            if name == "-O":
                level = "O2"
            elif name in ("-C", "--codegen") and value.startswith("opt-level="):
                level = f"O{value.partition('=')[2]}"
        return level

    @property
    def is_for_another_machine(self) -> bool:
        """Return whether the target is another machine than this one; a file may describe it."""
        target = Path(self.last("--target")).name
        return bool(target) and not is_native(target)

    @property
    def source(self) -> str:
        """The file of the crate's root module."""
        return self.last("")

    @property
    def crate(self) -> tuple[str, ...]:
        """The crate's name, kinds and hash, which tell apart the crates that cargo makes of one source."""
        kinds = self.all_of("--crate-type")
        return self.last("--crate-name"), *kinds, self.codegen.get("metadata", "")

    @property
    def folder(self) -> Path:
        """The folder of the outputs."""
        output = self.last("-o")
        return Path(output).parent if output else Path(self.last("--out-dir") or ".")

    @property
    def output(self) -> Path:
        """The first output, by its usual name on Linux."""
        if output := self.last("-o"):
            return Path(output)
        crate = self.last("--crate-name") or Path(self.source).stem.replace("-", "_")
        stem = crate + self.codegen.get("extra-filename", "")
        if "link" not in (self.all_of("--emit") or ["link"]):
            return self.folder / f"{stem}.o"
        kind = (self.all_of("--crate-type") or ["bin"])[0]
        name = {"bin": stem, "cdylib": f"lib{stem}.so", "staticlib": f"lib{stem}.a"}
        return self.folder / name.get(kind, f"lib{stem}.rlib")

    @property
    def refusal(self) -> str | None:
        """Why burnish leaves all objects to rustc; None if it does not."""
        for name, value in self.codegen.items():
            if (why := REFUSED.get(name)) and value not in _OFF:
                return f"-C {name}: {why}"
            if value not in _HARMLESS.get(name, (value,)):
                return f"-C {name}={value}: burnish was not tried on it"
        for name, value in self.options:
            if name == "-Z" and not value.startswith(_OF_CARGO):
                return f"-Z {value}: burnish was not tried on unstable options"
            if name == "--emit" and "=" in value:
                return f"--emit {value}: burnish knows outputs by --out-dir and -o only"
        return None

    def once_more(self, folder: Path) -> tuple[str, ...]:
        """Return the words for a second compilation, which keeps its bitcode and prints how it links.

        Bitcode alone (`--emit=llvm-bc`) would take up to a quarter less time. But the values of --emit are a
        part of the hash of the crate in its metadata, which must be as the first time.
        """
        words = [self.words[0]]
        for name, value in self.options:
            if name == "-o":
                value = str(folder / Path(value).name)
            if name != "--out-dir":
                words += _joined(name, value)
        return *words, "--out-dir", str(folder), "-C", "save-temps", "--print", "link-args"


def _joined(name: str, value: str) -> Sequence[str]:
    if name.startswith("--") and name not in _FLAGS:
        return (f"{name}={value}",)
    return (name, value) if name in _SHORT else (name or value,)
