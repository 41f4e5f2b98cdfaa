"""What the documentation shows is run."""

import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks() -> list[tuple[str, str]]:
    blocks = []
    for page in PAGES:
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)):
            blocks.append((f"{page.name}-{number}", code))
    return blocks


@pytest.mark.parametrize(("code"), [pytest.param(code, id=name) for name, code in python_blocks()])
def test_code_of_the_documentation_runs(code: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "hot.c", tmp_path)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=300)


# Of trainings that tests/examples/test_other_agents.py runs at their whole length, a quarter is enough here.
SHORTER = {
    "torchrl_ppo.py": ("total_frames=960", "total_frames=240"),
    "masked_ppo.py": ("agent.learn(960)", "agent.learn(240)"),
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    if example.name in SHORTER:
        shutil.copytree(example.parent, tmp_path, dirs_exist_ok=True)
        whole, part = SHORTER[example.name]
        assert example.read_text().count(whole) == 1
        example = tmp_path / example.name
        example.write_text(example.read_text().replace(whole, part))
    command = [sys.executable, str(example)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def console_blocks() -> list[tuple[str, str]]:
    """Return the README's commands of burnish that need nothing but hot.c, with what they print."""
    console = r"```console\n\$ (burnish (?:optimize|apply) [^\n]*)\n(.*?)```"
    blocks = re.findall(console, README.read_text(), flags=re.S)
    assert len(blocks) == 2
    return blocks


@pytest.mark.parametrize(("command", "printed"), console_blocks(), ids=["optimize", "apply"])
def test_the_readme_shows_what_is_printed(command: str, printed: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "hot.c", tmp_path)
    words = [sys.executable, "-m", "burnish.cli", *shlex.split(command)[1:]]
    assert without_times(on_a_terminal(words, tmp_path)) == without_times(printed)


def on_a_terminal(words: list[str], folder: Path) -> str:
    """Run a command whose output is a terminal of 80 columns without colours; return what it prints."""
    reader, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (25, 80))
    variables = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(
        words,
        cwd=folder,
        env=variables | {"TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(terminal)
        shown = b""
        with suppress(OSError):  # EIO: the command has ended
            while more := os.read(reader, 1 << 16):
                shown += more
        os.close(reader)
        _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    return shown.decode()


def without_times(text: str) -> list[list[str]]:
    """Return the words of each line but (milli)seconds: the decimals that have no unit beside them."""
    time = re.compile(r"\d+\.\d")
    rows = [[word for word in line.split() if not time.fullmatch(word)] for line in text.splitlines()]
    return [row for row in rows if row and not set("".join(row)) <= {"─"}]


def test_the_readme_has_python_to_run() -> None:
    assert any(name.startswith("README") for name, _ in python_blocks())


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_and_pictures_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
