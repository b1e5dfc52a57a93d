"""What a test would skip for want of a package is a failure where all are required."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import pytest


def need(*names: str) -> list[ModuleType]:
    """Returns these modules; skips the test without them, unless `GROUPKEY_REQUIRE_ALL` is set."""
    if os.environ.get("GROUPKEY_REQUIRE_ALL") == "1":
        return [importlib.import_module(name) for name in names]
    return [pytest.importorskip(name) for name in names]
