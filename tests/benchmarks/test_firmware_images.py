"""Whole programs for microcontrollers: the table, and the list of images."""

from __future__ import annotations

import tomllib
from typing import Any

from firmware_images import IMAGES, PROGRAMS, WAYS, linker_script, table


def row(machine: str, image: str, loaded: tuple[int, ...], instructions: tuple[int, ...]) -> dict[str, Any]:
    ways = {
        way: {"loaded": size, "bss": 0, "instructions": executed}
        for way, size, executed in zip(WAYS, loaded, instructions, strict=True)
    }
    return {"machine": machine, "image": image, "files": 1, **ways}


def test_each_way_is_compared_with_gcc() -> None:
    rows = [
        row("m4", "a", (100, 90, 110, 99, 95, 80), (1000, 1000, 1020, 1010, 1000, 1100)),
        row("m4", "b", (300, 270, 290, 297, 285, 240), (500, 500, 500, 505, 500, 550)),
        row("rv32", "a", (200, 190, 180, 175, 170, 160), (100, 100, 100, 100, 100, 90)),
    ]
    m4, rv32 = table(rows).split("\n\n")
    assert m4.startswith("| m4 | gcc | gcc -flto | clang | clang -flto | burnish | burnish whole |")
    assert "| a | 100 | -10.0% | +10.0% | -1.0% | -5.0% | -20.0% |" in m4
    assert "| all | 400 | -10.0% | +0.0% | -1.0% | -5.0% | -20.0% |" in m4
    assert "| instructions, geometric mean | | +0.0% | +1.0% | +1.0% | +0.0% | +10.0% |" in m4
    assert "| instructions, geometric mean | | +0.0% | +0.0% | +0.0% | +0.0% | -10.0% |" in rv32


def test_images_are_complete() -> None:
    images = tomllib.loads(IMAGES.read_text())["image"]
    assert len({image["name"] for image in images}) == len(images) == 6
    for image in images:
        assert (PROGRAMS / f"{image['name']}.c").is_file() and image["package"] and image["files"]


def test_a_board_has_its_memories_in_the_linker_script() -> None:
    script = linker_script("rv32imc")
    assert script.startswith("__flash = 0x80000000; __ram = 0x80400000;")
    assert script.endswith("INCLUDE picolibc.ld\n")
    assert not linker_script("aarch64")
