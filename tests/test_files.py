"""Files that are written whole, and files of JSON lines."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.decoding import json_object
from burnish.core.errors import InputError
from burnish.files import LineFile, parse_json_lines, read_json_lines, write_atomically


def test_file_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.o"
    write_atomically(path, b"one")
    path.chmod(0o640)
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [item.name for item in tmp_path.iterdir()] == ["out.o"]


def test_failed_write_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.o"
    path.write_bytes(b"old")

    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises((OSError, InputError)):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["out.o"]


def test_missing_folder_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write there"):
        write_atomically(tmp_path / "nowhere" / "out.o", b"")


LINES = st.lists(st.dictionaries(st.text(), st.text() | st.integers()))


@settings(max_examples=30)
@given(LINES, st.data())
def test_lines_that_were_written_are_read_however_much_of_the_next_one_is_there(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str | int]], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    with closing(LineFile(path, keep=True)) as file:
        for row in rows:
            file.append(json.dumps(row, ensure_ascii=data.draw(st.booleans())))
    with path.open("ab") as killed:
        next_line = json.dumps({"next": "row"}).encode()
        killed.write(next_line[: data.draw(st.integers(0, len(next_line)))])
    assert read_json_lines(path, json_object, appended=True) == rows
    with closing(LineFile(path, keep=True)) as file:
        file.append("{}")
    assert read_json_lines(path, json_object) == [*rows, {}]


def test_no_file_yet_has_no_lines_where_lines_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert read_json_lines(path, json_object, appended=True) == []
    with pytest.raises(InputError, match=r"rows\.jsonl: No such file"):
        read_json_lines(path, json_object)


def test_last_line_without_an_end_counts_where_none_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2}')
    assert read_json_lines(path, json_object) == [{"a": 1}, {"a": 2}]
    path.write_text('{"a": 1}\n{"a": ')
    with pytest.raises(InputError, match=r"rows\.jsonl, line 2: not a JSON object: .*; correct the line, or"):
        read_json_lines(path, json_object)


@pytest.mark.parametrize("line", ["[]", "3", "{", "word", '{"b": 1}'])
def test_what_is_no_line_is_told_with_what_to_do(line: str) -> None:
    def parse(text: str) -> int:
        return int(json_object(text, "a count")["a"])

    with pytest.raises(InputError, match=r"^x, line 2: .+; count anew$"):
        parse_json_lines(f'{{"a": 1}}\n{line}\n', parse, "x", "count anew")


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="expected JSON lines"):
        read_json_lines(path, json_object)
