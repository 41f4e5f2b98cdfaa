"""The prose of src is plain: banned openings and phrases, and the length of sentences.

The test finds patterns only.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent.parent / "src" / "burnish"
MOST_WORDS = 30
OPENINGS = re.compile(r"(?:(?:Return|Yield) what|What|How|Whether|Those)\b")
PHRASES = re.compile(
    r"\b(?:is none of|(?<!there )is no(?! (?:longer|more|less|need|way)\b)|(?<!there )are none|"
    r"likewise|whoever|lets expect|comes? by)\b",
    re.IGNORECASE,
)


def quoted(text: str) -> str:
    """Replace code and quoted names, which are not prose."""
    return re.sub(r"``.+?``|`[^`]*`|\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)", "X", text, flags=re.DOTALL)


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings of a module, its classes, functions and attributes."""
    for node in ast.walk(tree):
        body = getattr(node, "body", ())
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield text


def comments(source: str) -> Iterator[str]:
    """Yield the comments of a file, lines that follow each other as one."""
    block: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last + 1 and block:
            yield " ".join(block)
            block = []
        block.append(token.string.lstrip("# "))
        last = token.start[0]
    if block:
        yield " ".join(block)


def messages(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of errors, and help texts, with X for each value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = [*node.args] if name.endswith(("Error", "Miscompiled", "Crash", "Tool")) else []
            texts = given + [
                one.value for one in node.keywords if one.arg in ("help", "description", "epilog")
            ]
            yield from (written for one in texts if (written := text_of(one)))


def text_of(node: ast.expr) -> str:
    """Return the text of a string or f-string."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a docstring's prose, without code, tables, lists, and headers of sections."""
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if line.strip()]
        indents = [len(line) - len(line.lstrip()) for line in lines[1:]]
        table = any(re.search(r"\S {2,}\S", line.strip()) for line in lines)
        code = any(mark in paragraph for mark in ("::", "$ ", ">>>"))
        if table or code or max(indents, default=0) - min(indents, default=0) >= 8:
            continue
        kept = [line.strip() for line in lines if not re.fullmatch(r"[A-Z]\w+:", line.strip())]
        joined = re.sub(r"(?:^|(?<=\n))\w+: ", ". ", "\n".join(kept))
        yield from re.split(r"(?<=[.!?;:])\s+", joined.replace("\n", " "))


def openings(source: str, tree: ast.Module) -> list[str]:
    """Return docstrings that begin with a free relative."""
    return [text.strip()[:60] for text in docstrings(tree) if OPENINGS.match(text.strip())]


def phrases(source: str, tree: ast.Module) -> list[str]:
    """Return docstrings, comments and messages with a banned phrase."""
    texts = [*docstrings(tree), *comments(source), *messages(tree)]
    return [hit.group() for text in texts for hit in PHRASES.finditer(quoted(" ".join(text.split())))]


def long_sentences(source: str, tree: ast.Module) -> list[str]:
    """Return sentences of docstrings and messages of more than MOST_WORDS words."""
    texts = [*docstrings(tree), *messages(tree)]
    found = [one for text in texts for one in sentences(quoted(text))]
    return [one for one in found if len(re.findall(r"\S*[A-Za-z]\S*", one)) > MOST_WORDS]


CHECKS = {"openings": openings, "phrases": phrases, "sentences": long_sentences}


def hits(check: str) -> dict[str, list[str]]:
    """Return the hits of a check by file."""
    found = {name: CHECKS[check](source, tree) for name, (source, tree) in parsed().items()}
    return {name: texts for name, texts in found.items() if texts}


@functools.cache
def parsed() -> dict[str, tuple[str, ast.Module]]:
    """Return the text and the tree of each file."""
    texts = {path: path.read_text() for path in sorted(SOURCES.rglob("*.py"))}
    return {path.relative_to(SOURCES).as_posix(): (text, ast.parse(text)) for path, text in texts.items()}


@pytest.mark.parametrize("check", CHECKS)
def test_prose_is_plain(check: str) -> None:
    assert not hits(check), "rewrite these for a reader who reads once"


@pytest.mark.parametrize(
    ("check", "bad", "good"),
    [
        ("openings", '"""Return what is there."""', '"""Return the values."""'),
        ("openings", 'A = 1\n"""How many."""', 'A = 1\n"""The number."""'),
        (
            "phrases",
            '"""This is no table."""',
            '"""There is no table; this is no longer a table; `is no` is quoted."""',
        ),
        ("phrases", "# likewise", "# the same"),
        ("phrases", 'raise InputError(f"{a} is none of {b}")', 'raise InputError(f"{a}: expected {b}")'),
        ("sentences", f'"""{"word " * 31}."""', f'"""{"word " * 29}."""'),
        ("sentences", f'f(help="{"word " * 31}")', f'"""Do.\n\n    a  {"word " * 31}\n"""'),
    ],
)
def test_checks_find_what_they_are_for(check: str, bad: str, good: str) -> None:
    assert CHECKS[check](bad, ast.parse(bad))
    assert not CHECKS[check](good, ast.parse(good))
