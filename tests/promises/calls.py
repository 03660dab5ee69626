"""Promise 3 once more, below the C library: strace lets system calls of a command fail, one in a run, wherever
one touches an output: those that write, and those that close, look, seek and remove. Needs nothing of the C
library's being asked, so nothing gets past it; left out where there is no strace or no process may be traced."""

import re
import shutil
import subprocess
from collections import Counter

from failing import EXIT_USAGE, OUTPUTS, Failing, grown, is_complete
from support import Broken

SECONDS = 300
MOST_POINTS = 2
TRACED = "%file,%desc"
# What a call's failing must not go unnoticed of; of the others a run may do without the answer.
WRITES = re.compile(
    r"p?writev?2?|pwrite64|copy_file_range|sendfile|f?truncate|fallocate|fsync|fdatasync|rename(at2?)?|mkdir(at)?"
)
LINE = re.compile(r"(\d+) +(?:<\.\.\. )?(\w+)[( ]")


def can_trace():
    """Tells whether strace is here and may trace."""
    if not shutil.which("strace"):
        return False
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Traced(Failing):
    """A command under strace, in a folder of its own."""

    def __init__(self, pinion):
        super().__init__(pinion, None)
        self.log = self.folder / "calls"

    def trace(self, words, *more):
        """Runs; gives status, what was said, and the lines of the calls."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        command = ["strace", "-f", "-y", "-qq", "-s", "0", "-o", self.log, *more, self.pinion, *words]
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return done.returncode, done.stderr, self.log.read_text(errors="replace").splitlines()

    def touches(self, line):
        """Tells whether a call is about an output."""
        return f"{self.out}/" in line or '"out/' in line


def is_write(name, line):
    return bool(WRITES.fullmatch(name)) or (name.startswith("open") and "O_WRONLY" in line)


def find_points(traced, lines):
    """The calls that touch an output, each as its name and its number among those of its thread."""
    numbers, points = Counter(), {}
    for line in lines:
        found = LINE.match(line)
        # What was interrupted is counted where it began.
        if not found or "resumed>" in line:
            continue
        thread, name = found.groups()
        numbers[thread, name] += 1
        if traced.touches(line):
            points.setdefault((name, numbers[thread, name]), line)
    return points


def spread(points, most):
    """So many of them, of every name the first and the last."""
    if len(points) <= most:
        return list(points)
    return [points[at * (len(points) - 1) // (most - 1)] for at in range(most)]


def survive(traced, name, most):
    """Lets calls of one command fail; gives how many touched an output, and of how many."""
    words, _ = OUTPUTS[name]
    status, said, lines = traced.trace(words, "-e", f"trace={TRACED}")
    whole = traced.files()
    if status != 0 or not whole:
        raise Broken(f"{name}: exit status {status}\n{said}")
    points, hit = list(find_points(traced, lines)), 0
    writes = [point for point in points if WRITES.fullmatch(point[0])]
    for call, number in {*spread(points, most), *spread(writes, most)}:
        inject = ["-e", f"trace={call}", "-e", f"inject={call}:error=ENOSPC:when={number}"]
        status, said, lines = traced.trace(words, *inject)
        failed = [line for line in lines if "(INJECTED)" in line]
        ours = [line for line in failed if traced.touches(line)]
        hit += bool(ours)
        again = f"\nstrace -f {' '.join(inject)} pinion {' '.join(words)}"
        where = f"{name}, {call} {number}: {ours or failed}"
        if "panicked" in said or "internal error" in said:
            raise Broken(f"{where}: it says {said!r}{again}")
        if any(is_write(call, line) for line in ours):
            # A thread's first write may be an output's, and another's that of the message.
            is_told = "space" in said or any("write(2<" in line for line in failed)
            if status != EXIT_USAGE or not is_told:
                raise Broken(f"{where}: exit status {status}, it says {said!r}{again}")
        elif ours and status not in (0, EXIT_USAGE):
            raise Broken(f"{where}: exit status {status}, it says {said!r}{again}")
        for file, content in traced.files().items():
            if grown(file) or (call.startswith("unlink") and file.endswith(".partial")):
                continue
            if file not in whole:
                raise Broken(f"{where}: {file} is left over{again}")
            if not is_complete(file, content, whole[file]):
                raise Broken(f"{where}: {file} is there and not complete{again}")
    return hit, len(points)


def run(pinion, most=MOST_POINTS):
    """Runs all; yields a title and what is wrong, if something is."""
    if not can_trace():
        yield "failing system calls: left out, strace is not here or may not trace", None
        return
    for name in OUTPUTS:
        traced = Traced(pinion)
        try:
            hit, all_calls = survive(traced, name, most)
            if not hit:
                raise Broken(f"no call of {all_calls} that touch an output could be made to fail")
            yield f"failing system calls, {name}: {hit} of {all_calls}", None
        except (Broken, OSError, subprocess.TimeoutExpired) as problem:
            yield f"failing system calls, {name}", str(problem)
        finally:
            traced.close()
