from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnish import _native
from burnish.core.errors import CompileError, InputError
from burnish.llvm.corpora import NotCompiled, Unit, translation_units
from burnish.llvm.corpora.tree import index_tree
from burnish.llvm.corpora.units import compile_folder
from tests.llvm.corpora.conftest import PADDING, Tree
from tests.llvm.corpora.sdists import make_package

BODY = "int answer(int x) { return x * 6 + 7; }\n" + PADDING


def units_of(root: Path, limit: int | None = None, **changes: Any) -> list[Any]:
    return list(translation_units(root, make_package(b"", **changes), limit))


def test_every_c_and_cxx_file_is_a_unit(tree: Tree) -> None:
    root = tree({"b.cpp": BODY, "a.c": BODY, "lib/c.cc": BODY, "readme.txt": BODY})
    units = units_of(root)
    assert [(unit.path, unit.language) for unit in units] == [
        ("a.c", "c"),
        ("b.cpp", "c++"),
        ("lib/c.cc", "c++"),
    ]
    assert [unit.name for unit in units] == ["tiny/a.c", "tiny/b.cpp", "tiny/lib/c.cc"]


def test_a_unit_compiles_to_bitcode_with_a_level(tree: Tree) -> None:
    (unit,) = units_of(tree({"a.c": BODY}))
    assert _native.Module(unit.compile()).functions == ["answer"]
    assert "minsize" in _native.Module(unit.compile("Oz")).print()
    assert "minsize" not in _native.Module(unit.compile("O2")).print()


CONFIG = '#include "config.h"\n'
AES = "#include <immintrin.h>\n__m128i f(__m128i a, __m128i b) { return _mm_aesenc_si128(a, b); }\n"
OLD_CXX = "#include <functional>\nstruct F : std::unary_function<int, int> {};\n"
FOUND: dict[str, tuple[dict[str, str], list[str]]] = {
    "include roots": (
        {
            "src/a.c": '#include "lib/one.h"\n#include <two.h>\nint a = ONE + TWO;\n',
            "deep/include/lib/one.h": "#define ONE 1\n",
            "other/two.h": "#define TWO 2\n",
        },
        ["-Ideep/include", "-Iother"],
    ),
    "an include that climbs, from a folder below": (
        {"src/deep/a.c": '#include "../inc/x.h"\nint a = X;\n', "lib/inc/x.h": "#define X 1\n"},
        ["-Ilib/inc"],
    ),
    "a generated config header": (
        {"a.c": CONFIG + "#ifndef HAVE_STDIO_H\n#error no\n#endif\n", "config.h.in": "#undef HAVE_STDIO_H\n"},
        ["-I.generated"],
    ),
    "two headers generated into one folder": (
        {
            "a.c": CONFIG + '#include "version.h"\nint a = VERSION_SIZE;\n',
            "config.h.in": "#undef HAVE_STDIO_H\n",
            "version.h.in": "#define VERSION_SIZE @SIZEOF_INT@\n",
        },
        ["-I.generated"],
    ),
    "a template rather than another system's header": (
        {
            "src/a.c": CONFIG + "#ifdef FOREIGN\n#error no\n#endif\n",
            "msvc/config.h": "#define FOREIGN\n",
            "config.h.in": "#undef HAVE_STDIO_H\n",
        },
        ["-I.generated"],
    ),
    "target features": ({"a.c": AES}, ["-maes"]),
    "the standard of old C++": ({"a.cc": OLD_CXX}, ["-std=gnu++14"]),
    "the package's own defines": ({"a.c": "int a = WIDTH;\n"}, ["-DWIDTH=64"]),
}


@pytest.mark.parametrize(("files", "options"), FOUND.values(), ids=FOUND)
def test_what_a_file_needs_is_found(tree: Tree, files: dict[str, str], options: list[str]) -> None:
    sources = {name: text + BODY for name, text in files.items() if name.endswith((".c", ".cc"))}
    (unit,) = units_of(tree(files | sources), defines=("WIDTH=64",))
    assert isinstance(unit, Unit)
    assert set(options) <= set(unit.options)


def test_the_nearest_root_wins(tree: Tree) -> None:
    root = tree(
        {
            "one/src/a.c": '#include "x.h"\nint a = X;\n' + BODY,
            "one/inc/x.h": "#define X 1\n",
            "two/inc/x.h": "#define X 2\n",
            "two/src/b.c": '#include "x.h"\nint b = X;\n' + BODY,
        }
    )
    first, second = units_of(root)
    assert "-Ione/inc" in first.options
    assert "-Itwo/inc" in second.options


def test_roots_are_remembered_for_the_folder(tree: Tree) -> None:
    root = tree({"src/a.c": '#include "x.h"\n' + BODY, "src/b.c": BODY, "inc/x.h": ""})
    assert all("-Iinc" in unit.options for unit in units_of(root))


