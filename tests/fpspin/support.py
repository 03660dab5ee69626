"""What tests of live NICs share: a `Bench` starts NICs and host programs in a folder of its own and
ends whatever is left when the test is over."""

import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from common import Difference, Skip, check, check_in  # noqa: F401

REPOSITORY = Path(__file__).resolve().parents[2]
SECONDS = 60


def need(*commands):
    """Leaves a test out where a command is not installed."""
    for command in commands:
        if not shutil.which(command):
            raise Skip(f"{command} is not installed")


def wait_for(condition, what, seconds=SECONDS):
    """Waits until a condition gives something true, and gives that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise Difference(f"waited {seconds} s for {what}")


@functools.cache
def definitions():
    """The definitions of the schema of JSON documents."""
    return json.loads((REPOSITORY / "docs/src/schema/documents.schema.json").read_text())["$defs"]


def described(value, name):
    """An object must have the keys of its definition in the schema, and no others."""
    schema = definitions()[name]
    keys = set(value)
    wrong = (keys - set(schema["properties"])) | (set(schema["required"]) - keys)
    check(not wrong, f"{name} and its schema differ in {sorted(wrong)}")
    if "document" in keys:
        check(value["document"]["kind"] == name, f"a {name} says {value['document']}")


@functools.cache
def shared_folder():
    """Where programs lie that several tests of this run want; goes with the run."""
    folder = tempfile.mkdtemp(prefix="pinion-fpspin-shared-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@functools.cache
def compiled():
    """Programs that lie there, by what they were made from."""
    return {}


class Process:
    """A program in the background whose output is kept in a file."""

    def __init__(self, command, folder, number, environment):
        self.command = [str(part) for part in command]
        self.path = folder / f"output-{number}.txt"
        with self.path.open("wb") as output:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=output, stderr=output,
                env=environment, cwd=folder,
            )

    def say(self, line, answer=None):
        """Writes a line to its standard input; waits for a further line that begins so."""
        before = len(self.output())
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        if answer is None:
            return None

        def find():
            lines = self.output()[before:].splitlines(keepends=True)
            whole = (line for line in lines if line.startswith(answer) and line.endswith("\n"))
            return next(whole, None)

        return wait_for(find, f"“{answer}” after “{line}” of {self.command[:3]}:\n{self.output()}")

    def output(self):
        return self.path.read_text(errors="replace")

    def is_running(self):
        return self.process.poll() is None

    def wait_for(self, text, seconds=SECONDS):
        """Waits until a text was printed."""
        wait_for(
            lambda: text in self.output() or not self.is_running(),
            f"“{text}” of {self.command[:3]}:\n{self.output()}", seconds,
        )
        if text not in self.output():
            raise Difference(f"{self.command[:3]} ended without “{text}”:\n{self.output()}")

    def finish(self, seconds=SECONDS):
        """Waits for the end; gives the exit status."""
        return self.process.wait(timeout=seconds)

    def signal(self, number):
        if self.is_running():
            self.process.send_signal(number)

    def stop(self, seconds=20):
        """Ends it as Ctrl-C does; gives the exit status."""
        self.signal(signal.SIGINT)
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


class Namespace:
    """A second network namespace, which lives as long as the bench."""

    def __init__(self, bench):
        self.bench = bench
        self.holder = bench.start(["unshare", "--net", "sleep", "600"])
        own = os.readlink("/proc/self/ns/net")
        path = f"/proc/{self.holder.process.pid}/ns/net"
        wait_for(lambda: os.readlink(path) != own, "a namespace")
        self.inside = ["nsenter", "--net=" + path]
        self.run(["ip", "link", "set", "lo", "up"])

    def run(self, command, **options):
        return self.bench.run([*self.inside, *command], **options)

    def start(self, command):
        return self.bench.start([*self.inside, *command])


class Bench:
    """A test's folder, NICs and programs."""

    def __init__(self, pinion):
        self.pinion = pinion
        self.folder = Path(tempfile.mkdtemp(prefix="pinion-fpspin-"))
        self.environment = {**os.environ, "PINION_NIC_DIR": str(self.folder / "nic")}
        self.processes = []

    def start(self, command, **environment):
        """Starts a program in the background."""
        process = Process(
            command, self.folder, len(self.processes), {**self.environment, **environment}
        )
        self.processes.append(process)
        return process

    def run(self, command, status=0, seconds=SECONDS, **environment):
        """Runs a program; gives what it printed. `status` None: any."""
        done = subprocess.run(
            [str(part) for part in command], cwd=self.folder, timeout=seconds,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**self.environment, **environment}, text=True, errors="replace",
        )
        if status is not None and done.returncode != status:
            shown = " ".join(str(part) for part in command)
            raise Difference(f"status {done.returncode}, not {status}: {shown}\n{done.stdout}")
        return done.stdout

    def nic(self, *options, tap="pin0", address="10.11.0.1/24", device="pspin0"):
        """Starts a NIC and waits until it takes frames and programs."""
        where = ["--tap", tap, "--address", address] if tap else []
        process = self.start([self.pinion, "nic", *where, "--device", device, *options])
        process.wait_for("Ctrl-C ends")
        return process

    def status(self, *options):
        """What `pinion nic status` says."""
        status = json.loads(self.run([self.pinion, "nic", "status", "--json", *options]))
        described(status, "nic_status")
        for context in status["contexts"]:
            described(context, "held_context" if context["held"] else "free_context")
        return status

    def log(self, *options):
        """The lines that handlers have printed so far."""
        text = self.run([self.pinion, "nic", "log", "--once", "--json", *options])
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            described(line, "nic_log_line")
        return lines

    def make(self, out, key, make):
        """Gives a program that `make` makes at `out`: it, or a copy, where a test before has made it
        from the same (`key`), which this test does not change."""
        key = (str(self.pinion), *(str(part) for part in key))
        if key in compiled():
            out.unlink(missing_ok=True)  # it may be running
            shutil.copy2(compiled()[key], out)
        else:
            make()
            kept = shared_folder() / str(len(compiled()))
            compiled()[key] = shutil.copy2(out, kept)
        return out

    def build(self, app, *options, name=None):
        """Builds handlers for the FPsPIN machine; gives the ELF."""
        elf = self.folder / f"{name or Path(app).name}.elf"
        command = [self.pinion, "build", app, "--machine", "fpspin", "--out", elf, *options]
        if not Path(app).is_relative_to(REPOSITORY):
            self.run(command)
            return elf
        return self.make(elf, ["handlers", app, *options], lambda: self.run(command))

    def handlers(self, name, source, *options):
        """Builds handlers from a text; gives the ELF."""
        path = self.folder / f"{name}.c"
        path.write_text(source)
        elf = self.folder / f"{name}.elf"
        manifest = self.folder / name
        manifest.mkdir(exist_ok=True)
        (manifest / "app.toml").write_text(
            f'[app]\nname = "{name}"\nsources = ["../{name}.c"]\n\n'
            '[[context]]\nname = "all"\npayload = "PH"\n'.replace("PH", first_handler(source))
        )
        command = [self.pinion, "build", manifest, "--machine", "fpspin", "--out", elf, *options]
        return self.make(elf, ["text", name, source, *options], lambda: self.run(command))

    def host_program(self, source, *options, name=None):
        """Compiles a host program from a file or a text; gives the program."""
        key = ["host", source, *options]
        if isinstance(source, str):
            path = self.folder / f"{name or 'host'}.c"
            path.write_text(source)
            source = path
        out = self.folder / (name or Path(source).stem)
        extra = ["--", *options] if options else []
        command = [self.pinion, "fpspin", "compile", source, "-o", out, *extra]
        return self.make(out, key, lambda: self.run(command))

    def namespace(self):
        """Makes a second network namespace."""
        return Namespace(self)

    def outputs(self):
        """What the programs of the test have printed, for a failure's message."""
        shown = ""
        for process in self.processes:
            text = process.output().strip()
            shown += f"\n  -- {' '.join(process.command[:6])}\n" + text[-2000:] if text else ""
        return shown

    def close(self, keep=False):
        """Ends what runs and removes the folder."""
        for process in reversed(self.processes):
            process.signal(signal.SIGINT)
        end = time.monotonic() + 5
        for process in self.processes:
            try:
                process.process.wait(timeout=max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.process.kill()
                process.process.wait()
            if process.process.stdin:
                with contextlib.suppress(OSError):
                    process.process.stdin.close()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def first_handler(source):
    """The name of a text's payload handler, or of any."""
    words = source.replace("(", " ").replace("*", " ").split()
    for suffix in ("_ph", "_hh", "_th"):
        if found := next((word for word in words if word.endswith(suffix)), None):
            return found
    raise Difference("no handler in the text")
