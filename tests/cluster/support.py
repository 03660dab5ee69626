"""What tests of clusters share: a `Bench` runs clusters in a folder of its own and gives what
`pinion run --json` says of them."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from common import Difference, Skip, check, check_in  # noqa: F401

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = REPOSITORY / "examples"
SECONDS = 120


def node(summary, name):
    """Gives a node of a summary by its name."""
    found = [entry for entry in summary["nodes"] if entry["name"] == name]
    if not found:
        names = ", ".join(entry["name"] for entry in summary["nodes"])
        raise Difference(f"there is no node {name}; there are {names}")
    return found[0]


def lines(summary, name):
    """Gives the lines that a node's program printed."""
    return node(summary, name)["console"].splitlines()


class Bench:
    """Runs a command in a folder of its own, `self.folder`; `self.ran` are the folders of clusters
    that were run."""

    def __init__(self, pinion, seed, ran):
        self.pinion = pinion
        self.seed = seed
        self.ran = ran
        self.folder = Path(tempfile.mkdtemp(prefix="pinion-cluster-"))
        self.commands = []

    def command(self, *arguments, status=0, seconds=SECONDS):
        """Runs `pinion` with arguments, which must end with a status; gives what it did."""
        command = [str(self.pinion), *(str(argument) for argument in arguments)]
        self.commands.append(" ".join(command[1:]))
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, cwd=self.folder
        )
        if done.returncode != status:
            raise Difference(
                f"exit status {done.returncode} instead of {status}\n{done.stdout}{done.stderr}"
            )
        return done

    def run(self, folder, *options, status=0, seconds=SECONDS):
        """Runs a cluster (an example's name, or a folder) and gives its summary."""
        folder = folder if isinstance(folder, Path) else EXAMPLES / folder
        self.ran.add(folder.resolve())
        summary = self.folder / f"summary-{len(self.commands)}.json"
        arguments = ["run", folder, "--quiet", "--json", summary, *options]
        self.command(*arguments, status=status, seconds=seconds)
        return json.loads(summary.read_text())

    def copy(self, *names):
        """Copies examples beside each other into the test's folder, to change them; gives the
        first's new place."""
        for name in names:
            without = shutil.ignore_patterns("build")
            shutil.copytree(EXAMPLES / name, self.folder / name, ignore=without)
        return self.folder / names[0]

    def cluster(self, text, name="cluster"):
        """Writes a cluster.toml into a folder of its own; gives the folder. `EXAMPLES` in the text
        is the examples' folder."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "cluster.toml").write_text(text.replace("EXAMPLES", str(EXAMPLES)))
        return folder

    def close(self, keep):
        """Removes the test's folder."""
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