def test_headers_can_be_generated_elsewhere(tree: Tree, tmp_path: Path) -> None:
    files = {"a.c": '#include "config.h"\n' + BODY, "config.h.in": "#undef HAVE_STDIO_H\n"}
    root = tree(files)
    there = replace(index_tree(root), generated=str(tmp_path / "there"))
    ((unit, bitcode),) = compile_folder(there, make_package(b""), ["a.c"])
    assert isinstance(unit, Unit)
    assert bitcode == unit.compile()
    assert (tmp_path / "there/config.h").is_file()
    assert not (root / ".generated").exists()


def test_generated_headers_are_not_taken_for_sources(tree: Tree) -> None:
    root = tree({"a.c": BODY, ".generated/b.c": BODY, ".git/c.c": BODY})
    assert [unit.path for unit in units_of(root)] == ["a.c"]


def test_foreign_and_generated_files_are_skipped_with_a_reason(tree: Tree) -> None:
    root = tree(
        {
            "win32/a.c": BODY,
            "src/aarch64/b.c": BODY,
            "c.c": "/* Generated by Cython 3.1 */\n" + BODY,
            "d.c": "int d;",
        }
    )
    skipped = units_of(root)
    assert all(isinstance(one, NotCompiled) and one.status == "skipped" for one in skipped)
    reasons = {one.path: one.reason for one in skipped}
    assert "win32" in reasons["win32/a.c"]
    assert "aarch64" in reasons["src/aarch64/b.c"]
    assert "Cython" in reasons["c.c"]
    assert "100 bytes" in reasons["d.c"]


def test_what_clang_rejects_is_reported_and_the_rest_goes_on(tree: Tree) -> None:
    root = tree({"a.c": '#include "nowhere.h"\n' + BODY, "b.c": "int b = ;\n" + BODY, "c.c": BODY})
    first, second, third = units_of(root)
    assert isinstance(first, NotCompiled) and first.status == "failed"
    assert "'nowhere.h' file not found" in first.reason
    assert isinstance(second, NotCompiled) and second.status == "failed"
    assert "expected expression" in second.reason
    assert isinstance(third, Unit)


def test_a_repair_that_does_not_help_ends(tree: Tree) -> None:
    # found by its name, but never under the path that is asked for
    root = tree({"a.c": '#include "../x.h"\n' + BODY, "sub/x.h": ""})
    (failed,) = units_of(root)
    assert isinstance(failed, NotCompiled) and failed.status == "failed"


def test_limit_counts_units(tree: Tree) -> None:
    root = tree({"a.c": "int a = ;\n" + BODY, "b.c": BODY, "c.c": BODY, "d.c": BODY})
    assert [type(one) for one in units_of(root, limit=2)] == [NotCompiled, Unit, Unit]


def test_within_leaves_out_the_other_folders(tree: Tree) -> None:
    root = tree({"a.c": BODY, "src/b.c": BODY, "src/sub/c.c": BODY, "srcs/d.c": BODY})
    units = translation_units(root, make_package(b""), within="src")
    assert [unit.path for unit in units] == ["src/b.c", "src/sub/c.c"]


def test_a_missing_folder_is_named(tree: Tree) -> None:
    with pytest.raises(InputError, match="no such folder"):
        list(translation_units(tree({"a.c": BODY}), make_package(b""), within="src"))


def test_options_do_not_depend_on_where_the_package_is(tree: Tree, tmp_path: Path) -> None:
    files = {"src/a.c": '#include "x.h"\nconst char *file = __FILE__;\n' + BODY, "inc/x.h": ""}
    root = tree(files)
    (here,) = units_of(root)
    root.rename(tmp_path / "elsewhere")
    (there,) = units_of(tmp_path / "elsewhere")
    assert here.options == there.options
    assert str(tmp_path) not in "\n".join(
        line for line in _native.Module(there.compile()).print().splitlines() if "source_filename" not in line
    )


def test_bitcode_does_not_depend_on_the_time(tree: Tree) -> None:
    code = "const char *built(void) { return __DATE__ __TIME__ __TIMESTAMP__; }\n" + BODY
    (unit,) = units_of(tree({"a.c": code}))
    assert 'c"Dec 14 198900:00:00Thu Dec 14 00:00:00 1989' in _native.Module(unit.compile()).print()


def test_units_come_in_the_same_order_every_time(tree: Tree) -> None:
    root = tree({f"{folder}/{name}.c": BODY for folder in "zay" for name in "cab"})
    assert units_of(root) == units_of(root)


def test_a_header_of_the_machine_does_not_hide_the_package_s_own(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = tmp_path / "system"
    (system / "lib").mkdir(parents=True)
    (system / "lib/own.h").write_text("#define OWN 1\n")
    monkeypatch.setattr("burnish.llvm.corpora.tree.SYSTEM_FOLDERS", (system,))
    root = tree(
        {"src/a.c": "#include <lib/own.h>\nint a = OWN;\n" + BODY, "include/lib/own.h": "#define OWN 2\n"}
    )
    (unit,) = units_of(root, defines=())
    assert "-Iinclude" in unit.options


def test_a_unit_whose_source_changed_says_what_is_wrong(tree: Tree) -> None:
    root = tree({"a.c": BODY})
    (unit,) = units_of(root)
    (root / "a.c").write_text("int a = ;")
    with pytest.raises(CompileError, match="expected expression"):
        unit.compile()
