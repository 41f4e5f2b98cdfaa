"""Where nothing is decided code is LLVM's own; what is decided holds there, and nowhere else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from burnish import _native
from burnish.core.errors import CompilerCrash, IllegalAction, InputError
from burnish.core.program import Program
from burnish.core.trace import WHOLE_PROGRAM
from burnish.llvm.corpora.kernels import kernel_names, load_kernel
from burnish.llvm.corpora.random_modules import random_module
from burnish.llvm.modules.module import back_end_of, object_sizes
from burnish.llvm.modules.session import open_baseline, open_session
from burnish.llvm.programs import load_program
from burnish.llvm.reproducers.stock_tools import NO_PASSES, generate_code
from burnish.tasks.llvm_codegen import PIPELINES, TASK
from burnish.tasks.llvm_codegen.actions import ACTIONS, FLAT, LLVMS_OWN, ORDERS, OUTLINE, FunctionDecisions
from burnish.tasks.llvm_codegen.evictions import SLOTS
from burnish.tasks.llvm_codegen.llvm_options import LLVM_OPTIONS
from burnish.tasks.llvm_codegen.passes import ALL, OMITTED, PASSES
from burnish.tasks.llvm_codegen.session import CodegenOptions, CodegenSession, open_codegen, open_program
from tests.conftest import OpenSandbox
from tests.sources import DATA, FILES, program
from tests.tasks.llvm_codegen.modules import module

UNUSUAL = sorted((DATA / "unusual").glob("*.c*"))


def decided(source: Program, *entries: str) -> CodegenSession:
    """Return a program in the state after a trace."""
    session = open_program(source)
    session.replay(entries)
    return session


def text_of(session: CodegenSession) -> dict[str, int]:
    """Return the bytes of each function's code."""
    return {name: int(size) for name, size in session.costs("text-bytes").items()}


def assert_is_llvms_own(source: Program, level: str) -> None:
    """Assert that code is what emit_object makes of it, where nothing is decided, whoever looks on."""
    module = open_baseline(source, level).module
    expected = module.emit_object(level)
    for watched in ({}, {"scores": True, "gate": True}, {"evict": lambda function, row: None}):
        made = _native.generate_code(module, back_end_of(module, level, ""), {}, **watched)
        assert made.object == expected, (source.name, level, watched)
    assert open_program(source, CodegenOptions(level)).object_code() == expected


@pytest.mark.parametrize("level", PIPELINES)
def test_without_decisions_objects_are_llvms(level: str) -> None:
    for name in FILES if level in ("Oz", "O3") else FILES[:2]:
        assert_is_llvms_own(program(name, level), level)


def test_without_decisions_objects_are_llvms_of_unusual_and_random_modules() -> None:
    flags = {".c": ["-g"], ".cpp": ["-std=c++20"]}
    for source in (
        *(load_program(path, flags[path.suffix]) for path in UNUSUAL),
        *map(random_module, range(4)),
    ):
        assert_is_llvms_own(source, "Oz")


@pytest.mark.slow
@pytest.mark.parametrize("name", kernel_names())
def test_without_decisions_objects_of_kernels_are_llvms(name: str) -> None:
    for level in ("Oz", "O3"):
        assert_is_llvms_own(load_kernel(name, ["small"]), level)


def asked_about(found: _native.Module, level: str) -> set[str]:
    """Return the names with which LLVM asks whether a pass may run."""
    return set(_native.generate_code(found, back_end_of(found, level, ""), {}, gate=True).optional)


def test_the_list_is_what_llvm_asks_about() -> None:
    asked: set[str] = set()
    for name in FILES:
        for level in ("Oz", "O3"):
            asked |= asked_about(open_baseline(program(name, level), level).module, level)
    ours = {one.llvm for one in PASSES.values() if "X86" in one.machines}
    assert ours <= asked <= ours | {*OMITTED}


OTHERS = {
    "ARM": ("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4"),
    "AArch64": ("--target=aarch64-linux-gnu",),
    "RISCV": ("--target=riscv64-unknown-elf", "-march=rv64gc"),
    "WebAssembly": ("--target=wasm32-wasip1",),
}


