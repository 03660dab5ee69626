"""Folders that are trusted: the SDK of an installed command, and those of sockets and records."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

from programs import attend, echo, join
from support import REPOSITORY, Skip, check, check_in, need

NOBODY = 65534


def installed(bench):
    """The command outside of its repository."""
    folder = bench.folder / "bin"
    folder.mkdir()
    command = folder / "pinion"
    try:
        os.link(bench.pinion, command)
    except OSError:
        shutil.copy(bench.pinion, command)
    shutil.copytree(REPOSITORY / "examples/icmp_echo", bench.folder / "app",
                    ignore=shutil.ignore_patterns("build"))
    return command


def build(bench, command, status=0, **environment):
    """Builds an application with an environment of its own: only what is given, and the path."""
    environment = {"PATH": os.environ["PATH"], **environment}
    done = subprocess.run(
        [command, "build", bench.folder / "app", "--force"], cwd=bench.folder, env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    check(done.returncode == status, f"status {done.returncode} with {environment}:\n{done.stdout}")
    return done.stdout


def sdk_in(folder):
    """The SDK that was unpacked there."""
    found = [path for path in (folder / "pinion").glob("sdk-*") if path.suffix == ""]
    check(len(found) == 1, f"{found} in {folder}")
    return found[0]


def poison(sdk):
    """Makes an SDK's compiler one that leaves a trace."""
    trace = sdk.parent / "trace"
    compiler = sdk.parent / "evil"
    compiler.write_text(f"#!/bin/sh\ntouch {trace}\nexit 1\n")
    compiler.chmod(0o755)
    file = sdk / "sdk.toml"
    text = file.read_text()
    check('command = ["riscv64-unknown-elf-gcc"]' in text, "the SDK names its compiler otherwise")
    file.write_text(text.replace("riscv64-unknown-elf-gcc", str(compiler), 1))
    return trace


def test_an_altered_sdk_is_replaced(bench):
    need("riscv64-unknown-elf-gcc")
    command, cache = installed(bench), bench.folder / "cache"
    check_in("built with", build(bench, command, XDG_CACHE_HOME=str(cache)))
    sdk = sdk_in(cache)
    check((cache / "pinion").stat().st_mode & 0o777 == 0o700, "others get in")
    trace = poison(sdk)
    (sdk / "include/stdio.h").write_text("#error altered\n")
    check_in("built with", build(bench, command, XDG_CACHE_HOME=str(cache)))
    check(not trace.exists() and not (sdk / "include/stdio.h").exists(), "it was used")
    # A folder that is a link, to one that was prepared.
    aside = bench.folder / "aside"
    sdk.rename(aside)
    trace = poison(aside)
    sdk.symlink_to(aside)
    check_in("built with", build(bench, command, XDG_CACHE_HOME=str(cache)))
    check(not trace.exists() and not sdk.is_symlink(), "it was used")
    check((aside / "sdk.toml").exists(), "what the link led to is gone")


def test_a_cache_that_others_write_is_not_used(bench):
    need("riscv64-unknown-elf-gcc")
    command, home = installed(bench), bench.folder / "home"
    home.mkdir()
    real = bench.folder / "real"
    build(bench, command, XDG_CACHE_HOME=str(real))
    trace = poison(sdk_in(real))
    cases = {"link": lambda place: place.symlink_to(real / "pinion"),
             "open": lambda place: (shutil.copytree(real / "pinion", place), place.chmod(0o777))}
    if os.getuid() == 0:
        cases["foreign"] = lambda place: (shutil.copytree(real / "pinion", place),
                                          give(place.parent, NOBODY))
    for name, prepare in cases.items():
        cache = bench.folder / name
        cache.mkdir()
        try:
            prepare(cache / "pinion")
        except PermissionError:
            continue
        text = build(bench, command, XDG_CACHE_HOME=str(cache), HOME=str(home))
        check_in("built with", text)
        check(not trace.exists(), f"{name}: the prepared compiler ran")
        sdk_in(home / ".cache")


def give(folder, user):
    os.chown(folder, user, user)
    for path in folder.rglob("*"):
        os.chown(path, user, user)


def test_no_home_is_no_reason_to_trust_the_temporary_folder(bench):
    """Nor the current one: the system knows the user's home."""
    need("riscv64-unknown-elf-gcc")
    command = installed(bench)
    prepared = bench.folder / "prepared"
    build(bench, command, XDG_CACHE_HOME=str(prepared))
    temporary = bench.folder / "tmp"
    shutil.copytree(prepared / "pinion", temporary / "pinion")
    shutil.copytree(prepared / "pinion", bench.folder / ".cache/pinion")
    traces = [poison(sdk_in(temporary)), poison(sdk_in(bench.folder / ".cache"))]
    for environment in ({}, {"HOME": ""}, {"HOME": ".", "XDG_CACHE_HOME": ""},
                        {"HOME": "", "XDG_CACHE_HOME": ".cache"}):
        check_in("built with", build(bench, command, TMPDIR=str(temporary), **environment))
        check(not any(trace.exists() for trace in traces), f"{environment}: a prepared one was used")


