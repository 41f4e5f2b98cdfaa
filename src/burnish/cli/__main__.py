"""python -m burnish.cli."""

from __future__ import annotations

import sys

from burnish.cli import main

sys.exit(main())
