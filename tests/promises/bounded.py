"""Promise 3 with nothing but the system: files may grow to a number of bytes and no further (RLIMIT_FSIZE), so
that a write is cut short there and the next one fails. Needs neither a compiler nor strace, and reaches every byte
of an output, not only the ends of buffers."""

import resource
import shutil
import subprocess

from failing import EXIT_USAGE, OUTPUTS, SECONDS, Failing, grown, is_complete
from support import Broken

MOST_POINTS = 2


class Bounded(Failing):
    """A command whose files are bounded, in a folder of its own."""

    def bound(self, words, most_bytes):
        """Runs with files of so many bytes at most; gives status and what was said."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

        done = subprocess.run(
            [str(self.pinion), *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            preexec_fn=limit,
            check=False,
        )
        return done.returncode, done.stderr


def bounds(sizes, most):
    """Bytes that are too few for some output: ends, middles, and one less than the largest has."""
    largest = max(sizes)
    all_bounds = {0, 1, largest // 2, largest - 1}
    all_bounds |= {size - 1 for size in sizes} | {size // 3 for size in sizes} | {size * 2 // 3 for size in sizes}
    all_bounds = sorted(bound for bound in all_bounds if 0 <= bound < largest)
    if len(all_bounds) <= most:
        return all_bounds
    return sorted({all_bounds[at * (len(all_bounds) - 1) // (most - 1)] for at in range(most)})


def survive(bounded, name, most):
    """Bounds the files of one command; gives the number of bounds."""
    words, _ = OUTPUTS[name]
    status, said = bounded.bound(words, resource.RLIM_INFINITY)
    whole = bounded.files()
    if status != 0 or not whole:
        raise Broken(f"{name}: exit status {status}\n{said}")
    tried = bounds([len(content) for content in whole.values()], most)
    for bound in tried:
        status, said = bounded.bound(words, bound)
        where = f"{name}, files of at most {bound} bytes"
        if status != EXIT_USAGE or "too large" not in said or "panicked" in said:
            raise Broken(f"{where}: exit status {status}, it says {said!r}")
        for file, content in bounded.files().items():
            if grown(file):
                continue
            if file not in whole:
                raise Broken(f"{where}: {file} is left over")
            if not is_complete(file, content, whole[file]):
                raise Broken(f"{where}: {file} is there and not complete")
    return len(tried)


def run(pinion, most=MOST_POINTS):
    """Runs all; yields a title and what is wrong, if something is."""
    for name in OUTPUTS:
        bounded = Bounded(pinion, None)
        try:
            yield f"bounded files, {name}: {survive(bounded, name, most)} bounds", None
        except (Broken, OSError, subprocess.TimeoutExpired) as problem:
            yield f"bounded files, {name}", str(problem)
        finally:
            bounded.close()
