"""Stand-ins for burnish's search, and the command that runs `burnish cc` with one of them.

python optimizers.py NAME cc|c++|rustc ARGUMENT...
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from burnish import _native
from burnish.cc.commands import cc, rustc
from burnish.cc.requests import Attempt, KeptReference, Request

SINK = "function(simplifycfg<sink-common-insts;hoist-common-insts>,instcombine<no-verify-fixpoint>)"

NO_INSTRUCTION = b'define void @f() { call void asm sideeffect "nonsense", ""() ret void }'


def passes(bitcode: bytes, request: Request, *pipelines: str) -> Attempt:
    module = _native.Module(bitcode, request.name)
    module.honour_mandatory()
    for pipeline in pipelines:
        module.run(pipeline, request.level)
    return Attempt(module.bitcode(), pipelines, len(pipelines))


def shrink(bitcode: bytes, request: Request) -> Attempt:
    return passes(bitcode, request, f"clang<{request.level};inline-threshold=0>", SINK)


def crashing(bitcode: bytes, request: Request) -> Attempt:
    return replace(shrink(bitcode, request), crashes=2)


def refused(bitcode: bytes, request: Request) -> Attempt:
    """Return another program than the source's, after a search."""
    return replace(drop_everything(bitcode, request), evaluations=7, crashes=3)


def not_generated(bitcode: bytes, request: Request) -> Attempt:
    """Return what clang makes no object of, after a search."""
    module = _native.Module(NO_INSTRUCTION, request.name)
    return Attempt(module.bitcode(), ("nonsense",), 7, crashes=3)


def no_smaller(bitcode: bytes, request: Request) -> Attempt:
    return replace(like_clang(bitcode, request), evaluations=7, crashes=3)


def only_crashing(_bitcode: bytes, _request: Request) -> Attempt:
    raise KeptReference("nothing smaller was found", 7, 3)


def like_clang(bitcode: bytes, request: Request) -> Attempt:
    return passes(bitcode, request, f"clang<{request.level}>")


def outline(bitcode: bytes, request: Request) -> Attempt:
    return passes(bitcode, request, f"clang<{request.level}>", "outline<call-cost=2>")


def grow(bitcode: bytes, request: Request) -> Attempt:
    return passes(bitcode, request, "inliner-wrapper<threshold=5000>")


def inline(bitcode: bytes, request: Request) -> Attempt:
    return passes(bitcode, request, "inliner-wrapper<threshold=5000>", f"clang<{request.level}>")


def drop_everything(bitcode: bytes, request: Request) -> Attempt:
    return passes(bitcode, request, "internalize", "globaldce")


def fail(_bitcode: bytes, _request: Request) -> Attempt:
    raise RuntimeError("out of ideas")


def crash(_bitcode: bytes, _request: Request) -> Attempt:
    os.abort()


def empty(_bitcode: bytes, _request: Request) -> Attempt:
    return Attempt(bytes(100), (), 1)


def garbage(_bitcode: bytes, _request: Request) -> Attempt:
    return Attempt(b"BC\xc0\xde" + bytes(range(256)), (), 1)


def nothing(_bitcode: bytes, _request: Request) -> Attempt:
    return None  # type: ignore[return-value]


def chatter(bitcode: bytes, request: Request) -> Attempt:
    print("hello")
    os.write(2, b"hello")
    return shrink(bitcode, request)


def sleep(bitcode: bytes, request: Request) -> Attempt:
    """Say by a file that it is here, with a child of its own, and never answer."""
    child = subprocess.Popen(["sleep", "300"])
    here = Path(os.environ["SLEEPS"])
    here.with_suffix(".new").write_text(f"{os.getpid()} {child.pid}")
    here.with_suffix(".new").replace(here)
    time.sleep(300)
    return shrink(bitcode, request)


def main(words: list[str]) -> int:
    """Run `burnish cc` with one of the stand-ins."""
    name, language, *arguments = words
    # what these find is all that is found, and another one found something else for the same file
    arguments = ["--code-generation", "clang", "--remember", "none", *arguments]
    if language == "rustc":
        return rustc.main(arguments, optimizer=globals()[name])
    return cc.main(arguments, cxx=language == "c++", optimizer=globals()[name])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
