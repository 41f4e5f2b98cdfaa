from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Tree = Callable[[Mapping[str, str]], Path]

PADDING = "/* " + "long enough to be more than a stub " * 3 + "*/\n"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Return a function that writes files below a new folder."""

    def write(files: Mapping[str, str]) -> Path:
        root = tmp_path / "package"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    return write
