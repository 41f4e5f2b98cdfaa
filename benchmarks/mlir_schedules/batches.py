"""Convolutions of batches of images with channels first: `conv2d-batch:8x3x224x224x64x7x2x3`.

The numbers are the images, their channels, rows and columns, then the filters, the side of the window, its
stride, and the zeros on each side of an image. No set of burnish's programs has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from burnish.core.errors import InputError
from burnish.tasks.mlir_schedules.writing import layers
from burnish.tasks.mlir_schedules.writing.draft import Draft, Window

FAMILY = "conv2d-batch"
FORM = "imagesxchannelsxrowsxcolumnsxfiltersxsidexstridexpadding"


@dataclass(frozen=True)
class BatchConvolution:
    """A convolution of a batch; rows and columns are those of an image, without its padding."""

    images: int
    channels: int
    rows: int
    columns: int
    filters: int
    side: int
    stride: int
    padding: int

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the convolution of a name.

        Raises:
            InputError: the name does not have the expected form.
        """
        try:
            return cls(*(int(number) for number in name.partition(":")[2].split("x")))
        except (TypeError, ValueError):
            raise InputError(f"{name}: expected {FAMILY}:{FORM}, a number for each") from None

    @property
    def text(self) -> str:
        """The program."""
        draft = Draft()
        image = draft.argument(self.images, self.channels, self.rows, self.columns)
        if self.padding:
            image = layers.padded(draft, image, self.padding, "nchw")
        return draft.text(layers.conv2d(draft, image, self.filters, Window(self.side, self.stride), "nchw"))
