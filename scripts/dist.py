#!/usr/bin/env python3
"""Builds what a release consists of, the same bytes in every folder and at every time.

    python3 scripts/dist.py [--profile PROFILE] [--counts FILE|none] [--target TRIPLE] [--out FOLDER] [PART]...

PART is archive, wheel, deb, container [default: all]; each has the command, what shells complete and the
manual pages, and beside them lie the lists of what is inside (CycloneDX) and SHA256SUMS. The command is
linked statically: with glibc, or with musl for --target x86_64-unknown-linux-musl, where rustup has it.

The profile dist compiles by what the command counts of its own ways (scripts/tuned.py), which no two runs do
alike: so it lies beside the packages, and --counts FILE makes the same packages of it again. Other profiles go
without.

The time in the files is SOURCE_DATE_EPOCH, else that of the last commit. scripts/reproducible.py proves that
two folders give the same. Needs Debian's dpkg-deb, and to count what scripts/tuned.py needs; brings maturin and
cargo-cyclonedx into .toolchain.
"""

import argparse
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import packing
import tuned
from packing import EXECUTABLE, PLAIN

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGING = REPOSITORY / "packaging"
BUILT = REPOSITORY / "target/dist"
PARTS = ["archive", "wheel", "deb", "container"]
HOST = "x86_64-unknown-linux-gnu"
TARGETS = [HOST, "x86_64-unknown-linux-musl"]
# Of the CycloneDX project, Apache 2.0: the same code that maturin has inside.
CYCLONEDX = "0.5.9"
CYCLONEDX_FOLDER = REPOSITORY / ".toolchain/cyclonedx"
# Where completions lie in an installation; Debian has another folder for zsh's.
COMPLETIONS = {
    "bash": "share/bash-completion/completions/pinion",
    "zsh": "share/zsh/site-functions/_pinion",
    "fish": "share/fish/vendor_completions.d/pinion.fish",
}
DEBIAN_ZSH = "share/zsh/vendor-completions/_pinion"
DOCUMENTS = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"]


class Failure(Exception):
    """What cannot be done, and what to do."""


def say(text):
    print(f"dist: {text}", file=sys.stderr, flush=True)


def version():
    manifest = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())
    return manifest["workspace"]["package"]["version"]


def source_date_epoch():
    """The seconds since 1970 that stand in every file."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        if not given.isdigit():
            raise Failure(f"SOURCE_DATE_EPOCH is `{given}`, which are no seconds since 1970")
        return int(given)
    command = ["git", "-C", REPOSITORY, "log", "-1", "--format=%ct"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        raise Failure("there is no commit to take the time from: set SOURCE_DATE_EPOCH")
    return int(done.stdout)


def environment(epoch, repository=REPOSITORY, flags=()):
    """What builds see: nothing of where they run gets into what they make."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    # Where two fit, rustc takes the last. The registry's folder is named for its host.
    places = [(cargo, "/cargo"), (repository, "/pinion")]
    registries = sorted((cargo / "registry/src").glob("*"))
    places += [(folder, "/cargo/registry") for folder in registries]
    flags = [*flags, *(f"--remap-path-prefix={folder}={name}" for folder, name in places)]
    cleared = {"RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_TARGET_DIR", "PYTHONPATH"}
    kept = {name: value for name, value in os.environ.items() if name not in cleared}
    return {
        **kept,
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        "CARGO_INCREMENTAL": "0",
        "LC_ALL": "C.UTF-8",
        "SOURCE_DATE_EPOCH": str(epoch),
        "TZ": "UTC",
    }


def run(command, **settings):
    done = subprocess.run([str(part) for part in command], cwd=REPOSITORY, check=False, **settings)
    if done.returncode:
        raise Failure(f"{' '.join(str(part) for part in command[:3])} … failed")
    return done


def check_target(target):
    """The standard library must be there, or cargo says so in a hundred lines."""
    asked = run(["rustc", "--print", "target-libdir", "--target", target], capture_output=True, text=True)
    if not list(Path(asked.stdout.strip()).glob("libstd-*")):
        raise Failure(f"Rust's library for {target} is not installed: rustup target add {target}")


