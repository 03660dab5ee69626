#!/usr/bin/env python3
"""Looks for known advisories against the packages of Cargo.lock, in a snapshot of RustSec's database on this computer.

    python3 scripts/advisories.py [--database FOLDER] [--lock FILE]...

FOLDER is a checkout of https://github.com/rustsec/advisory-db, or what `cargo deny fetch` has left below CARGO_HOME, which
is where one is looked for if none is named here or by PINION_ADVISORIES. Nothing is asked of the network. An advisory counts
if no version that it names as patched or unaffected is the locked one; it may be left out by `ignore` in deny.toml.
Exit status 1 if one counts or the database cannot be read, 0 if none does, or there is no database: then it says so.
"""

import argparse
import os
import re
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
LOCKS = (REPOSITORY / "Cargo.lock", REPOSITORY / "tests/references/Cargo.lock")
COMPARATOR = re.compile(r"(\^|~|=|>=|<=|>|<|)\s*(\d+)(?:\.(\d+|\*))?(?:\.(\d+|\*))?(?:-([0-9A-Za-z.-]+))?(?:\+\S*)?$")


def order(version):
    """What a version is compared by: numbers, then what stands behind a hyphen, which comes before its release."""
    release, _, early = version.partition("+")[0].partition("-")
    parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in early.split(".")]
    return tuple(map(int, release.split("."))), not early, parts if early else []


def bounds(text):
    """What one comparator allows: the lowest version, included, and the first behind it; None where there is none."""
    matched = COMPARATOR.match(text.strip())
    if not matched:
        raise ValueError(f"{text.strip()!r} compares with no version")
    sign, *given, early = matched.groups()
    numbers = [int(part) for part in given if part not in (None, "*")]
    low = ".".join(str(part) for part in (numbers + [0, 0])[:3]) + (f"-{early}" if early else "")

    def behind(position):
        return ".".join(str(part) for part in [*numbers[:position], numbers[position] + 1, 0, 0][:3]) + "-0"

    last = len(numbers) - 1
    just_behind = f"{low}.0" if early else f"{'.'.join(str(part) for part in numbers[:2])}.{numbers[2] + 1}-0" if last == 2 else behind(last)
    if sign in ("=", "<=", ">"):
        return {"=": (low, just_behind), "<=": (None, just_behind), ">": (just_behind, None)}[sign]
    if sign in (">=", "<"):
        return (low, None) if sign == ">=" else (None, low)
    if sign == "~" or "*" in given:
        return low, behind(min(last, 1))
    # A caret, or nothing: what is left of the first number that is not zero stays.
    first = next((at for at, part in enumerate(numbers) if part), last)
    return low, behind(first)


def allows(requirement, version):
    """Tells whether a version meets a requirement: comparators, all of which must hold."""
    own = order(version)
    for low, behind in map(bounds, requirement.split(",")):
        if low is not None and own < order(low) or behind is not None and own >= order(behind):
            return False
    return True


def read(path):
    """The advisory in a file: TOML between the first two fences of a page."""
    text = path.read_text()
    fenced = re.match(r"```toml\n(.*?)\n```", text, re.DOTALL)
    return tomllib.loads(fenced[1] if fenced else text)


def find(database, packages, ignored):
    """What the database has against packages, each a name and a version; says what cannot be read, too."""
    for name, version in sorted(packages):
        for path in sorted((database / "crates" / name).glob("RUSTSEC-*")):
            try:
                page = read(path)
                about, versions = page["advisory"], page.get("versions", {})
                fine = [*versions.get("patched", []), *versions.get("unaffected", [])]
                is_fine = any(allows(requirement, version) for requirement in fine)
                identity = about["id"]
            except (OSError, ValueError, KeyError, TypeError) as error:
                yield f"{path} cannot be read: {error}"
                continue
            if is_fine or "withdrawn" in about or identity in ignored or about.get("informational") == "notice":
                continue
            title = re.search(r"^# (.+)$", path.read_text(), re.MULTILINE)
            what = about.get("informational", "vulnerable")
            yield f"{name} {version} is {what}: {identity}{', ' + title[1] if title else ''}"


def databases():
    """Where databases may lie."""
    if named := os.environ.get("PINION_ADVISORIES"):
        return [Path(named)]
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    return sorted(path.parent for path in home.glob("advisory-dbs/*/crates"))


def check(database=None, locks=LOCKS):
    """A word, and what was found: `skip`, where there is no database; `FAIL`; or `ok`."""
    found = [database] if database else databases()
    if not found:
        return "skip", ["there is no database of them here: PINION_ADVISORIES names a checkout of rustsec/advisory-db"]
    database = found[-1]
    known = sum(1 for _ in database.glob("crates/*/RUSTSEC-*"))
    if not known:
        return "FAIL", [f"{database} holds no advisories: it has no crates/NAME/RUSTSEC-YEAR-NUMBER.md"]
    rules = tomllib.loads((REPOSITORY / "deny.toml").read_text())
    ignored = [each["id"] if isinstance(each, dict) else each for each in rules["advisories"]["ignore"]]
    locked = [package for path in locks for package in tomllib.loads(path.read_text())["package"]]
    packages = {(package["name"], package["version"]) for package in locked if "source" in package}
    problems = list(find(database, packages, ignored))
    return ("FAIL", problems) if problems else ("ok", [f"{known} known, none against {len(packages)} packages"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", type=Path, metavar="FOLDER")
    parser.add_argument("--lock", type=Path, metavar="FILE", action="append")
    arguments = parser.parse_args()
    more = {"locks": arguments.lock} if arguments.lock else {}
    word, found = check(arguments.database, **more)
    print(*(f"{word:4} advisories: {each}" for each in found), sep="\n")
    return 1 if word == "FAIL" else 0


if __name__ == "__main__":
    sys.exit(main())