@pytest.mark.parametrize("machine", OTHERS)
def test_the_list_is_what_llvm_asks_about_elsewhere(machine: str) -> None:
    """And only these are legal there."""
    source = load_program(DATA / "matrix.c", (*OTHERS[machine], "-ffreestanding"))
    session = open_program(source)
    asked = asked_about(session.opened.module, "Oz")
    ours = {one.llvm for one in PASSES.values() if machine in one.machines}
    assert ours <= asked <= ours | {*OMITTED}
    legal = {session.actions[i] for i in np.flatnonzero(session.legal())}
    assert {f"skip({name})" for name, one in PASSES.items() if machine in one.machines} == {
        text for text in legal if text.startswith("skip")
    }
    assert ("order(0)" in legal) == (machine != "WebAssembly")
    assert bool(legal & {*OUTLINE}) == (machine != "WebAssembly")
    if machine == "WebAssembly":
        with pytest.raises(IllegalAction, match="'outline' is illegal after 0 steps"):
            session.apply_entry("outline")


def test_no_pass_is_in_both_lists() -> None:
    assert not {one.llvm for one in PASSES.values()} & {*OMITTED}
    assert all(one.machines <= ALL for one in PASSES.values())


def test_a_function_keeps_its_code_from_the_outliner(tmp_path: Path) -> None:
    """Elsewhere than on x86, LLVM outlines at -Oz; `skip(machine-outliner)` is that of a function, too."""
    body = "".join(f"  p[{i}] = q[{i}] * 7 + {i} * r;\n" for i in range(9))
    text = "".join(f"void {name}(int *p, int *q, int r) {{\n{body}}}\n" for name in ("one", "two", "three"))
    (tmp_path / "copies.c").write_text(text)
    source = load_program(tmp_path / "copies.c", OTHERS["ARM"])
    outlined, all_kept = text_of(decided(source)), text_of(decided(source, "skip(machine-outliner)"))
    assert any(name.startswith("OUTLINED") for name in outlined) and set(all_kept) == {"one", "two", "three"}
    assert all_kept["one"] > outlined["one"]
    one_kept = text_of(decided(source, "one: skip(machine-outliner)"))
    assert one_kept["one"] == all_kept["one"]
    assert one_kept["two"] < all_kept["two"]


def test_a_skipped_pass_is_skipped_in_that_function_only() -> None:
    """Of loops, LLVM does not say whose they are."""
    source = program("matrix.c")
    stock, everywhere = text_of(decided(source)), text_of(decided(source, "skip(loop-reduce)"))
    changed = [name for name in stock if stock[name] != everywhere[name]]
    assert len(changed) > 1
    for name in changed:
        here = text_of(decided(source, f"{name}: skip(loop-reduce)"))
        assert here == stock | {name: everywhere[name]}
        but_here = text_of(decided(source, "skip(loop-reduce)", f"{name}: default"))
        assert but_here == everywhere | {name: stock[name]}


def test_priorities_hold_in_one_function() -> None:
    stock = text_of(decided(module()))
    sizes = {seed: text_of(decided(module(), f"many: allocate({seed})")) for seed in range(8)}
    assert len({found["many"] for found in sizes.values()}) > 2
    assert all(found == stock | {"many": found["many"]} for found in sizes.values())
    assert any(text_of(decided(module(), f"many: noise({seed})")) != stock for seed in range(8))


