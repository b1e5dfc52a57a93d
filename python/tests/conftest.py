"""What a test leaves out for want of a package is told loudly, or is a failure where all are required."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import pytest

MISSING: set[str] = set()


def need(*names: str) -> list[ModuleType]:
    """Returns these modules; skips the test without them, unless `GROUPKEY_REQUIRE_ALL` is set."""
    found = []
    for name in names:
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            if os.environ.get("GROUPKEY_REQUIRE_ALL") == "1":
                raise
            MISSING.add(name.partition(".")[0])
            pytest.skip(f"NOT TESTED: {name} is not installed", allow_module_level=True)
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MISSING:
        told = f"NOT TESTED, pip install {' '.join(sorted(MISSING))}: GROUPKEY_REQUIRE_ALL=1 makes this a failure"
        terminalreporter.write_sep("!", told, yellow=True, bold=True)
