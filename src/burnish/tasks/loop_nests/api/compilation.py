"""Compilation of a nest's text to a kernel, with a cache of schedules on disk."""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache as once
from pathlib import Path
from typing import Any, cast

import numpy as np

from burnish import _native
from burnish.core.argument_checks import check_class, names_in
from burnish.core.errors import InputError, UnknownName
from burnish.core.guide import GuideFor
from burnish.files import default_cache
from burnish.llvm.run.measurements import MeasurementCache
from burnish.policies import find as policies
from burnish.tasks import loop_nests, tensors
from burnish.tasks.loop_nests import TASK
from burnish.tasks.loop_nests.api.kernel import CompiledKernel
from burnish.tasks.loop_nests.api.schedule import Schedule, choose, refine
from burnish.tasks.loop_nests.nest import DTYPES, DType, Nest, make_nest
from burnish.tasks.loop_nests.parsing import parse_statement
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.threads import MOST_THREADS

OBJECTIVE = "seconds"


def compile(
    statements: str | Iterable[str],
    /,
    *,
    dtype: Any = "f32",
    refine_seconds: float = 0.0,
    policy: str | GuideFor = policies.DEFAULT,
    cache: bool = True,
    threads: int = 1,
    **extents: int,
) -> CompiledKernel:
    """Compile a loop nest: `compile("c[m,n] += a[m,k] * b[k,n]", m=128, n=96, k=64)`.

    Args:
        statements: Statements of the language (see burnish.tasks.loop_nests.parsing), as lines or as a list.
        dtype: The type of all arrays: "f32", "f64", or NumPy's name or type for these.
        refine_seconds: Seconds to measure schedules, in a separate process; 0 takes the policy's first one.
        policy: "shipped", "none", a file, or a function (GuideFor in burnish.core.guide).
        cache: Store the schedule on disk. Reuse one that was found before with as many seconds or more, on
            the same CPU, with the same policy and threads.
        threads: The number of threads that share the outermost loops of a call.
        extents: The extent of each iterator.

    Raises:
        ProgramError: the statements cannot be parsed, or the extents do not fit them.
        UnknownName: the policy or the iterator of an extent is unknown.
        InputError: another argument is invalid.
    """
    nest = read(statements, dtype, extents)
    return compile_nest(nest, refine_seconds=refine_seconds, policy=policy, cache=cache, threads=threads)


def compile_nest(
    nest: Nest,
    *,
    refine_seconds: float = 0.0,
    policy: str | GuideFor = policies.DEFAULT,
    cache: bool = True,
    threads: int = 1,
) -> CompiledKernel:
    """Compile a nest; see `compile`.

    Raises:
        UnknownName, InputError: see `compile`.
    """
    if not isinstance(refine_seconds, int | float) or not 0 <= refine_seconds < math.inf:
        raise InputError(f"refine_seconds={refine_seconds!r}: expected a number of seconds, 0 or more")
    if threads not in range(1, MOST_THREADS + 1):
        raise InputError(f"threads={threads!r}: expected 1 to {MOST_THREADS}")
    if not callable(policy):
        check_class("policy", policy, str, "'shipped', 'none', a file or a function")
    if not cache or not isinstance(policy, str):
        return _compile(nest, policy, refine_seconds, threads)
    known, key = MeasurementCache(cache_file()), key_of(nest, policy, threads)
    if kernel := _known(nest, known.find(key), refine_seconds):
        return kernel
    kernel = _compile(nest, policy, refine_seconds, threads)
    known.keep(key, kernel.schedule.text)
    return kernel


def read(statements: str | Iterable[str], dtype: Any, extents: Mapping[str, Any]) -> Nest:
    """Parse statements, and return their nest.

    Raises:
        ProgramError, InputError: see `compile`.
    """
    lines = names_in("statements", statements.splitlines() if isinstance(statements, str) else statements)
    parsed = [parse_statement(line) for line in lines if line.strip()]
    used = dict.fromkeys(name for one in parsed for name in one.iterators)
    sizes = {}
    for name, size in extents.items():
        if name not in used:
            raise UnknownName.among("iterator", name, used)
        try:
            sizes[name] = operator.index(size)
        except TypeError:
            raise InputError(f"{name}={size!r}: expected a whole number") from None
    return make_nest(parsed, sizes, dtype_of(dtype), "nest")


def dtype_of(dtype: Any) -> DType:
    """Return the language's name of an element type.

    Raises:
        InputError: the language does not have the type.
    """
    for name, kind in DTYPES.items():
        with suppress(TypeError):
            if dtype == name or np.dtype(dtype) == kind:
                return cast(DType, name)
    raise InputError(f"dtype {dtype!r}: expected f32 or f64, or NumPy's float32 or float64")


def cache_file() -> Path:
    """Return the path of the user's cache of schedules."""
    return default_cache() / "schedules.sqlite"


def key_of(nest: Nest, policy: str, threads: int = 1) -> bytes:
    """Return a schedule's key in the cache: a digest of nest, CPU, code, policy and threads."""
    machine = host()
    features = sorted(machine.features.split(","))
    parts = (str(nest), machine.cpu, *features, _code(), _digest(policy), str(threads))
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).digest()


def _known(nest: Nest, text: object, refine_seconds: float) -> CompiledKernel | None:
    """Return the kernel of a cached schedule; None if it is damaged, or was refined for less time."""
    if not isinstance(text, str):
        return None
    try:
        schedule = Schedule.parse(text)
        return CompiledKernel(nest, schedule) if schedule.refine_seconds >= refine_seconds else None
    except InputError:  # damaged: the caller overwrites it
        return None


def _compile(nest: Nest, policy: str | GuideFor, refine_seconds: float, threads: int) -> CompiledKernel:
    guide_for: GuideFor | None
    if isinstance(policy, str):
        guide_for = (policies.find_guide(policy, TASK, OBJECTIVE) or (None,))[0]
    else:
        guide_for = policy
    if refine_seconds and (refined := refine(nest, guide_for, refine_seconds, threads)):
        return CompiledKernel(nest, refined)
    return CompiledKernel(nest, *choose(nest, guide_for, threads))


@once
def _code() -> str:
    """Return LLVM's version and the digest of the code that chooses and compiles schedules."""
    folders = (Path(loop_nests.__file__).parent, Path(tensors.__file__).parent)
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    content = b"".join(path.read_bytes() for path in files)
    return f"{_native.llvm_version()} {hashlib.blake2b(content, digest_size=16).hexdigest()}"


def _digest(policy: str) -> str:
    """Return the digest of all files that a policy's name may refer to.

    Raises:
        UnknownName: the policy is unknown.
    """
    policies.check(policy)
    if policy == policies.NONE:
        return policy
    shipped = policies.shipped()
    names = policies.names_for(TASK) if policy == policies.DEFAULT else [policy]
    files = [shipped.get(name, Path(name)) for name in names]
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        digest.update(hashlib.blake2b(file.read_bytes()).digest())
    return digest.hexdigest()