def test_an_order_is_a_linear_function_of_a_live_range() -> None:
    """Only the direction of the weights counts; another order gives other code, in that function only."""
    session = open_program(module())
    first = FunctionDecisions().with_action("order(0)")
    linear = {"": LLVMS_OWN.native(evicts=True), "many": first.native(evicts=True)}

    def code(*weights: float) -> bytes:
        back_end = session.opened.back_end
        return _native.generate_code(session.opened.module, back_end, linear, orders=[weights]).object

    assert _native.order_feature_names() == ["llvms_place", "li_size", "weight", "uses"]
    assert code(1, 0, 0, 0) == code(7, 0, 0, 0)
    assert code(0, 0, 0, 0) == session.object_code()  # without a weight, LLVM's order
    found = dict(object_sizes(code(0, 0, -1, 0), session.opened.module).functions)
    stock = text_of(session)
    assert found != stock
    assert found == stock | {"many": found["many"]}
    for wrong in ((1.0,), (1.0, 0.0, 0.0, float("nan"))):
        with pytest.raises(_native.InputError, match="orders: expected 4 finite weights"):
            code(*wrong)
    with pytest.raises(_native.InputError, match="order 0 of 0"):
        _native.generate_code(session.opened.module, session.opened.back_end, linear)


def test_learned_orders_are_actions() -> None:
    source = module()
    stock = text_of(decided(source))
    found = [text_of(decided(source, f"many: order({number})")) for number in range(len(ORDERS))]
    assert all(one == stock | {"many": one["many"]} for one in found)
    assert len({one["many"] for one in found}) > 1
    session = decided(source, "many: noise(2)", "many: order(1)")  # of the orders the last one counts
    assert session.decisions_of("many").actions() == ("order(1)",)


@pytest.mark.parametrize("option", [name for name, one in LLVM_OPTIONS.items() if "X86" in one.machines])
def test_an_option_leads_to_clangs_own_object_with_it(option: str) -> None:
    """And back again: it holds in this code generation only."""
    for name in ("matrix.c", "hash_table.c"):
        session = decided(program(name), f"set({option})")
        options = *NO_PASSES, "-mllvm", f"-{option}"
        clangs = generate_code(session.opened.module.bitcode(), "Oz", 60.0, options)
        assert session.object_code() == clangs
        assert session.opened.module.emit_object("Oz") == decided(program(name)).object_code()


STATES = """
int often(volatile int *p, int n) {
  for (;;)
    switch (p[0]) {
    case 0: p[1] = n++; break;
    case 1: p[2] = n * 3; break;
    case 2: n += p[3]; break;
    case 3: p[4] = n ^ 5; if (p[5]) return n; break;
    case 4: if (p[6]) return 1; break;
    case 5: if (p[7]) return 2; break;
    default: return 0;
    }
}
"""


@pytest.mark.parametrize("machine", ["X86", *OTHERS])
def test_the_expected_run_time_still_knows_what_executes_often(machine: str, tmp_path: Path) -> None:
    """A decision that changes how often blocks execute would hide slow code, as use-mbpi=false does: 1/14."""
    (tmp_path / "states.c").write_text(STATES)
    flags = (*OTHERS.get(machine, ()), "-ffreestanding")
    session = open_program(load_program(tmp_path / "states.c", flags))
    stock = session.generation().call_costs.own["often"]
    for action in np.flatnonzero(session.legal("often")):
        other = session.fork()
        other.apply(int(action), "often")
        assert 0.5 < other.generation().call_costs.own["often"] / stock < 2, session.actions[action]


COPY = """
void copy(void *to, const void *from) {
  __builtin_memcpy(__builtin_assume_aligned(to, 8), __builtin_assume_aligned(from, 8), 78);
}
void two_stores(void *to, const void *from) { __builtin_memcpy(to, from, 12); }
"""


def test_copies_in_functions_for_speed_keep_their_stores(tmp_path: Path) -> None:
    """LLVM calls itself without end there, for the last six bytes, if one store is the most."""
    (tmp_path / "copy.c").write_text(COPY)
    for pipeline in ("O2", "Oz"):
        session = open_program(load_program(tmp_path / "copy.c"), CodegenOptions(pipeline))
        stock = session.object_code()
        session.replay(("set(max-store-memcpy=1)",))
        assert (session.object_code() == stock) == (pipeline == "O2")


def test_an_option_holds_in_one_function() -> None:
    source, option = load_kernel("stack_vm", ["small"]), "set(apply-ext-tsp-for-size)"
    stock, everywhere = text_of(decided(source)), text_of(decided(source, option))
    changed = [name for name in stock if stock[name] != everywhere[name]]
    assert len(changed) > 1
    for name in changed:
        assert text_of(decided(source, f"{name}: {option}")) == stock | {name: everywhere[name]}
        but_here = text_of(decided(source, option, f"{name}: default"))
        assert but_here == everywhere | {name: stock[name]}


