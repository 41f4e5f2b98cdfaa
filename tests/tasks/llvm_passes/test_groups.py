"""COMDAT groups: what inline functions alone use goes with them."""

from __future__ import annotations

import re

from burnish import _native

INLINE = "define linkonce_odr void @{name}() comdat {{\n  {body}\n  ret void\n}}\n"
LOCAL = "define internal void @{name}() noinline {{\n  {body}\n  ret void\n}}\n"
FIRST, SECOND = "$first = comdat any\n", "$second = comdat any\n"


def joined(*parts: str) -> dict[str, str]:
    """Return the group of each function that is in one, after join_groups."""
    module = _native.Module("".join(parts).encode(), "test")
    module.join_groups()
    module.verify()
    found = re.findall(r"^define[^\n]* @(\w+)\(\)[^\n]* comdat(?:\(\$(\w+)\))?", module.print(), re.MULTILINE)
    return {name: group or name for name, group in found}


def inline(name: str, *calls: str) -> str:
    return INLINE.format(name=name, body="\n  ".join(f"call void @{call}()" for call in calls))


def local(name: str, *calls: str) -> str:
    return LOCAL.format(name=name, body="\n  ".join(f"call void @{call}()" for call in calls))


def test_what_one_group_alone_calls_goes_with_it() -> None:
    groups = joined(FIRST, inline("first", "outlined", "outlined"), local("outlined"))
    assert groups == {"first": "first", "outlined": "first"}


def test_what_that_calls_goes_too_whatever_the_order() -> None:
    for functions in ([local("b"), local("a", "b")], [local("a", "b"), local("b")]):
        groups = joined(FIRST, inline("first", "a"), *functions)
        assert groups == {"first": "first", "a": "first", "b": "first"}


def test_what_calls_itself_goes_too() -> None:
    assert joined(FIRST, inline("first", "a"), local("a", "a")) == {"first": "first", "a": "first"}


def test_what_two_groups_call_stays() -> None:
    groups = joined(FIRST, SECOND, inline("first", "a"), inline("second", "a"), local("a"))
    assert groups == {"first": "first", "second": "second"}


def test_what_others_call_or_refer_to_stays() -> None:
    """The linker refuses a reference from elsewhere to a local symbol of a group that it drops."""
    plain = "define void @plain() {\n  call void @a()\n  ret void\n}\n"
    for reference in (
        plain,
        "@pointer = global ptr @a\n",
        "@table = constant [1 x i64] [i64 ptrtoint (ptr @a to i64)]\n",
        "@other = alias void (), ptr @a\n",
        '@llvm.compiler.used = appending global [1 x ptr] [ptr @a], section "llvm.metadata"\n',
    ):
        assert joined(FIRST, reference, inline("first", "a"), local("a")) == {"first": "first"}


def test_a_table_of_the_group_is_no_reference_from_elsewhere() -> None:
    table = "@table = linkonce_odr constant ptr @a, comdat($first)\n"
    assert joined(FIRST, table, inline("first", "a"), local("a")) == {"first": "first", "a": "first"}


def test_what_nothing_refers_to_stays() -> None:
    assert joined(FIRST, inline("first"), local("a")) == {"first": "first"}


def test_what_has_a_section_of_its_own_stays() -> None:
    placed = local("a").replace("noinline", 'noinline section "mine"')
    assert joined(FIRST, inline("first", "a"), placed) == {"first": "first"}
