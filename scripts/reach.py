"""Which steps of scripts/test.py a change can reach, by the paths it touches.

A path takes the steps of every line of TABLE that it matches; one that matches none takes all, so
that nothing is missed where nobody has thought of it.
"""

import fnmatch
import subprocess

ALL = ["*"]
# What is compiled of Rust, and everything that runs it.
RUST = ["format", "architecture", "clippy", "without-jit", "cargo", "rustdoc"]
SIMULATED = [
    *("speed", "examples", "cluster", "datatypes", "native", "faults", "fpspin", "captures"),
    *("promises", "tracks", "golden", "docs", "python"),
]
# Whose tests read files there without compiling them.
EMBEDDED = ["clippy", "cargo"]

# Patterns of paths (`*` stands for any text, `/` too), and the steps they reach.
TABLE = [
    ("crates/pinion-pspinsim/*", [*RUST, "pspinsim", "fpspin"]),
    ("crates/pinion-native/*", [*RUST, "native", "datatypes", "faults", "fpspin", "golden", "docs"]),
    ("crates/pinion-nanopu/*", [*RUST, "speed", "cluster", "tracks", "golden", "faults", "docs"]),
    ("crates/pinion-nanopu-hardware/*", [*RUST, "cluster", "docs"]),
    ("crates/pinion-nanopu-machine/*", [*RUST, "speed", "cluster", "tracks", "golden", "faults", "docs"]),
    ("crates/pinion-host/*", [*RUST, *SIMULATED, "pspinsim"]),
    ("crates/pinion-matching/*", [*RUST, *SIMULATED, "pspinsim"]),
    ("crates/pinion-spin-hardware/*", [*RUST, *SIMULATED, "pspinsim"]),
    ("crates/pinion-spin-machine/*", [*RUST, *SIMULATED, "pspinsim"]),
    ("crates/pinion-instruction-cache/*", [*RUST, *SIMULATED, "pspinsim"]),
    ("crates/pinion-l2-port/*", [*RUST, *SIMULATED, "pspinsim"]),
    ("crates/pinion-spin/*", [*RUST, *SIMULATED, "pspinsim"]),
    ("crates/pinion-translate/*", [*RUST, *SIMULATED, "pspinsim"]),
    ("crates/pinion-cores/*", [*RUST, *SIMULATED, "pspinsim"]),
    ("crates/pinion-isa/*", [*RUST, *SIMULATED, "pspinsim"]),
    ("crates/pinion-sim/*", [*RUST, *SIMULATED, "pspinsim"]),
    ("crates/pinion-net/*", [*RUST, *SIMULATED]),
    ("crates/pinion-capture/*", [*RUST, *SIMULATED]),
    ("crates/pinion-assets/*", [*RUST, *SIMULATED]),
    ("crates/pinion-app/*", [*RUST, *SIMULATED, "pspinsim", "sdk"]),
    ("crates/pinion-calibration/*", [*RUST, "golden", "docs"]),
    ("crates/pinion-debug/*", [*RUST, "docs"]),
    ("crates/pinion-figures/*", [*RUST, "golden", "docs"]),
    ("crates/pinion-dashboard/*", [*RUST, "python"]),
    ("crates/pinion-nicd/*", [*RUST, "fpspin", "docs"]),
    ("crates/pinion-p4-hardware/*", [*RUST, "hardware", "docs"]),
    ("crates/pinion-p4-translate/*", [*RUST, "cluster", "golden", "docs"]),
    ("crates/pinion-p4/*", [*RUST, "cluster", "golden", "hardware", "docs"]),
    ("crates/pinion-hardware/*", [*RUST, "docs"]),
    ("crates/pinion-observe/*", [*RUST, *SIMULATED]),
    ("crates/pinion-output/*", [*RUST, *SIMULATED]),
    ("crates/pinion-check/*", [*RUST, "docs"]),
    ("crates/pinion-run/*", [*RUST, *SIMULATED]),
    ("crates/pinion-fuzz/*", RUST),
    ("fuzz/*", ["cargo"]),
    ("tests/references/*", ["cargo"]),
    ("crates/pinion-python/*", [*RUST, "python"]),
    ("crates/pinion/*", [*RUST, *SIMULATED, "pspinsim", "sdk", "release"]),
    ("Cargo.toml", ALL),
    ("Cargo.lock", ALL),
    ("crates/*/Cargo.toml", ["dependencies", *RUST]),
    ("deny.toml", ["dependencies"]),
    ("rustfmt.toml", ["format"]),
    ("sdk/*.md", ["docs"]),
    ("sdk/*.toml", ["release"]),
    ("sdk/*", ["sdk", "pspinsim", *SIMULATED, *EMBEDDED]),
    ("machines/*", [*SIMULATED, "pspinsim", *EMBEDDED]),
    ("figures/*", ["golden", "docs", *EMBEDDED]),
    ("examples/*.md", ["docs"]),
    ("examples/cluster_*", ["speed", "cluster", "tracks", "golden", "docs", *EMBEDDED]),
    ("examples/nanopu_*", ["speed", "cluster", "tracks", "golden", "docs", *EMBEDDED]),
    ("examples/*", ["sdk", *SIMULATED, *EMBEDDED]),
    ("tests/calibration/*", ["golden", "cargo", "docs"]),
    ("tests/chart.py", ["python"]),
    ("tests/common.py", ["tools", "sdk", "pspinsim", *SIMULATED]),
    ("tests/sdk/*", ["sdk", "pspinsim", "examples"]),
    ("tests/examples/*", ["examples", "native"]),
    ("tests/pspinsim/*", ["pspinsim"]),
    ("tests/cluster/*", ["cluster"]),
    ("tests/datatypes/*", ["datatypes"]),
    ("tests/native/*", ["native"]),
    ("tests/faults/*", ["faults", "docs"]),
    ("tests/fpspin/*", ["fpspin"]),
    ("tests/captures/*", ["captures"]),
    ("tests/promises/*", ["promises"]),
    ("tests/tracks/*", ["tracks"]),
    ("tests/python/*", ["python"]),
    ("python/*", ["python"]),
    ("pyproject.toml", ["python", "release"]),
    ("packaging/*", ["release"]),
    (".devcontainer/*", ["release"]),
    ("tests/release/*", ["release"]),
    ("scripts/dist.py", ["release"]),
    ("scripts/packing.py", ["release", "python"]),
    ("scripts/tuned.py", ["release"]),
    ("scripts/wheel.sh", ["python"]),
    ("scripts/scale.py", ["python"]),
    ("scripts/cargo_test.py", ["cargo", "tools"]),
    ("docs/src/python.md", ["python"]),
    ("tests/golden/*", ["golden", "tools"]),
    ("tests/speed/*", ["tools", "speed"]),
    ("tests/docs/*", ["docs"]),
    ("docs/tables/*", ["cargo", "docs"]),
    ("docs/*", ["docs"]),
    ("scripts/setup.sh", ALL),
    ("scripts/check_architecture.py", ["architecture", "tools"]),
    ("scripts/check_dependencies.py", ["dependencies"]),
    ("scripts/*", ["tools"]),
    ("hardware/*", ["hardware", "docs"]),
    ("hardware/rtl/*", EMBEDDED),
    ("sdk/p4/*", ["hardware"]),
    ("tests/hardware/*", ["hardware"]),
    ("*.md", ["docs"]),
    (".gitignore", []),
    ("LICENSE*", []),
]