def test_an_unknown_option_is_told_and_leaves_nothing_behind() -> None:
    session = open_program(program("matrix.c"))
    module, back_end, stock = session.opened.module, session.opened.back_end, session.object_code()
    for unknown, message in (
        ("no-such-option", "LLVM has no option 'no-such-option'"),
        ("tail-merge-size=few", "LLVM's option 'tail-merge-size' does not take 'few'"),
    ):
        wrong = FunctionDecisions(options=frozenset({"apply-ext-tsp-for-size", unknown}))
        with pytest.raises(_native.PipelineError, match=message):
            _native.generate_code(module, back_end, {"": wrong.native(evicts=True)})
        assert _native.generate_code(module, back_end, {}).object == stock


def test_code_generations_with_and_without_options_at_the_same_time() -> None:
    """Options are global in LLVM; a generation that sets some runs alone."""
    texts = ["", "set(apply-ext-tsp-for-size)", "", "set(lsr-drop-solution)"]
    source = load_kernel("stack_vm", ["small"])
    expected = [decided(source, *filter(None, [text])).object_code() for text in texts]
    assert len({*expected}) == 3
    sessions = [open_program(source) for _ in range(16)]  # whose objects are not known yet
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: decided_object(sessions[i], texts[i % 4]), range(16)))
    assert found == expected * 4


def decided_object(session: CodegenSession, text: str) -> bytes:
    session.replay(filter(None, [text]))
    return session.generations.generate(session.decided()).code


def test_registers_by_bytes_in_one_function() -> None:
    source = load_kernel("stack_vm", ["small"])
    stock, everywhere = text_of(decided(source)), text_of(decided(source, FLAT))
    assert sum(everywhere.values()) < sum(stock.values())
    changed = [name for name in stock if stock[name] != everywhere[name]]
    assert len(changed) > 1
    for name in changed:
        assert text_of(decided(source, f"{name}: {FLAT}")) == stock | {name: everywhere[name]}


def test_frequencies_are_llvms_own_behind_register_allocation() -> None:
    """Where the code stays the same, all that is computed from frequencies does, too."""
    equal = 0
    for name in FILES:
        source = program(name)
        stock, flat = decided(source), decided(source, FLAT)
        before, after = stock.generation(), flat.generation()
        same = [site for site in stock.sites() if code_of(stock, site) == code_of(flat, site)]
        for site in same:
            assert before.executed[site] == after.executed[site]
            assert before.spill_costs[site] == after.spill_costs[site]
            assert before.call_costs.own[site] == after.call_costs.own[site]
        equal += sum(before.executed[site] > 20 for site in same)  # with loops
    assert equal > 5


def code_of(session: CodegenSession, function: str) -> str:
    """Return a function's code as assembly."""
    text = str(session.observe("assembly"))
    return text.partition(f"\n{function}:")[2].partition(".cfi_endproc")[0]


def test_entries_of_the_program_hold_for_functions_without_entries() -> None:
    source = program("structs.c")
    first, *others = open_program(source).sites()
    mixed = decided(source, "skip(machine-cse)", "allocate(3)", f"{first}: skip(codegenprepare)")
    explicit = decided(
        source,
        f"{first}: skip(codegenprepare)",
        *(f"{name}: {action}" for name in others for action in ("skip(machine-cse)", "allocate(3)")),
    )
    assert mixed.digest() == explicit.digest()
    assert mixed.decisions_of(others[0]).actions() == ("skip(machine-cse)", "allocate(3)")
    assert mixed.decisions_of(first).actions() == ("skip(codegenprepare)",)


def test_the_last_order_of_allocation_counts_and_the_same_again_is_no_change() -> None:
    session = decided(module(), "many: allocate(1)", "many: noise(2)")
    assert session.digest() == decided(module(), "many: noise(2)").digest()
    assert not session.apply(session.index("noise(2)"), "many")
    assert session.apply(session.index("default"), "many")
    assert session.object_code() == decided(module()).object_code()


