"""A computer that gives little: stack, memory, threads, open files, standard streams. A command does its work, or says
what it wants for and leaves nothing half written."""

import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

from support import Broken, application, cluster, contents, service

MIB = 1 << 20
LONGEST_SECONDS = 60
# Of a user who has no other processes.
NOBODYS = 61_234
GENERATE = ["--quiet", "--generate", "udp,size=256,count=40"]

COMMANDS = {
    "run": ["run", "app", *GENERATE, "--json", "o.json", "--packets", "o.csv", "--pcap-out", "o.pcap"],
    "cluster": ["run", "two.toml", "--quiet", "--json", "o.json"],
    "sweep": ["sweep", "app", "--generate", "udp,count=3", "--set", "cluster.count=1,2", "--out", "sweep"],
    "diff": ["diff", "app", "app", *GENERATE, "--other-seed", "2"],
    "service": ["run", "service", "--quiet", "--load", "requests=50", "--pcap-out", "o.pcap"],
    "trace": ["trace", "app", *GENERATE, "--perfetto", "o.perfetto"],
    "record": ["run", "app", *GENERATE, "--record", "o.pinion"],
    "profile": ["profile", "app", *GENERATE, "--pprof", "o.pprof"],
    "replay": ["replay", "kept.pinion"],
    "machine": ["machine", "show", "pspin"],
    "completions": ["completions", "bash"],
}

# What is limited, and to what. The environment lies on the stack, too: with 16 KiB of it `ls` does not begin.
STACK = [64 << 10, 128 << 10, 512 << 10]
# With less than the command itself takes, some 40 to 55 MiB by how it was built, the system kills it before it begins.
MEMORY = [64 * MIB, 80 * MIB, 100 * MIB, 180 * MIB, 400 * MIB]
FILES = [4, 5, 8]
# The status of a program that the system could not load.
NOT_LOADED = 127
THREADS = [1, 2, 3]
CLOSED = ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"]


def do(folder, command, statuses, limit=None):
    """Runs a command; it must end with one of the statuses, and leave nothing half written."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST_SECONDS,
            preexec_fn=limit,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise Broken(f"it did not end in {LONGEST_SECONDS} s") from None
    if done.returncode == NOT_LOADED and "error while loading shared libraries" in done.stderr:
        return done  # so little that the system could not even begin it
    if done.returncode not in statuses or "panicked" in done.stderr:
        raise Broken(f"exit status {done.returncode}: {done.stderr[-600:]}")
    if left := list(folder.rglob("*.partial")):
        raise Broken(f"{left[0]} is left")
    return done


def prepared(pinion, folder):
    application(folder / "app")
    service(folder / "service")
    cluster(folder / "two.toml", 50)
    subprocess.run(
        [pinion, "run", "app", *GENERATE, "--record", "kept.pinion"], cwd=folder, capture_output=True, check=True
    )


def limits(which, value):
    return lambda: resource.setrlimit(which, (value, value))


def as_nobody(value):
    """The limit on threads is a user's, and root's never."""

    def become():
        os.setgid(NOBODYS)
        os.setuid(NOBODYS)
        resource.setrlimit(resource.RLIMIT_NPROC, (value, value))

    return become


def may_be_nobody(pinion, folder):
    """Tells whether another user, without processes of his own, can run the command here."""
    if os.getuid():
        return False
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o777)
    try:
        return not subprocess.run(
            [pinion, "--version"], cwd=folder, preexec_fn=as_nobody(1), capture_output=True
        ).returncode
    except (OSError, subprocess.SubprocessError):
        return False


def clear(folder):
    shutil.rmtree(folder / "sweep", ignore_errors=True)
    for path in folder.glob("o.*"):
        path.unlink()


def cases(pinion, folder):
    """Each kind of want: title, and for each command what does it."""
    words = {name: [str(pinion), *command] for name, command in COMMANDS.items()}

    def each(which, values, statuses):
        for value in values:
            for name, command in words.items():
                yield f"{name}, {value}", command, statuses, limits(which, value)

    yield "little stack", each(resource.RLIMIT_STACK, STACK, {0})
    yield "little memory", each(resource.RLIMIT_AS, MEMORY, {0, 2, 3})
    yield "few files", each(resource.RLIMIT_NOFILE, FILES, {0, 2, 3})
    if may_be_nobody(pinion, folder):
        yield (
            "few threads",
            (
                (f"{name}, {value}", words[name], {0, 2}, as_nobody(value))
                for value in THREADS
                for name in ("run", "cluster", "sweep", "diff")
            ),
        )
    yield (
        "closed streams",
        (
            (f"{name} {closed}", ["sh", "-c", f'exec "$@" {closed}', "sh", *command], {0, 2}, None)
            for closed in CLOSED
            for name, command in words.items()
        ),
    )


def run(pinion, most=1):
    with tempfile.TemporaryDirectory(prefix="pinion-starved-") as name:
        folder = Path(name)
        prepared(pinion, folder)
        whole = {}
        for command, words in COMMANDS.items():
            clear(folder)
            do(folder, [str(pinion), *words], {0})
            whole[command] = contents(folder)
        for title, tried in cases(pinion, folder):
            count, problem = 0, None
            for what, command, statuses, limit in tried:
                clear(folder)
                try:
                    done = do(folder, command, statuses, limit)
                    made, wanted = contents(folder), whole[what.split()[0].strip(",")]
                    # Of those that did it all, the rest must be as it always is.
                    unlike = {path for path in made if path not in wanted or made[path] != wanted[path]}
                    unlike = {path for path in unlike if not path.startswith(("sweep/", "o.json"))}
                    if unlike:
                        raise Broken(f"exit status {done.returncode}, but {sorted(unlike)[0]} is another")
                except Broken as broken:
                    problem = f"{what}: {broken}"
                    break
                count += 1
            yield f"{title}: {count} commands do their work, or say why not", problem