def unset(bench):
    """Leaves the choice of folders to the command."""
    for name in ("PINION_NIC_DIR", "PINION_LAB_DIR", "XDG_RUNTIME_DIR"):
        bench.environment.pop(name, None)


def own_run(bench):
    """A /run of the test's own, where root's folder is made."""
    if os.getuid() != 0:
        raise Skip("not root")
    done = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], capture_output=True, text=True)
    if done.returncode:
        raise Skip(f"no /run of its own: {done.stderr.strip()}")


def test_nobody_locks_root_out(bench):
    """Neither with a folder in /tmp, nor with an XDG_RUNTIME_DIR that stayed (su)."""
    own_run(bench)
    unset(bench)
    squatted = Path("/tmp/pinion-0")
    theirs = squatted.exists()
    if not theirs:
        squatted.mkdir()
        os.chown(squatted, NOBODY, NOBODY)
    session = bench.folder / "session"
    session.mkdir()
    os.chown(session, NOBODY, NOBODY)
    try:
        for environment in ({}, {"XDG_RUNTIME_DIR": str(session)}):
            bench.environment.update(environment)
            nic = bench.nic()
            check(Path("/run/pinion/pspin0.sock").is_socket(), "root's socket")
            check(Path("/run/pinion").stat().st_mode & 0o777 == 0o700, "its folder")
            program = join(bench, attend(bench), bench.handlers("echo", echo("r")))
            check(bench.status()["contexts"][0]["held"], "the host program")
            check_in("not up", bench.run([bench.pinion, "lab", "status"]))
            program.stop()
            nic.stop()
            check(not list(session.iterdir()), "something in somebody else's folder")
    finally:
        subprocess.run(["umount", "/run"])
        if not theirs:
            squatted.rmdir()


def test_a_folder_of_sockets_that_is_not_ours_is_refused(bench):
    own, other = bench.folder / "own", bench.folder / "other"
    other.mkdir(mode=0o755)
    own.symlink_to(other)
    before = other.stat().st_mode
    command = [bench.pinion, "nic", "--tap", "pin0", "--device"]
    text = bench.run([*command, "pspin0"], status=2, PINION_NIC_DIR=str(own))
    check_in("it is a link, or no folder", text)
    check(other.stat().st_mode == before, "the mode of what the link leads to")
    (own.parent / "wide").mkdir()
    (own.parent / "wide").chmod(0o1777)
    text = bench.run([*command, own.parent / "wide/x.sock"], status=2)
    check_in("nobody else can write", text)
    if os.getuid() == 0:
        foreign = bench.folder / "foreign"
        foreign.mkdir()
        (foreign / "nic").mkdir()
        os.chown(foreign, NOBODY, NOBODY)
        try:
            text = bench.run([*command, "pspin0"], status=2, PINION_NIC_DIR=str(foreign / "nic"))
            check_in("user 65534's", text)
        except OSError:
            pass
    # Not through a link that stands where the lock is to be.
    nic = bench.folder / "nic"
    nic.mkdir(mode=0o700)
    victim = bench.folder / "victim"
    victim.write_text("kept")
    (nic / "pspin0.lock").symlink_to(victim)
    bench.run([*command, "pspin0"], status=2)
    check(victim.read_text() == "kept", "a file that the link leads to")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        check(door.connect_ex(str(nic / "pspin0.sock")) != 0, "a NIC is there")


def test_records_of_labs_are_ours(bench):
    own, other = bench.folder / "lab", bench.folder / "other"
    other.mkdir()
    own.symlink_to(other)
    command = [bench.pinion, "lab", "status"]
    check_in("it is a link", bench.run(command, status=2, PINION_LAB_DIR=str(own)))
    own.unlink()
    own.mkdir()
    own.chmod(0o777)
    check_in("must be yours alone", bench.run(command, status=2, PINION_LAB_DIR=str(own)))


def test_a_user_namespace_does_not_make_folders_of_root(bench):
    if os.getuid() != 0:
        raise Skip("not root")
    need("setpriv", "unshare")
    probe = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
             "unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*probe, "true"], capture_output=True).returncode:
        raise Skip("users have no namespaces here")
    unset(bench)
    roots, theirs = Path("/tmp/pinion-0"), Path(f"/tmp/pinion-{NOBODY}")
    if roots.exists() or theirs.exists() or Path(f"/run/user/{NOBODY}").exists():
        raise Skip(f"{roots} or {theirs} is somebody's")
    bench.folder.chmod(0o755)
    command = installed(bench)
    try:
        check_in("not up", bench.run([*probe, command, "lab", "status"]))
        check(theirs.is_dir() and theirs.stat().st_uid == NOBODY, "the user's own folder")
        check(not roots.exists(), f"a user made {roots}")
    finally:
        shutil.rmtree(theirs, ignore_errors=True)