def build_command(profile, target, settings, folder=BUILT):
    """Compiles the command, linked statically."""
    say(f"building the command ({profile}, {target})")
    check_target(target)
    command = ["cargo", "rustc", "--locked", "--profile", profile, "--package", "pinion"]
    # The target is named even if it is this computer's: flags are for what is built, not for what builds it.
    command += ["--bin", "pinion", "--target-dir", folder, "--target", target]
    # For the last step alone: libpinion_pspinsim, which the command carries, stays dynamic.
    run([*command, "--", "-C", "target-feature=+crt-static"], env=settings)
    return folder / target / profile / "pinion"


def keep_counts(packed, folder):
    """Lays what a command has counted of its ways where cargo is to find it; gives the file."""
    counts = lzma.decompress(packed)
    check_private("what was counted", counts)
    # Under a name of its own: cargo compiles anew where a name changes, not where what is in the file does.
    path = folder / f"counts-{hashlib.sha256(packed).hexdigest()[:16]}.profdata"
    path.write_bytes(counts)
    return path


def given_counts(name):
    """The compressed bytes of a file of counts, empty for `none`; asked for before anything is compiled."""
    if name == "none":
        return b""
    try:
        packed = Path(name).read_bytes()
        lzma.decompress(packed)
    except (OSError, lzma.LZMAError) as problem:
        raise argparse.ArgumentTypeError(f"{name} is no .profdata.xz of a release: {problem}") from problem
    return packed


def count_ways(arguments, epoch):
    """What the command has counted of its ways: the file to compile by, or `None`, and its compressed bytes."""
    packed = arguments.counts
    if packed == b"" or (packed is None and arguments.profile != "dist"):
        return None, b""
    BUILT.mkdir(parents=True, exist_ok=True)
    if packed is None:

        def build(flag):
            settings = environment(epoch, flags=[flag])
            return build_command(arguments.profile, arguments.target, settings, BUILT / "counting")

        counted = BUILT / "counts.profdata"
        tuned.count(counted, build)
        packed = lzma.compress(counted.read_bytes())
    return keep_counts(packed, BUILT), packed


def build_wheel(profile, target, command, settings):
    """Builds the wheel by scripts/wheel.sh; gives its path."""
    say(f"building the Python extension ({profile})")
    out = BUILT / "wheels"
    arguments = ["--profile", profile, "--target", target, "--command", command, "--out", out]
    settings = {**settings, "CARGO_TARGET_DIR": str(BUILT)}
    built = run(
        ["scripts/wheel.sh", *arguments], env=settings, stdout=subprocess.PIPE, text=True
    )
    return Path(built.stdout.strip().splitlines()[-1])


def bring_cyclonedx():
    """The program that lists what is inside, compiled once."""
    program = CYCLONEDX_FOLDER / "bin/cargo-cyclonedx"
    if program.exists():
        asked = run([program, "cyclonedx", "--version"], capture_output=True, text=True)
        if asked.stdout.split()[-1] == CYCLONEDX:
            return program
    say(f"compiling cargo-cyclonedx {CYCLONEDX}")
    run(
        ["cargo", "install", "--quiet", "--locked", "--root", CYCLONEDX_FOLDER]
        + ["--version", CYCLONEDX, "cargo-cyclonedx"]
    )
    return program


def list_crates(package, target, settings):
    """What a package is made of, crates that only run when it is built included, as CycloneDX.

    cargo-cyclonedx writes beside each manifest of the workspace: so it gets a copy of the manifests."""
    program = bring_cyclonedx()
    with tempfile.TemporaryDirectory(prefix="pinion-sbom-") as name:
        copy = Path(name)
        copy_manifests(copy)
        command = [program, "cyclonedx", "--format", "json", "--spec-version", "1.5", "--quiet"]
        command += ["--target", target, "--override-filename", "sbom.cdx"]
        command += ["--manifest-path", copy / f"crates/{package}/Cargo.toml"]
        run(command, env=settings)
        text = (copy / f"crates/{package}/sbom.cdx.json").read_text()
    return packing.normal_sbom(text, copy, int(settings["SOURCE_DATE_EPOCH"])).encode()


