from pathlib import Path

import pytest

from burnish.core.errors import InputError
from burnish.llvm.corpora.pack import PackRow, Status
from burnish.llvm.corpora.splits import (
    apply_splits,
    assign_splits,
    group_of,
    read_splits,
    remove_splits,
    without_repeats,
    write_splits,
)


def row(
    name: str, split: str, structure: str = "", instructions: int = 9, status: Status = "compiled"
) -> PackRow:
    package, _, path = name.partition("/")
    return PackRow(package, path, split, "c", status, structure=structure or name, instructions=instructions)


def test_a_program_in_two_splits_stays_in_the_first() -> None:
    rows = [row("t/a.c", "test", "same"), row("v/a.c", "val", "same"), row("l/a.c", "train", "same")]
    rows += [row("l/b.c", "train", "same"), row("t/c.c", "test", "other")]
    found = {row.name: row.status for row in without_repeats(rows)}
    assert found == {
        "t/a.c": "repeated",
        "v/a.c": "repeated",
        "l/a.c": "compiled",
        "l/b.c": "compiled",
        "t/c.c": "compiled",
    }


def test_a_repeat_says_where_it_is() -> None:
    first, second = without_repeats([row("t/a.c", "test", "same"), row("l/b.c", "train", "same")])
    assert first.reason == "the same program as l/b.c in train"
    assert not first.is_program
    assert second.is_program


def test_of_two_kept_out_splits_validation_keeps_it() -> None:
    rows = without_repeats([row("t/a.c", "test", "same"), row("v/a.c", "val", "same")])
    assert [one.status for one in rows] == ["repeated", "compiled"]


def test_what_did_not_compile_repeats_nothing() -> None:
    rows = [row("t/a.c", "test", "x", 0, "failed"), row("l/a.c", "train", "x", 0, "failed")]
    assert without_repeats(rows) == rows


def test_folders_are_dealt_out_by_share() -> None:
    groups = {f"p/{number}": 10 for number in range(10)}
    splits = assign_splits(groups, {"train": 8, "val": 1, "test": 1}, seed=0)
    assert sorted(splits.values()) == ["test", *["train"] * 8, "val"]
    assert splits == assign_splits(groups, {"train": 8, "val": 1, "test": 1}, seed=0)
    assert splits != assign_splits(groups, {"train": 8, "val": 1, "test": 1}, seed=1)


@pytest.mark.parametrize("shares", [{"train": 0}, {"train": 2, "val": -1}])
def test_shares_that_make_no_sense_are_refused(shares: dict[str, int]) -> None:
    with pytest.raises(InputError, match="expected positive shares of splits"):
        assign_splits({"a": 1}, shares, seed=0)


def test_splits_of_the_folder_come_before_those_of_the_package(tmp_path: Path) -> None:
    rows = [row("p/one/a.c", "train"), row("p/two/a.c", "train"), row("q/a.c", "train")]
    write_splits(tmp_path, {"p/one": "val", "q": "test"}, 0)
    splits = read_splits(tmp_path)
    assert [one.split for one in apply_splits(rows, splits)] == ["val", "train", "test"]
    remove_splits(tmp_path)
    assert apply_splits(rows, read_splits(tmp_path)) == rows
    assert group_of(rows[0]) == "p/one"


def test_a_damaged_file_of_splits_is_named(tmp_path: Path) -> None:
    (tmp_path / "splits.json").write_text("{")
    with pytest.raises(InputError, match=r"splits\.json: cannot be read"):
        read_splits(tmp_path)
