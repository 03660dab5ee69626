#!/usr/bin/env python3
"""Proves that a release is the same bytes wherever it is built.

    python3 scripts/reproducible.py [--profile PROFILE] [--keep FOLDER] [PART]...

Clones the last commit into two folders with names of different lengths, runs scripts/dist.py in each, the
second time with another time zone, umask, language and home, and compares every file; what differs is looked
for inside packages, too. What the first build has counted of its ways, the second compiles by (--counts).
Builds everything twice; --profile dist-quick hardly optimises, counts nothing, and is sooner done.
Prints a table; exit status 0 when all is equal.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import packing

REPOSITORY = Path(__file__).resolve().parent.parent
PLACES = ["a", "another/place, further down"]


def git(*arguments, folder=REPOSITORY):
    command = ["git", "-C", folder, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def clone(folder, commit):
    """A commit, with what brings the builders: nothing of it goes into what is built."""
    git("clone", "--quiet", "--no-hardlinks", "--no-checkout", REPOSITORY, folder)
    git("checkout", "--quiet", "--detach", commit, folder=folder)
    (REPOSITORY / ".toolchain").mkdir(exist_ok=True)
    (folder / ".toolchain").symlink_to((REPOSITORY / ".toolchain").resolve())


def surroundings(second, home):
    """What builds must not see, different the second time."""
    settings = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    if not second:
        return settings
    # Where Cargo and rustup are must be said where the home is another.
    places = {"CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup"}
    for name, folder in places.items():
        settings.setdefault(name, str(Path.home() / folder))
    return {**settings, "HOME": str(home), "TZ": "Asia/Tokyo", "LANG": "de_DE.UTF-8", "USER": "somebody"}


def build(folder, arguments, first=None):
    """Makes a release; the second time by what is in that of the first."""
    command = [sys.executable, "scripts/dist.py", "--profile", arguments.profile]
    counts = first and next(first.glob("*.profdata.xz"), None)
    command += ["--counts", counts] if counts else []
    command += arguments.parts
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    started = time.monotonic()
    subprocess.run(
        command,
        cwd=folder,
        env=surroundings(bool(first), home),
        umask=0o077 if first else 0o022,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    seconds = time.monotonic() - started
    print(f"reproducible: {folder}: built in {seconds / 60:.1f} min", file=sys.stderr, flush=True)
    return folder / "out/dist"


def inside(path):
    """What lies in a package, by name."""
    if path.suffix == ".whl":
        return packing.read_wheel(path)
    if path.suffix == ".deb":
        control, tree = packing.read_deb(path)
        return {**tree, "DEBIAN/control": (control.encode(), packing.PLAIN)}
    if path.name.endswith(".tar.gz"):
        return packing.read_tar(path)
    return {}


def differences(one, other):
    """What of two files differs: names inside, or the first byte."""
    left, right = inside(one), inside(other)
    names = sorted(name for name in {*left, *right} if left.get(name) != right.get(name))
    if names:
        return ", ".join(names)
    pairs = zip(one.read_bytes(), other.read_bytes(), strict=False)
    at = next((index for index, (a, b) in enumerate(pairs) if a != b), "the end")
    return f"nothing inside, but its bytes from {at} on"


def compare(folders):
    """Prints a row for each file; tells whether all are equal."""
    names = [{path.name for path in folder.iterdir()} for folder in folders]
    equal = names[0] == names[1]
    for name in sorted(names[0] ^ names[1]):
        print(f"only in one of them: {name}", file=sys.stderr)
    print("| file | bytes | SHA-256 begins with | two builds |\n|---|---|---|---|")
    for name in sorted(names[0] & names[1]):
        one, other = (folder / name for folder in folders)
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, other)]
        same = digests[0] == digests[1]
        equal &= same
        word = "equal" if same else f"differ: {differences(one, other)}"
        print(f"| `{name}` | {one.stat().st_size:,} | `{digests[0][:12]}` | {word} |")
    return equal


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", default="dist", help="cargo's profile [default: dist]")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="builds here, and leaves it there")
    parser.add_argument("parts", nargs="*", metavar="PART", help="of scripts/dist.py [default: all]")
    arguments = parser.parse_args()
    if git("status", "--porcelain", "--untracked-files=no"):
        sys.exit("reproducible: the last commit is built, and here is what it has not: commit first")
    commit = git("rev-parse", "HEAD")
    top = (arguments.keep or Path(tempfile.mkdtemp(prefix="pinion-twice-"))).absolute()
    try:
        folders = []
        for place in PLACES:
            folder = top / place
            folder.mkdir(parents=True)
            clone(folder, commit)
            folders.append(build(folder, arguments, *folders[:1]))
        equal = compare(folders)
    except subprocess.CalledProcessError as problem:
        sys.exit(f"reproducible: {problem}")
    finally:
        if not arguments.keep:
            shutil.rmtree(top, ignore_errors=True)
    print("All files are equal." if equal else "Not all files are equal.")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