def copy_manifests(folder):
    """All that cargo reads to know the packages: manifests, the lock, and that their files exist."""
    shutil.copy(REPOSITORY / "Cargo.toml", folder)
    shutil.copy(REPOSITORY / "Cargo.lock", folder)
    ignored = shutil.ignore_patterns("target", "*.bin", "corpus")
    shutil.copytree(REPOSITORY / "crates", folder / "crates", ignore=ignored)


def command_tree(command):
    """What is installed of the command, below a prefix like /usr: itself, completions, pages, documents."""
    tree = {"bin/pinion": (command.read_bytes(), EXECUTABLE)}
    for shell, place in COMPLETIONS.items():
        said = run([command, "completions", shell], capture_output=True)
        tree[place] = (said.stdout, PLAIN)
    with tempfile.TemporaryDirectory(prefix="pinion-man-") as name:
        run([command, "man", "--out", name], stdout=subprocess.DEVNULL)
        for page in Path(name).iterdir():
            tree[f"share/man/man1/{page.name}"] = (page.read_bytes(), PLAIN)
    for document in DOCUMENTS:
        tree[f"share/doc/pinion/{document}"] = ((REPOSITORY / document).read_bytes(), PLAIN)
    return tree


def debian_changelog(epoch):
    """What Debian's tools read; the project's own says what is new."""
    (maintainer,) = re.findall("^Maintainer: (.*)$", (PACKAGING / "debian/control").read_text(), re.MULTILINE)
    moment = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch))
    text = f"pinion ({version()}) unstable; urgency=medium\n\n  * CHANGELOG.md.gz tells what is new.\n\n"
    return f"{text} -- {maintainer}  {moment}\n".encode()


def debian_tree(tree, epoch):
    """The same in Debian's places and forms."""
    result = {}
    for name, (data, mode) in tree.items():
        if name.startswith("share/man/"):
            name, data = f"{name}.gz", packing.squeezed(data)
        elif name == COMPLETIONS["zsh"]:
            name = DEBIAN_ZSH
        elif name.endswith("/CHANGELOG.md"):
            name, data = f"{name}.gz", packing.squeezed(data)
        elif "/LICENSE-" in name:
            continue
        result[f"usr/{name}"] = (data, mode)
    licence = (REPOSITORY / "LICENSE-MIT").read_text().split("\n\n", 2)[2]
    indented = "\n".join(f" {line or '.'}" for line in licence.strip().splitlines())
    text = (PACKAGING / "debian/copyright").read_text().replace("@MIT@", indented)
    result["usr/share/doc/pinion/copyright"] = (text.encode(), PLAIN)
    changelog = packing.squeezed(debian_changelog(epoch))
    result["usr/share/doc/pinion/changelog.gz"] = (changelog, PLAIN)
    return result


def write_debian(out, tree, epoch):
    control = (PACKAGING / "debian/control").read_text().replace("@VERSION@", version())
    path = out / f"pinion_{version()}_amd64.deb"
    packing.write_deb(path, debian_tree(tree, epoch), control, epoch)
    return path


def write_archive(out, tree, target, epoch):
    top = f"pinion-{version()}-{target}"
    path = out / f"{top}.tar.gz"
    packing.write_tar(path, tree, top, epoch)
    return path


