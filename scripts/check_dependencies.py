#!/usr/bin/env python3
"""Checks the Rust dependencies against deny.toml: licences, duplicates, build scripts, where they come from.

    python3 scripts/check_dependencies.py

Needs only cargo and Python, and takes no time. Advisories are looked for by scripts/advisories.py in a snapshot of
RustSec's database, if there is one. Where `cargo deny` is installed it is asked too, without the network: about licences,
duplicates and sources, and about advisories if it has their database; what cannot be asked is left out, and it says so.
Also checks that Cargo.lock and the one of tests/references are current, name no other registry than the public one and
have a checksum for every package. Exit status 0 when all is well.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import advisories

REPOSITORY = Path(__file__).resolve().parent.parent


def satisfied(expression, allowed):
    """Tells whether an SPDX expression can be met with allowed licences."""
    tokens = re.findall(r"\(|\)|[^\s()/]+|/", expression)

    def either():
        result = both()
        while tokens and tokens[0] in ("OR", "/"):
            tokens.pop(0)
            right = both()
            result = result or right
        return result

    def both():
        result = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            right = one()
            result = result and right
        return result

    def one():
        token = tokens.pop(0)
        if token == "(":
            result = either()
            tokens.pop(0)
            return result
        if tokens and tokens[0] == "WITH":
            token = f"{token} WITH {tokens[1]}"
            del tokens[:2]
        return token in allowed

    return either()


def check_licences(packages, allowed):
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if not package["license"]:
            yield f"{name} states no licence"
        elif not satisfied(package["license"], allowed):
            yield f"{name} is under {package['license']}; deny.toml allows {', '.join(allowed)}"


def check_duplicates(packages, skipped):
    versions = {}
    for package in packages:
        versions.setdefault(package["name"], []).append(package["version"])
    for name, found in versions.items():
        kept = [v for v in found if not any(is_named(s, name, v) for s in skipped)]
        if len(kept) > 1:
            yield f"{name} is there {len(kept)} times: {', '.join(kept)}; see cargo tree -i {name}"


def is_named(specification, name, version):
    wanted, _, prefix = specification["crate"].partition("@")
    return wanted == name and (version + ".").startswith(prefix + ".")


def check_build_scripts(packages, allowed):
    """Programs of dependencies that run here when they are built."""
    with_script = {
        package["name"]
        for package in packages
        if any("custom-build" in target["kind"] for target in package["targets"])
    }
    for name in sorted(with_script - set(allowed)):
        yield f"{name} runs a program when it is built: read its build.rs, then name it in deny.toml"
    for name in sorted(set(allowed) - with_script):
        yield f"{name} runs none, or is no dependency: strike it off deny.toml"


def deny(*what):
    """What `cargo deny` says against dependencies, without the network."""
    command = ["cargo", "deny", "--offline", "--all-features", "check", *what]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return done.stderr.strip() or f"exit status {done.returncode}" if done.returncode else ""


def second_opinion():
    """What `cargo deny` is asked: a title, whether it was asked, and what was said."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    installed = subprocess.run(["cargo", "deny", "--version"], capture_output=True, check=False)
    if installed.returncode:
        yield "cargo deny", False, "it is not installed (cargo install cargo-deny --locked)"
        return
    yield "cargo deny: licences, bans, sources", True, deny("licenses", "bans", "sources")
    if any(home.glob("advisory-dbs/*/crates")):
        yield "cargo deny: advisories", True, deny("advisories")
    else:
        yield "cargo deny: advisories", False, "there is no database of them (cargo deny fetch)"


def check_lock(lock, registries):
    for package in lock["package"]:
        name, source = f"{package['name']} {package['version']}", package.get("source")
        if source is None:
            if not package["name"].startswith("pinion"):
                yield f"{name} comes from a path"
            continue
        kind, _, address = source.partition("+")
        if kind != "registry" or address not in registries:
            yield f"{name} comes from {source}"
        if not re.fullmatch("[0-9a-f]{64}", package.get("checksum", "")):
            yield f"{name} has no checksum"


def check_references(lock, packages):
    """Our crates in the lock file of tests/references: nobody compiles that where it is not asked for."""
    locked = {package["name"]: package.get("dependencies", []) for package in lock["package"]}
    for package in packages:
        if package["source"] or package["name"] not in locked:
            continue
        named = {each.split()[0] for each in locked[package["name"]]}
        wanted = {
            each["name"] for each in package["dependencies"] if each["kind"] != "dev" and not each["optional"]
        }
        for name in sorted(wanted - named):
            yield (
                f"tests/references/Cargo.lock does not have {name} of {package['name']}: "
                "cargo metadata --manifest-path tests/references/Cargo.toml"
            )


def main():
    rules = tomllib.loads((REPOSITORY / "deny.toml").read_text())
    locks = [tomllib.loads(path.read_text()) for path in advisories.LOCKS]
    lock = {"package": [package for each in locks for package in each["package"]]}
    done = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stderr, end="")
        return 1
    packages = json.loads(done.stdout)["packages"]
    checks = {
        "licences": check_licences(packages, rules["licenses"]["allow"]),
        "duplicates": check_duplicates(packages, rules["bans"]["skip"]),
        "build scripts": check_build_scripts(
            packages, rules["bans"]["build"]["allow-build-scripts"]
        ),
        "lock files": check_lock(lock, rules["sources"]["allow-registry"]),
        "references": check_references(locks[1], packages),
    }
    problems = {name: list(found) for name, found in checks.items()}
    for name, found in problems.items():
        print(f"{'FAIL' if found else 'ok  '} {name} of {len(packages)} packages")
        for problem in found:
            print(f"     {problem}")
    is_well = not any(problems.values())
    word, found = advisories.check()
    is_well &= word != "FAIL"
    for each in found:
        print(f"{word:4} advisories: {each}")
    for title, was_asked, said in second_opinion():
        verdict = "skip" if not was_asked else "FAIL" if said else "ok  "
        print(f"{verdict} {title}{': ' + said if said else ''}")
        is_well &= not was_asked or not said
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
