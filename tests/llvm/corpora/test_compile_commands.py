import json
from pathlib import Path

import pytest

from burnish.core.errors import InputError
from burnish.llvm.corpora.compile_commands import Command, read_compile_commands, without_unknown


def read(tmp_path: Path, entries: object) -> list[Command]:
    path = tmp_path / "compile_commands.json"
    path.write_text(json.dumps(entries))
    return read_compile_commands(path)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("cc -Iinclude -DX=1 -O3 -g -c -o a.o -MD -MF a.d -MT a.o a.c", ("-Iinclude", "-DX=1")),
        (
            r"ccache gcc -DNAME=\"a\ b\" '-DQ=x y' -std=gnu11 -oa.o -MMD -MFa.d -flto=auto -c a.c",
            ('-DNAME="a b"', "-DQ=x y", "-std=gnu11"),
        ),
        ("cc ./a.c -DX", ("-DX",)),
    ],
    ids=["what only a build needs", "split as by a shell", "the source in another spelling"],
)
def test_arguments_are_what_the_program_needs(
    tmp_path: Path, command: str, arguments: tuple[str, ...]
) -> None:
    (found,) = read(tmp_path, [{"directory": str(tmp_path), "file": f"{tmp_path}/a.c", "command": command}])
    assert (found.name, found.source, found.directory) == ("a.c", "a.c", tmp_path)
    assert found.arguments == arguments


def test_a_relative_directory_is_below_the_database(tmp_path: Path) -> None:
    entry = {"directory": "build", "file": "../src/a.cc", "arguments": ["c++", "-c", "../src/a.cc"]}
    (command,) = read(tmp_path, [entry])
    assert command.directory == tmp_path / "build"
    assert command.source == "../src/a.cc"
    assert command.name == "a.cc"


def test_the_same_command_counts_once_and_another_has_a_number(tmp_path: Path) -> None:
    entries = [
        {"directory": str(tmp_path), "file": "a.c", "arguments": ["cc", "-c", "a.c", "-o", output, *more]}
        for output, more in [("1.o", []), ("2.o", []), ("3.o", ["-DX"])]
    ]
    assert [(one.name, one.arguments) for one in read(tmp_path, entries)] == [
        ("a.c", ()),
        ("a.c@2", ("-DX",)),
    ]


def test_names_are_below_what_all_files_share(tmp_path: Path) -> None:
    entries = [
        {"directory": str(tmp_path), "file": file, "arguments": ["cc", "-c", file]}
        for file in ("src/one/a.c", "src/two/a.c", "src/two/x.S")
    ]
    assert [one.name for one in read(tmp_path, entries)] == ["one/a.c", "two/a.c"]


@pytest.mark.parametrize("text", ["{", "[1]", '[{"file": "a.c"}]', '{"a": 1}', '[{"command": "cc"}]'])
def test_what_is_no_database_is_explained(tmp_path: Path, text: str) -> None:
    path = tmp_path / "compile_commands.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a compilation database"):
        read_compile_commands(path)


def test_a_missing_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_compile_commands(tmp_path / "compile_commands.json")


def test_an_option_of_gcc_is_left_out() -> None:
    assert without_unknown(("-a", "-fgcc", "-b"), "unknown argument: '-fgcc'") == ("-a", "-b")
    assert without_unknown(("-a",), "unknown argument: '-fgcc'") is None
    assert without_unknown(("-a",), "expected ';'") is None
