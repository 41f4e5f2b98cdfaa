"""What the documentation shows is run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks() -> list[tuple[str, str]]:
    blocks = []
    for page in PAGES:
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)):
            blocks.append((f"{page.name}-{number}", code))
    return blocks


@pytest.mark.parametrize(("code"), [pytest.param(code, id=name) for name, code in python_blocks()])
def test_code_of_the_documentation_runs(code, tmp_path):
    shutil.copy(ROOT / "examples" / "hot.c", tmp_path)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=300)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(example):
    command = [sys.executable, str(example)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_readme_has_python_to_run():
    assert any(name.startswith("README") for name, _ in python_blocks())


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_and_pictures_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
