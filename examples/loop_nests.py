"""A chain of statements as one kernel: timed against NumPy, and saved as a C object."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from burnish import loops

STATEMENTS = """
c[m,n] += a[m,k] * b[k,n]
r[m,n] = max(c[m,n] + s[n], 0)
"""


def best_microseconds(function: Callable[[], object], calls: int = 30) -> float:
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return 1e6 * min(times)


kernel = loops.compile(STATEMENTS, m=64, n=96, k=48, refine_seconds=1.0)
print(kernel.tree)

rng = np.random.default_rng(0)
a, b, s = (rng.random(shape, dtype=np.float32) for shape in kernel.inputs.values())
out = np.empty(kernel.outputs["r"], np.float32)
np.testing.assert_allclose(kernel(a, b, s), np.maximum(a @ b + s, 0), rtol=1e-5)
print(f"NumPy   {best_microseconds(lambda: np.maximum(a @ b + s, 0)):6.1f} us")
print(f"burnish {best_microseconds(lambda: kernel(a, b, s, out=out)):6.1f} us")

with tempfile.TemporaryDirectory() as folder:
    header, code = kernel.save(Path(folder) / "dense_layer")
    print(f"{code.name}: {code.stat().st_size} bytes; {header.name}:")
    print(next(line for line in header.read_text().splitlines() if line.startswith("void")))
