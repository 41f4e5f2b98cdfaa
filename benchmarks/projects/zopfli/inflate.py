"""Inflate what the driver made with Python's zlib, and compare it with the inputs.

usage: python inflate.py FOLDER
"""

import sys
import zlib
from pathlib import Path

WINDOW_BITS = {"gzip": 31, "zlib": 15, "deflate": -15}  # zlib's code for each container


def main() -> int:
    """Print how many files were right; 1 if one is not."""
    inputs = sorted(Path(sys.argv[1]).glob("*.input"))
    for path in inputs:
        for suffix, bits in WINDOW_BITS.items():
            if zlib.decompress(path.with_suffix(f".{suffix}").read_bytes(), bits) != path.read_bytes():
                print(f"FAILED: {path.stem}.{suffix} does not inflate to its input")
                return 1
    print(f"zlib inflates all {len(inputs) * len(WINDOW_BITS)} files to their inputs")
    return 0 if inputs else 1


if __name__ == "__main__":
    sys.exit(main())
