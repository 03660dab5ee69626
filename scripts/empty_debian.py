#!/usr/bin/env python3
"""Measures how long it takes from an empty Debian 12 and our wheel to the first packet.

    python3 scripts/empty_debian.py [--dist FOLDER] [--root FOLDER]

Makes a minimal Debian (mmdebstrap --variant=minbase) with Python, pip's environments and certificates, and
no compiler. There an ordinary user, without root, makes an environment, installs the wheel of `make dist`,
and runs a new application on a packet: that is what counts, downloads from PyPI included. Then pipx, uvx,
the static archive and the Debian package are tried in the same place. --root keeps the Debian for another
time. Needs root to make it (or `unshare --map-auto --map-root-user`), mmdebstrap, and the network.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = "python3,python3-venv,ca-certificates"
USER, HOME = 1000, "/home/somebody"
BOUND_SECONDS = 60
COMPILERS = "gcc cc clang zig tcc riscv64-unknown-elf-gcc"
RUN_FIRST = f"{HOME}/venv/bin/pinion run first --generate udp,count=1"


class Failure(Exception):
    """What went wrong inside."""


def make_debian(root):
    """A minimal Debian 12 with a user, and this computer's way to PyPI."""
    sources = Path("/etc/apt/sources.list.d/debian.sources")
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", "bookworm", root]
    command += [sources] if sources.exists() else []
    if shutil.which("mmdebstrap") is None:
        sys.exit("empty_debian: mmdebstrap, which makes a Debian, is not installed (package mmdebstrap)")
    subprocess.run(command, check=True)


def prepare(root):
    home = root / HOME.lstrip("/")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    os.chown(home, USER, USER)
    for name in ["etc/pip.conf", "etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"]:
        if (source := Path("/") / name).exists():
            (root / name).unlink(missing_ok=True)
            shutil.copyfile(source, root / name)


def inside(root, script, user=USER):
    """Runs a script there; gives what it prints."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
    # What pip looks for in a folder of this computer is not there.
    kept.pop("PIP_FIND_LINKS", None)
    settings = {**kept, "HOME": HOME, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8"}
    # Processes of its own, for /proc is what tells an executable where it lies.
    command = ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={root}/proc"]
    command += ["chroot", f"--userspec={user}:{user}", root, "/bin/sh", "-euc", f"cd {HOME}\n{script}"]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"{script.strip()}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_packet(told):
    """One packet came in, was processed, and left."""
    counts = [line.split()[:3] for line in told.splitlines() if line.strip()]
    for words in (["packets", "in", "1"], ["processed", "1"], ["packets", "out", "1"]):
        if not any(line[: len(words)] == words for line in counts):
            raise Failure(f"no “{' '.join(words)}” in:\n{told}")


def first_packet(root, wheel):
    """Seconds of each step from the wheel to the first packet, by the clock and of processors."""
    if found := inside(root, f"for name in {COMPILERS}; do command -v $name || true; done"):
        raise Failure(f"there is a compiler already: {found}")
    if inside(root, "id -u").strip() == "0":
        raise Failure("that is root")
    steps = {
        "an environment": "python3 -m venv venv",
        "the wheel, and the compiler it names": f"venv/bin/pip install --quiet /{wheel}",
        "a new application": "venv/bin/pinion new first",
        "compiled and run on a packet": RUN_FIRST,
    }
    seconds, told = {}, ""
    for what, script in steps.items():
        told, seconds[what] = timed(root, script)
    check_packet(told)
    return seconds


def timed(root, script, user=USER):
    """What a script prints, the seconds it takes, and those that processors worked for it."""
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    told = inside(root, script, user)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return told, (time.monotonic() - started, worked)


def other_ways(root, dist, wheel):
    """What is tried beside it: (way, script, user)."""
    (archive,) = dist.glob("pinion-*.tar.gz")
    (package,) = dist.glob("pinion_*.deb")
    for path in (archive, package):
        shutil.copy(path, root)
    generated = "--generate udp,count=1"
    library = "import pinion; print(pinion.run('first', pinion.Generator('udp', count=1)).text)"
    return [
        ("the package in Python", f'venv/bin/python -c "{library}"', USER),
        ("what doctor says", "venv/bin/pinion doctor | grep 'nested functions' >&2; " + RUN_FIRST, USER),
        (
            "pipx",
            "venv/bin/pip install --quiet pipx && venv/bin/pipx install --quiet "
            f"/{wheel} >&2 && .local/bin/pinion run first {generated}",
            USER,
        ),
        (
            "uvx",
            "venv/bin/pip install --quiet uv && "
            f"venv/bin/uvx --from /{wheel} pinion run first {generated}",
            USER,
        ),
        (
            "the static archive",
            f"mkdir -p .local && tar -xzf /{archive.name} --strip-components=1 -C .local && "
            f"PINION_PYTHON=venv/bin/python .local/bin/pinion run first {generated}",
            USER,
        ),
        (
            "the Debian package",
            f"dpkg --install /{package.name} >&2 && ls /usr/share/man/man1/pinion-run.1.gz >&2; "
            f"PINION_PYTHON=venv/bin/python /usr/bin/pinion run first {generated}",
            0,
        ),
    ]


def measure(root, dist):
    (wheel,) = dist.glob("pinion-*.whl")
    shutil.copy(wheel, root)
    seconds = first_packet(root, wheel.name)
    total = [sum(column) for column in zip(*seconds.values(), strict=True)]
    print("   clock  processors")
    for what, took in {**seconds, "from the wheel to the first packet": total}.items():
        print(f"{took[0]:6.1f} s {took[1]:9.1f} s  {what}", flush=True)
    for way, script, user in other_ways(root, dist, wheel.name):
        told, took = timed(root, script, user)
        check_packet(told)
        print(f"{took[0]:6.1f} s {took[1]:9.1f} s  {way}", flush=True)
    return total[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dist", type=Path, default=REPOSITORY / "out/dist", metavar="FOLDER")
    parser.add_argument("--root", type=Path, metavar="FOLDER", help="where the Debian is, or shall be")
    arguments = parser.parse_args()
    if os.geteuid():
        sys.exit("empty_debian: only root makes a Debian and goes into it; or: unshare --map-auto --map-root-user")
    root = arguments.root or Path(tempfile.mkdtemp(prefix="pinion-debian-"))
    try:
        if not (root / "usr/bin/python3").exists():
            make_debian(root)
        prepare(root)
        total = measure(root, arguments.dist)
    except (Failure, OSError, subprocess.CalledProcessError) as problem:
        sys.exit(f"empty_debian: {problem}")
    finally:
        if not arguments.root:
            shutil.rmtree(root, ignore_errors=True)
    if total > BOUND_SECONDS:
        sys.exit(f"empty_debian: that is more than {BOUND_SECONDS} s")


if __name__ == "__main__":
    main()