def test_a_change_is_one_of_all_decisions() -> None:
    session, rng = open_program(program("matrix.c")), np.random.default_rng(0)
    changes = set()
    for _ in range(300):
        site = str(rng.choice([WHOLE_PROGRAM, *session.sites()]))
        before = session.decided()
        changed = session.apply(int(rng.choice(np.flatnonzero(session.legal(site)))), site)
        assert changed == (session.decided() != before)
        changes.add((changed, bool(site)))
    assert len(changes) == 4


def test_the_outliner_is_the_whole_programs() -> None:
    source = load_kernel("json", ["small"])
    session = open_program(source)
    with pytest.raises(IllegalAction, match="outline"):
        session.apply(session.index("outline"), session.sites()[0])
    session.apply(session.index("outline"))
    assert {*text_of(session)} - {*session.sites()} == {"OUTLINED_FUNCTION_0"}
    assert session.measure("text-bytes") < decided(source).measure("text-bytes")


@pytest.mark.parametrize("machine", ["", *OTHERS])
def test_every_legal_action_is_one(machine: str) -> None:
    source = load_program(DATA / "matrix.c", (*OTHERS[machine], "-ffreestanding")) if machine else module()
    for action in np.flatnonzero(open_program(source).legal()):
        assert decided(source, ACTIONS[action]).measure("loaded-bytes") > 0


@pytest.mark.parametrize("name", ["hash_table.c", "classes.cpp"])
def test_random_traces_replay_to_the_same_bytes_in_a_new_process(
    name: str, open_sandbox: OpenSandbox
) -> None:
    rng = np.random.default_rng(list(name.encode()))
    for _ in range(2):
        here = open_program(program(name))
        for site in here.sites():
            for action in rng.integers(len(ACTIONS), size=3):
                if here.legal(site)[action]:
                    here.apply(int(action), site)
        there = open_sandbox(TASK.open, program(name))
        there.replay(here.trace)
        assert there.object_code() == here.object_code()


def test_code_generation_goes_on_where_passes_end() -> None:
    passes = open_session(program("hash_table.c"))
    passes.replay(["clang<Oz>"])
    session = open_codegen(passes)
    assert session.object_code() == passes.object_code()
    assert session.measure("slowdown") == passes.measure("slowdown")
    before = passes.digest()
    session.apply(session.index("allocate(1)"))
    session.measure("loaded-bytes")
    assert passes.digest() == before


def test_a_function_alone_has_the_code_that_it_has_in_the_whole() -> None:
    source = program("matrix.c")
    session = open_program(source)
    for site in session.sites():
        part = session.part(site, "text-bytes")
        assert part
        alone = part.open(part.program)
        for text in ("skip(loop-reduce)", "allocate(2)"):
            alone.apply(alone.index(text), part.site)
        whole = decided(source, f"{site}: skip(loop-reduce)", f"{site}: allocate(2)")
        assert alone.measure("text-bytes", site) == whole.measure("text-bytes", site)


def test_objects_are_written_where_clang_generates_the_same_code(tmp_path: Path) -> None:
    session = decided(program("structs.c"), "allocate(3)")
    write = TASK.files.emitters[".o"]
    assert write(session, ("-DX", "-Wall"), "Oz") == session.object_code()
    with pytest.raises(InputError, match="ffunction-sections"):
        write(session, ("-ffunction-sections",), "Oz")
    assert write(decided(program("structs.c")), ("-ffunction-sections",), "Oz") != session.object_code()


def test_a_policy_that_chooses_what_cannot_be_evicted_is_a_crash() -> None:
    session = open_program(module())
    with pytest.raises(CompilerCrash, match="mask"):
        session.generate(lambda function, row: int(np.flatnonzero(row[:SLOTS] == 0)[0]))
    with pytest.raises(ZeroDivisionError):
        session.generate(lambda function, row: 1 // 0)
    assert session.object_code() == decided(module()).object_code()
