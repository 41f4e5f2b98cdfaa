"""Download one source distribution with pip's own finder; `fetch` runs this file as a separate process.

usage: python pip_download.py NAME SDIST DESTINATION

pip's configuration decides the package index. No code of the package is run; `pip download` would run some to
read the metadata. pip has no stable API, hence the separate process and the few calls, which are the same
from pip 23 to pip 26. Prints JSON lines: {"done": bytes} as bytes arrive, and at most one {"error": text}.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

CHUNK_BYTES = 1 << 18


def download(name: str, sdist: str, destination: Path) -> None:
    """Download the index's file `sdist` to `destination`."""
    from pip._internal.commands import create_command
    from pip._internal.models.format_control import FormatControl
    from pip._internal.models.target_python import TargetPython

    command: Any = create_command("download")  # the types of its methods differ between versions of pip
    options, _ = command.parse_args(["--no-input", name])
    options.format_control = FormatControl(no_binary={":all:"}, only_binary=set())
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options, session, TargetPython(), ignore_requires_python=True)
        for candidate in finder.find_all_candidates(name):
            if candidate.link.filename == sdist:
                _save(session, candidate.link.url_without_fragment, destination)
                return
    raise LookupError(f"pip finds no {sdist} for the package {name}")


def _save(session: Any, url: str, destination: Path) -> None:
    # identity: a server must not unpack or recompress the file, because its digest is checked
    with session.get(url, headers={"Accept-Encoding": "identity"}, stream=True) as response:
        response.raise_for_status()
        done = 0
        with destination.open("wb") as file:
            for chunk in response.iter_content(CHUNK_BYTES):
                done += file.write(chunk)
                print(json.dumps({"done": done}), flush=True)


def main() -> int:
    """Run `download` with the command line's arguments; print every failure as one line of JSON."""
    name, sdist, destination = sys.argv[1:]
    logging.basicConfig(format="%(message)s")  # pip's warnings, such as a refused connection, go to stderr
    try:
        download(name, sdist, Path(destination))
    except LookupError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    except Exception as error:  # boundary of this process: pip and requests may raise any error
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
