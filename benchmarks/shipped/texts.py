"""Generated inputs: text, XML, JSON, patterns; the same bytes everywhere."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

SCRIPTS = Path(__file__).with_name("inputs")
SYLLABLES = "the an in of ba ri to lo me su ka en ter ing al no qui se ver on".split()
PATTERNS = (
    r"/(\w+)\s+\1/i",
    r"/^(?:(?=.*the).*?)(\d+|[a-m]+)$/",
    r"/(a|ab)(c|bcd)*(d*)|\b[b-t]{3,5}ing\b/g",
    r"/(?<first>\p{Ll})\w*(?:\s\w+){2,4}?\k<first>/utf",
    r"/(?<!of )\b(?>the|an|in)(?:lo|ri|ka)+/g",
)


def write_inputs(directory: Path) -> Path:
    """Write all inputs of the projects into a folder, and return the folder."""
    shutil.copytree(SCRIPTS, directory, dirs_exist_ok=True)
    rng = random.Random(0)
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(3000)]
    lines = [" ".join(rng.choices(words, k=rng.randint(3, 14))) for _ in range(24000)]
    written = {
        "text.txt": "\n".join(line.capitalize() + "." * (len(line) % 3) for line in lines) + "\n",
        "catalogue.xml": _catalogue(rng, words),
        "namespaces.xml": _namespaces(rng, words),
        "records.json": json.dumps(_records(rng, words), indent=1),
        "patterns.txt": "\n".join(_subjects(pattern, lines) for pattern in PATTERNS),
    }
    for name, text in written.items():
        (directory / name).write_text(text, encoding="utf-8")
    return directory


def _catalogue(rng: random.Random, words: list[str]) -> str:
    entity = '<!ENTITY who "someone &amp; others"><!ATTLIST book lang CDATA "en" year NMTOKEN #IMPLIED>'
    books = [
        f'<book id="b{i}" year="{rng.randint(1900, 2020)}"><title>{" ".join(rng.choices(words, k=4))}'
        f" &#x{0xE0 + i % 30:x};</title><!-- {rng.choice(words)} --><by>&who;</by>"
        f"<![CDATA[{rng.choice(words)} < & >]]>"
        f"<price currency='EUR'>{rng.random() * 100:.2f}</price><?note {i}?></book>"
        for i in range(60000)
    ]
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE list [{entity}]>\n'
    return head + "<list>" + "\n".join(books) + "</list>\n"


def _namespaces(rng: random.Random, words: list[str]) -> str:
    items = [
        f'<n{i % 5}:{rng.choice(words)}x xmlns:n{i % 5}="urn:example:{i % 40}" '
        f"n{i % 5}:at='{rng.choice(words)}'>{rng.choice(words)} é ü {i}<plain at='{i}'/>"
        for i in range(16000)
    ]
    ends = [item.split(" ", 1)[0].replace("<", "</") + ">" for item in items]
    pairs = "".join(item + end for item, end in zip(items, ends, strict=True))
    return f'<?xml version="1.0" encoding="UTF-8"?><root xmlns="urn:example:all">{pairs}</root>\n'


def _records(rng: random.Random, words: list[str]) -> list[object]:
    return [
        {
            "id": i,
            "name": " ".join(rng.choices(words, k=3)),
            "score": rng.random() * 10 ** rng.randint(-5, 9),
            "tags": rng.choices(words, k=rng.randint(0, 5)),
            "nested": {"deep": [None, True, {"text": f'é "quoted" \\ {i}\n'}], "negative": -i * 7919},
        }
        for i in range(5000)
    ]


def _subjects(pattern: str, lines: list[str]) -> str:
    return "\n".join([pattern, *(f"    {line}" for line in lines[:5000]), ""])
