"""Requests to the optimizer, without a limit on the expected run time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from burnish.cc.requests import DriverOptions, Request


def request_of(name: str, **options: Any) -> Request:
    """Return a request at -Oz, by options of a drop-in compiler."""
    return Request(name, "Oz", DriverOptions(**({"speed_limit": None} | options)))


def asking(request: Request, **options: Any) -> Request:
    """Return the request by other options of a drop-in compiler."""
    return replace(request, options=replace(request.options, **options))
