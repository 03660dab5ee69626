"""What the tests of the package share: the command, to compare with."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = REPOSITORY / "examples"

Command = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def command() -> Command:
    """Runs `pinion run` and gives its JSON document."""
    pinion = os.environ["PINION"]

    def run(*arguments: str | Path) -> dict[str, Any]:
        done = subprocess.run(
            [pinion, "run", *map(str, arguments), "--json", "-"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1, 3), done.stderr
        document = json.loads(done.stdout)
        assert isinstance(document, dict)
        return document

    return run


@pytest.fixture(scope="session")
def refusal() -> Callable[..., str]:
    """Runs the command on something it refuses, and gives what it says."""
    pinion = os.environ["PINION"]

    def run(*arguments: str | Path) -> str:
        done = subprocess.run(
            [pinion, *map(str, arguments)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, done.stdout
        return done.stderr.removeprefix("pinion: ").strip()

    return run


def told(document: dict[str, Any]) -> dict[str, Any]:
    """A document without what this computer's speed says."""
    host = ("host_seconds", "slowdown", "simulated_mips")
    return {key: value for key, value in document.items() if key not in host}
