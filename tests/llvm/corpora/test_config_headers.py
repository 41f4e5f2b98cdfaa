import re

import pytest

from burnish.llvm.corpora.config_headers import fill_template, generate_header
from burnish.llvm.corpora.tree import index_tree
from tests.llvm.corpora.conftest import Tree

UNIX = "#undef HAVE_UNISTD_H\n#undef HAVE_WINDOWS_H\n#undef HAVE_MEMCPY\n#undef SIZEOF_LONG\n#undef CRAY\n"
FILLED: dict[str, tuple[str, list[str]]] = {
    "autoconf's settings follow Linux": (UNIX, ["HAVE_UNISTD_H 1", "HAVE_MEMCPY 1", "SIZEOF_LONG 8"]),
    "a header in a folder is recognised": ("#undef HAVE_SYS_STAT_H\n", ["HAVE_SYS_STAT_H 1"]),
    "a prefixed setting keeps its prefix": ("#undef GMP_HAVE_STDINT_H\n", ["GMP_HAVE_STDINT_H 1"]),
    "CMake's settings are zero or one": (
        "#cmakedefine01 HAVE_STDIO_H\n#cmakedefine01 USE_COCOA\n",
        ["HAVE_STDIO_H 1", "USE_COCOA 0"],
    ),
    "a function newer than the headers is absent everywhere": ("#undef HAVE_STRLCPY\n", []),
    "the package's own values come first": (
        "#cmakedefine01 WITH_SIMD\n#undef LEVEL\n",
        ["WITH_SIMD 1", "LEVEL 3"],
    ),
}


@pytest.mark.parametrize(("template", "expected"), FILLED.values(), ids=FILLED)
def test_settings_are_defined(template: str, expected: list[str]) -> None:
    filled = fill_template(template, {"WITH_SIMD": "1", "LEVEL": "3"})
    assert re.findall("#define (.*)", filled) == expected


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("a @WIDTH@ b @SIZEOF_INT@ c @OTHER@\n@INSERT@\n", "a 64 b 4 c 0\n"),
        ("typedef @TIFF_UINT16_T@ a; typedef @TIFF_SSIZE_T@ b;", "typedef uint16_t a; typedef long b;"),
        ("int c[@SIZEOF_SIZE_T@];", "int c[8];"),
    ],
    ids=["known values, then sizes, then zero", "types", "sizes"],
)
def test_placeholders_become(template: str, filled: str) -> None:
    assert fill_template(template, {"WIDTH": "64"}) == filled


def test_a_missing_config_header_is_generated_from_its_template(tree: Tree) -> None:
    root = tree({"src/a.c": "", "src/config.h.in": "#undef HAVE_STDIO_H\n"})
    include_root = generate_header(index_tree(root), "config.h", "src", ())
    assert include_root == ".generated/src"
    assert "HAVE_STDIO_H 1" in (root / include_root / "config.h").read_text()


def test_an_export_header_defines_its_macros_as_nothing(tree: Tree) -> None:
    root = tree({"a.h": "FOO_EXPORT int foo(void);\n"})
    include_root = generate_header(index_tree(root), "foo/foo_export.h", "", ())
    assert include_root is not None
    assert "#define FOO_EXPORT\n" in (root / include_root / "foo/foo_export.h").read_text()


def test_a_header_without_template_is_not_invented(tree: Tree) -> None:
    assert generate_header(index_tree(tree({"a.c": ""})), "zlib.h", "", ()) is None
