"""The launcher's requests: a command, or the server that answers later ones."""

from __future__ import annotations

from pathlib import Path

from burnish.cc.commands import cc


def main(words: list[str]) -> int:
    """Run a request of the launcher, the words after `burnish`, and return the exit code."""
    name, *arguments = words
    if arguments[:1] and arguments[0].startswith("--serve="):
        from burnish.cc.server import serve

        serve(Path(arguments[0].partition("=")[2]), main)
        return 0
    if name == "rustc":
        from burnish.cc.commands import rustc

        return rustc.main(arguments)
    return cc.main(arguments, cxx=name == "c++")
