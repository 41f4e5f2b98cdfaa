"""Small folders with the layouts in which users have the datasets, and programs of our own in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from burnish.llvm.corpora.datasets.import_files import Manifest, dataset_folder, import_dataset
from burnish.llvm.corpora.datasets.table import find_dataset
from burnish.workers.executor import IN_TURN

Import = Callable[..., Manifest]

SORT = r"""
#include <stdio.h>
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv) {
  static int values[100];
  int count = 0;
  FILE *in = fopen(argv[1], "r"), *out = fopen("sorted_output.dat", "w");
  if (!in || !out) return 1;
  while (count < 100 && fscanf(in, "%d", values + count) == 1) ++count;
  qsort(values, count, sizeof *values, compare);
  for (int i = 0; i < count; ++i) fprintf(out, "%d\n", values[i]);
  printf("%d values\n", count);
  return 0;
}
"""
KERNEL = """
#include <stdio.h>
#include <polybench.h>
#ifdef SMALL_DATASET
#define N 60
#else
#define N 200
#endif
int main(void) {
  double a[N];
  for (int i = 0; i < N; ++i) a[i] = SCALE(i);
  for (int t = 0; t < N; ++t)
    for (int i = 1; i < N - 1; ++i) a[i] = 0.25 * (a[i - 1] + 2 * a[i] + a[i + 1]);
#ifdef POLYBENCH_DUMP_ARRAYS
  for (int i = 0; i < N; ++i) fprintf(stderr, "%0.2lf ", a[i]);
#endif
  return scaled == 0;
}
"""
POLYBENCH = {
    "PolyBenchC/utilities/polybench.h": "extern int scaled;\n#define SCALE(i) (++scaled, (double)i / 7)\n",
    "PolyBenchC/utilities/polybench.c": '#include "polybench.h"\nint scaled;\n',
    "PolyBenchC/utilities/template-for-new-benchmark.c": "int main(void) { return 0; }\n",
    "PolyBenchC/stencils/jacobi/jacobi.c": KERNEL,
    "PolyBenchC/linear-algebra/blas/gemm/gemm.c": KERNEL.replace("a[i + 1]", "a[N - 1]"),
}


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


@pytest.fixture
def bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Import:
    """Return a function that writes files and imports them as a dataset, in a data folder of the test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def run(name: str, files: Mapping[str, str | bytes], *flags: str, inside: str = "files") -> Manifest:
        dataset = find_dataset(name)
        root = write(tmp_path / inside / name, files)
        return import_dataset(dataset, root, dataset_folder(dataset), flags=flags, do=IN_TURN)

    return run
