from burnish.llvm.corpora.config_headers import fill_template, generate_header
from burnish.llvm.corpora.tree import index_tree
from tests.llvm.corpora.conftest import Tree


def test_autoconf_settings_follow_linux() -> None:
    text = (
        "#undef HAVE_UNISTD_H\n#undef HAVE_WINDOWS_H\n#undef HAVE_MEMCPY\n#undef SIZEOF_LONG\n#undef CRAY\n"
    )
    filled = fill_template(text, {})
    assert "#define HAVE_UNISTD_H 1" in filled
    assert "#define HAVE_MEMCPY 1" in filled
    assert "#define SIZEOF_LONG 8" in filled
    assert "WINDOWS" not in filled
    assert "CRAY" not in filled


def test_a_header_in_a_folder_is_recognised() -> None:
    assert "#define HAVE_SYS_STAT_H 1" in fill_template("#undef HAVE_SYS_STAT_H\n", {})


def test_a_prefixed_setting_keeps_its_prefix() -> None:
    assert "#define GMP_HAVE_STDINT_H 1" in fill_template("#undef GMP_HAVE_STDINT_H\n", {})


def test_cmake_settings_are_zero_or_one() -> None:
    assert fill_template("#cmakedefine01 HAVE_STDIO_H\n#cmakedefine01 USE_COCOA\n", {}) == (
        "#define HAVE_STDIO_H 1\n#define USE_COCOA 0\n"
    )


def test_placeholders_take_known_values_then_sizes_then_zero() -> None:
    filled = fill_template("a @WIDTH@ b @SIZEOF_INT@ c @OTHER@\n@INSERT@\n", {"WIDTH": "64"})
    assert filled == "a 64 b 4 c 0\n"


def test_a_function_newer_than_the_headers_is_absent_everywhere() -> None:
    assert fill_template("#undef HAVE_STRLCPY\n", {}) == ""


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


def test_the_package_s_own_values_come_first() -> None:
    filled = fill_template("#cmakedefine01 WITH_SIMD\n#undef LEVEL\n", {"WITH_SIMD": "1", "LEVEL": "3"})
    assert "#define WITH_SIMD 1" in filled
    assert "#define LEVEL 3" in filled


def test_placeholders_of_types_become_types() -> None:
    filled = fill_template("typedef @TIFF_UINT16_T@ a; typedef @TIFF_SSIZE_T@ b; int c[@SIZEOF_SIZE_T@];", {})
    assert filled == "typedef uint16_t a; typedef long b; int c[8];"