def write_wheel(out, wheel, tree, lists, epoch):
    """Puts completions, pages and lists of crates into a wheel that has the command already."""
    inside = packing.read_wheel(wheel)
    inside = {name: entry for name, entry in inside.items() if "/sboms/" not in name}
    (record,) = (name for name in inside if name.endswith(".dist-info/RECORD"))
    information = record.removesuffix("/RECORD")
    data = information.removesuffix(".dist-info") + ".data/data"
    for name, entry in tree.items():
        if name.startswith("share/") and not name.startswith("share/doc/"):
            inside[f"{data}/{name}"] = entry
    for name, text in lists.items():
        inside[f"{information}/sboms/{name}"] = (text, PLAIN)
    path = out / wheel.name
    packing.write_wheel(path, inside, epoch)
    return path


# Words that name a place of the computer that builds, or a registry other than the public ones.
PUBLIC = {"github.com", "index.crates.io", "crates.io", "pypi.org", "files.pythonhosted.org"}


def check_private(name, data, repository=REPOSITORY):
    """Fails if something names where it was built: the folder, the home, or a registry of somebody's own."""
    home = str(Path.home())
    places = [str(repository), f"{home}/.cargo", f"{home}/.rustup"]
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for folder in (cargo / "registry/src").glob("*"):
        host = re.sub(r"-[0-9a-f]{16}$", "", folder.name)
        places += [] if host in PUBLIC else [host]
    for place in places:
        if place.encode() in data:
            raise Failure(f"{name} names {place}, which only this computer has")


def check_whole(out):
    """Looks through what was made for places of this computer, inside packages, too."""
    for path in sorted(out.iterdir()):
        if path.suffix == ".whl":
            tree = packing.read_wheel(path)
        elif path.suffix == ".deb":
            tree = packing.read_deb(path)[1]
        elif path.name.endswith(".tar.gz"):
            tree = packing.read_tar(path)
        else:
            tree = {"": (path.read_bytes(), PLAIN)}
        for name, (data, _) in tree.items():
            check_private(f"{path.name}: {name}", data)


def make(arguments):
    epoch = source_date_epoch()
    out = Path(arguments.out).absolute()
    parts = arguments.parts or PARTS
    command = arguments.command and arguments.command.absolute()
    counts, packed = (None, b"") if command else count_ways(arguments, epoch)
    settings = environment(epoch, flags=[f"-Cprofile-use={counts}"] if counts else [])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    command = command or build_command(arguments.profile, arguments.target, settings)
    if counts:
        tuned.golden(command)
    lists = {}
    for package, name in [("pinion", "pinion.cdx.json"), ("pinion-python", "pinion-python.cdx.json")]:
        if package == "pinion" or "wheel" in parts:
            lists[name] = list_crates(package, arguments.target, settings)
            (out / name).write_bytes(lists[name])
    tree = command_tree(command)
    tree["share/doc/pinion/pinion.cdx.json"] = (lists["pinion.cdx.json"], PLAIN)
    if packed:
        (out / f"pinion-{version()}-{arguments.target}.profdata.xz").write_bytes(packed)
    if "archive" in parts:
        write_archive(out, tree, arguments.target, epoch)
    if "deb" in parts or "container" in parts:
        write_debian(out, tree, epoch)
    if "container" in parts:
        shutil.copyfile(PACKAGING / "Containerfile", out / "Containerfile")
    if "wheel" in parts:
        wheel = build_wheel(arguments.profile, arguments.target, command, settings)
        write_wheel(out, wheel, tree, lists, epoch)
    check_whole(out)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(sums))
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size:>12,} B  {path.name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", default="dist", help="cargo's profile [default: dist]")
    parser.add_argument("--target", default=HOST, choices=TARGETS)
    parser.add_argument("--out", default=REPOSITORY / "out/dist", metavar="FOLDER")
    parser.add_argument(
        "--counts", type=given_counts, metavar="FILE", help="what was counted before, or none [default: count anew]"
    )
    parser.add_argument("--command", type=Path, metavar="FILE", help="a command that is built already")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.parts if name not in PARTS]:
        parser.error(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    os.umask(0o022)
    try:
        make(arguments)
    except (Failure, OSError, subprocess.CalledProcessError) as problem:
        sys.exit(f"dist: {problem}")


if __name__ == "__main__":
    main()
