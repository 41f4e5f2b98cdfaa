"""The language of nests: what is read is what is meant, and errors say what, where and what was expected."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.errors import ProgramError
from burnish.tasks.loop_nests.nest import Access, Affine, Call, Nest
from burnish.tasks.loop_nests.parsing import parse, parse_statement
from tests.tasks.loop_nests.nests import nests

PRODUCT = "f32 m=4 n=5 k=6\nc[m,n] += a[m,k] * b[k,n]\n"


def test_product_is_read() -> None:
    nest = parse(PRODUCT)
    (statement,) = nest.statements
    assert (statement.free, statement.reduced, statement.reduce) == (("m", "n"), ("k",), "+")
    assert list(map(str, statement.accesses)) == ["a[m,k]", "b[k,n]"]
    assert nest.shapes == {"a": (4, 6), "b": (6, 5), "c": (4, 5)}
    assert (nest.inputs, nest.outputs, nest.flops) == (("a", "b"), ("c",), 2 * 4 * 5 * 6)


def test_tensors_are_as_large_as_what_is_read() -> None:
    nest = parse("f64 x=10 i=3\no[x] += a[2*x+i+1] * w[i]")
    assert nest.shapes == {"a": (2 * 9 + 2 + 1 + 1,), "w": (3,), "o": (10,)}
    access = nest.statements[0].accesses[0]
    assert (nest.strides(access), nest.offset(access)) == ({"x": 2, "i": 1}, 1)


def test_strides_are_of_c_order() -> None:
    nest = parse("f32 i=2 j=3 k=4\no[i,j] += a[k,j,i+1]")
    assert nest.shapes["a"] == (4, 3, 3)
    assert nest.strides(nest.statements[0].accesses[0]) == {"k": 9, "j": 3, "i": 1}


def test_inputs_and_outputs_of_a_chain() -> None:
    nest = parse("f32 n=8\nt[n] = x[n] * y[n]\no[n] = max(t[n], 0)")
    assert (nest.inputs, nest.written, nest.outputs) == (("x", "y"), ("t", "o"), ("o",))


def test_comments_and_empty_lines_do_not_count() -> None:
    assert parse("# a product\n\nf32 m=4 n=5 k=6  # sizes\n\nc[m, n] += a[m,k]*b[k,n]") == parse(PRODUCT)


def test_signs_bind_as_in_python() -> None:
    value = parse_statement("o[i] = -a[i] * 2 - b[i]").value
    assert value == Call(
        "-",
        (
            Call("*", (Call("neg", (Access("a", (Affine((("i", 1),)),)),)), 2.0)),
            Access("b", (Affine((("i", 1),)),)),
        ),
    )


@settings(max_examples=40)
@given(nests())
def test_text_of_a_nest_is_that_nest(nest: Nest) -> None:
    assert parse(str(nest)) == nest


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "line 1: expected the type and extents, such as 'f32 m=128 n=64'"),
        ("# nothing\n\nf16 i=3", "line 3: expected the type and extents"),
        ("f32 i=", "line 1: expected the type and extents"),
        ("f32 i=3", "expected a statement, such as"),
        ("f32 i=3\nx", "line 2: 'x': expected 'c[m, n] += a[m, k] * b[k, n]'"),
        ("f32 i=3\no[i] == a[i]", "line 2: 'o[i] == a[i]': expected"),
        ("f32 i=3\no[i] = a[i", "line 2: 'a[i': '[' was never closed"),
        ("f32 i=3\n\no[i] = a[j]", "line 3: j is on the right only; expected +=, *=, max= or min="),
        ("f32 i=3\no[i] += a[j]", "j has no extent; expected j=N, at least 1"),
        ("f32 i=3\no[i] = ä[i]", "ä: expected names of ASCII letters"),
        ("f32 i=0\no[i] = a[i]", "i is 0; expected i=N, at least 1"),
        ("f32 i=3\no[2*i] = a[i]", "line 2: o[2*i]: expected different iterators, without numbers"),
        ("f32 i=3\no[i,i] = a[i]", "o[i,i]: expected different iterators"),
        ("f32 i=3\no[i] = sin(a[i])", "line 2: sin(a[i]): expected numbers, a[i, j], + - * /, and exp"),
        ("f32 i=3\no[i] = a[i] ** 2", "a[i] ** 2: expected numbers"),
        ("f32 i=3\no[i] = max(a[i])", "max(a[i]): expected numbers"),
        ("f32 i=3\no[i] = True", "True: expected numbers"),
        ("f32 i=3\no[i] = 1e999", "expected numbers"),
        ("f32 i=3\no[i] = i", "line 2: i: expected numbers"),
        ("f32 i=3\no[i] = a[i*i]", "line 2: i * i: expected a sum of iterators such as 2*i + k - 1"),
        ("f32 i=3\no[i] = a[0.5*i]", "expected a sum of iterators"),
        ("f32 i=3\no[i] = a[i-1]", "a[i-1]: i-1 begins at -1; expected 0 or more"),
        ("f32 i=3\no[i] = a[i]\no[i] = a[i]", "o is written twice, or after it was read"),
        ("f32 i=3\no[i] = a[i]\na[i] = o[i]", "a is written twice, or after it was read"),
        ("f32 i=3\no[i] = o[i] + 1", "o is written twice, or after it was read"),
        ("f32 i=3\no[i] = a[i] + a[i,i]", "a[i,i]: a has 1 dimensions"),
        ("f32 i=3\nt[i] = a[i]\no[i] = t[i+1]", "t[i+1]: expected elements of t[i], [3]"),
        ("f32\ns[] = 1", "expected an iterator"),
        ("f32 i=20000 j=20000\no[i,j] = 1", "tensors of 400,000,000 elements; expected at most 268,435,456"),
        (f"f32 i={'9' * 5000}\no[i] = 1", "line 1: expected"),
        ("f32 i=3\no[i] = \0", "line 2: "),
        (f"f32 i=3\no[i] = {'-' * 100_000}a[i]", "line 2: '---"),
    ],
)
def test_errors_say_what_and_where(text: str, what: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(text, "my.nest")
    assert str(caught.value).startswith("my.nest: ")
    assert what in str(caught.value)


def test_iterators_are_counted() -> None:
    names = [f"i{number}" for number in range(13)]
    with pytest.raises(ProgramError, match="13 iterators; expected at most 12"):
        parse(f"f32 {' '.join(f'{name}=1' for name in names)}\no[{','.join(names)}] = 1")


@given(st.text(st.sampled_from("oiaj[](),+-*/=. 12\n#maxexp"), max_size=40))
def test_any_text_is_a_nest_or_an_error(text: str) -> None:
    with contextlib.suppress(ProgramError):
        parse(f"f32 i=3 j=2\n{text}")
