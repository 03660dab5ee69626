"""What tests of promises share: applications that need no compiler, and what breaks a promise."""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from common import REPOSITORY, find_pinion  # noqa: E402, F401

CALIBRATION = REPOSITORY / "tests/calibration"


class Broken(Exception):
    """What breaks a promise."""


def application(folder):
    """Makes an application of packet handlers."""
    folder.mkdir()
    shutil.copy(CALIBRATION / "pspin-apps/ping_pong-burst/ping_pong.elf", folder / "app.elf")
    (folder / "app.toml").write_text(
        '[app]\nname = "app"\nelf = "app.elf"\n\n[[context]]\nname = "all"\nmatch = ["udp"]\n'
        'payload = "pingpong_l1_ph"\nhost_memory = "4KiB"\n'
    )


def cluster(file, requests):
    """Makes a cluster of the nanoservice beside it and a load."""
    file.write_text(
        '[cluster]\nname = "two"\n[network]\ntopology = { kind = "star" }\n'
        '[[node]]\nname = "server"\napp = "service"\n'
        f'[[load]]\nname = "load"\nto = "server"\nspec = "requests={requests}"\n'
    )


def service(folder):
    """Makes a nanoservice."""
    folder.mkdir()
    shutil.copy(CALIBRATION / "nanopu/elf/echo.elf", folder / "service.elf")
    (folder / "app.toml").write_text(
        '[app]\nname = "service"\nelf = "service.elf"\n\n[nanoservice]\nharts = 1\n'
    )


def contents(folder):
    """The bytes of all files in a folder, by their paths in it."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