def steps_of(paths, steps):
    """A table from each step that paths reach to the first path that does; in the order of `steps`."""
    reasons = {}
    for path in paths:
        for step in reached(path):
            for name in steps if step == "*" else [step]:
                reasons.setdefault(name, path)
    return {name: reasons[name] for name in steps if name in reasons}


def reached(path):
    """The steps that a path reaches; "*" are all."""
    found = [steps for pattern, steps in TABLE if fnmatch.fnmatchcase(path, pattern)]
    if not found:
        return ALL
    return list(dict.fromkeys(step for steps in found for step in steps))


def git(repository, *arguments):
    """The lines that git prints."""
    done = subprocess.run(
        ["git", *arguments], cwd=repository, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return [line for line in done.stdout.split("\0") if line]


def default_base(repository):
    """Where the branch left main; on main itself, the commit before, if nothing is changed."""
    base = git(repository, "merge-base", "HEAD", "main")[0].strip()
    if changed_paths(repository, base):
        return base
    return "HEAD~1"


def changed_paths(repository, base):
    """The files that the working tree has otherwise than a revision, those not yet added, too."""
    differing = git(repository, "diff", "--name-only", "--no-renames", "-z", base)
    return sorted({*differing, *git(repository, "ls-files", "--others", "--exclude-standard", "-z")})
