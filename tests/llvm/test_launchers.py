"""Several unmodified compilers ask one server at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from burnish.core.errors import InputError
from burnish.llvm.channel import Questions
from burnish.llvm.launchers import Launchers, is_compiler

# A compiler that asks whether its number is even, after all compilers have begun; number 3 is killed while
# it writes its second question. The wait is that of a FIFO, which opens for both ends at once.
ASKS = """
import json, os, signal, struct, sys
from pathlib import Path
number, folder = int(sys.argv[-1]), Path(sys.argv[-2])
base = next(word for word in sys.argv if word.startswith("-channel=")).partition("=")[2]
tensor = {"port": 0, "shape": [1], "type": "int64_t"}
header = {"features": [{"name": "number", **tensor}], "advice": {"name": "is_even", **tensor}}
with open(base + ".out", "wb", buffering=0) as out, open(base + ".in", "rb", buffering=0) as answer:
    out.write(json.dumps(header).encode() + b"\\n")
    (folder / f"{number}.begins").touch()
    (folder / f"{number}.go").open("rb").read()
    for i in range(50):
        question = b'{"observation":%d}\\n%s\\n' % (i, struct.pack("<q", number + i))
        if number == 3 and i == 1:
            out.write(question[:25])
            os.kill(os.getpid(), signal.SIGKILL)
        out.write(question)
        assert struct.unpack("<q", answer.read(8))[0] == (number + i) % 2, (number, i)
"""


def is_even() -> Questions:
    return Questions(
        decision="is_even",
        tensors={"number": 1},
        answer=lambda row: int(row[0]) % 2,
        advisor="-ask",
        channel_option="-channel",
        tool="opt",
    )


def test_four_compilers_ask_at_once_and_the_death_of_one_disturbs_no_other(tmp_path: Path) -> None:
    script = tmp_path / "opt"
    script.write_text(f"#!{sys.executable}\n{ASKS}")
    script.chmod(0o755)
    folder = tmp_path / "launchers"
    folder.mkdir()
    launchers = Launchers(folder, [is_even()])
    launchers.write("opt", script)
    done = threading.Event()
    server = threading.Thread(target=launchers.serve, args=(lambda: not done.is_set(),))
    launchers.__enter__()
    server.start()
    try:
        for number in range(4):
            os.mkfifo(tmp_path / f"{number}.go")
        started = [
            subprocess.Popen([launchers.path("opt"), tmp_path, str(number)], stderr=subprocess.PIPE)
            for number in range(4)
        ]
        for number in range(4):  # opening waits until the compiler has begun
            (tmp_path / f"{number}.go").open("wb").close()
        assert all((tmp_path / f"{number}.begins").exists() for number in range(4))
        codes = [(one.communicate(timeout=100)[1], one.returncode) for one in started]
    finally:
        done.set()
        server.join()
        launchers.__exit__()
    assert codes == [(b"", 0)] * 3 + [(b"", -signal.SIGKILL)]
    (served,) = launchers.served
    assert served.compiles == 4
    assert served.answers == {0: 75, 1: 76}
    assert launchers.failures == []
    assert [path.name for path in folder.iterdir()] == ["opt"]  # no FIFO is left


def test_a_compiler_with_other_questions_is_stopped(tmp_path: Path) -> None:
    script, folder = tmp_path / "opt", tmp_path / "launchers"
    script.write_text(f"#!{sys.executable}\n{ASKS}".replace('"is_even"', '"is_odd"'))
    script.chmod(0o755)
    folder.mkdir()
    launchers = Launchers(folder, [is_even()])
    launchers.write("opt", script)
    os.mkfifo(tmp_path / "0.go")
    with launchers:
        started = subprocess.Popen([launchers.path("opt"), tmp_path, "0"])
        launchers.serve(lambda: started.poll() is None)
    assert started.returncode == -signal.SIGKILL
    assert launchers.failures == ["the compiler asks for 'is_odd'; expected 'is_even'"]
    with pytest.raises(InputError, match="a launcher cannot be written: File exists"):
        launchers.write("opt", script)
    ended = subprocess.run([launchers.path("opt")], capture_output=True, text=True, timeout=100)
    assert (ended.returncode, ended.stderr) == (1, f"{folder}/opt: burnish serve-inliner has ended\n")


def test_launchers_are_for_llvms_tools() -> None:
    names = ("clang", "/usr/bin/clang++-18", "opt", "llc", "make", "clang-format", "gcc")
    assert [is_compiler(name) for name in names] == [True, True, True, True, False, False, False]
