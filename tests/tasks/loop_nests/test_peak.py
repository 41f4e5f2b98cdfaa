"""The probe of the peak, and the picture that shows a schedule beside it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from burnish.tasks.loop_nests.nest import DType
from burnish.tasks.loop_nests.outputs import draw_schedule
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.peak import ACCUMULATORS, PeakProbe, peak_flops
from burnish.tasks.tensors.machine import host

PRODUCT = parse("f32 m=4 n=8 k=2\nc[m,n] += a[m,k] * b[k,n]")


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_the_probe_does_as_many_additions_as_it_counts(dtype: DType) -> None:
    probe = PeakProbe(host(), dtype, iterations=1000)
    probe.factors.fill(1)  # each accumulator is what it began with, and one more for each iteration
    began = sum(range(ACCUMULATORS)) * probe.lanes
    assert probe.run() - began == probe.flops / 2 == 1000 * ACCUMULATORS * probe.lanes
    assert probe.lanes * (4 if dtype == "f32" else 8) == host().vector_bytes


def test_picture_shows_the_loops_and_the_share_of_the_peak() -> None:
    """A quarter of the peak is a quarter of the frame."""
    seconds = 4 * PRODUCT.flops / peak_flops("f32")
    tree = "for m in 4\n  for n in 8 [vectorize]\n    c[m,n] += a[m,k] * b[k,n]"
    picture = ElementTree.fromstring(draw_schedule(PRODUCT, tree, {"naive": 8 * seconds, "": seconds}))
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text or "" for text in picture.iter(f"{space}text")]
    assert "  for n in 8 [vectorize]" in texts
    assert any(text.startswith("these loops: ") and text.endswith("25% of peak") for text in texts)
    _, *bars = picture.iter(f"{space}rect")
    frame, naive, _, mine = (float(bar.get("width", "0")) for bar in bars)
    assert (naive, mine) == pytest.approx((frame / 32, frame / 4), abs=0.1)
