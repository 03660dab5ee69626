"""A cluster gives the same bytes with any number of threads and of MPI ranks, with faults, too: what
programs print, the summary, captures."""

import json
import os
import shutil
import subprocess

from support import EXAMPLES, REPOSITORY, Skip, check, check_in

FAULTS = "loss=2%,dup=2%,reorder=5%,corrupt=2%,hold=1us,seed=11"

# As root Open MPI wants to be asked twice.
MPI = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

CASES = {
    "echo": ("cluster_echo", ["--set", "client.count=7"], ["server", "client.3", "client.6"]),
    "rpc": ("cluster_rpc", ["--set", "peer.count=12"], ["peer.0", "peer.7"]),
    "datacentre": (
        "cluster_datacentre",
        ["--set", "server.count=40"],
        ["server.0", "server.39", "s0-s20"],
    ),
}


def mpirun(bench, ranks, arguments, seconds=120):
    """Runs `pinion` on MPI ranks."""
    if not shutil.which("mpirun"):
        raise Skip("mpirun is not installed")
    command = ["mpirun", "--oversubscribe", "-n", str(ranks), str(bench.pinion)]
    command += [str(argument) for argument in arguments]
    bench.commands.append(" ".join(["(mpirun)", *command[4:]]))
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, cwd=bench.folder, env=MPI
    )
    if "was built without MPI" in done.stderr:
        raise Skip("this pinion was built without MPI (--features mpi)")
    return done


def outputs(bench, case, faults, name):
    """Arguments of a run, and the files it is to write."""
    example, options, cables = CASES[case]
    files = {"json": bench.folder / f"{name}.json"}
    files |= {cable: bench.folder / f"{name}-{cable}.pcap" for cable in cables}
    arguments = ["run", EXAMPLES / example, "--quiet", "--json", files["json"], *options]
    for cable in cables:
        arguments += ["--pcap", f"{cable}={files[cable]}"]
    return arguments + (["--link", FAULTS] if faults else []), files


def seen(done, files):
    """All that can be seen of a run, but for the host's time."""
    lines = [line for line in done.stdout.splitlines() if not line.startswith("  time ")]
    return {"printed": lines, **{name: path.read_bytes() for name, path in files.items()}}


def compare(bench, case, faults):
    """Compares threads with one thread; gives what one thread sees."""
    alone = None
    for threads in (1, 2, 4):
        arguments, files = outputs(bench, case, faults, f"{case}-{faults}-threads-{threads}")
        found = seen(bench.command(*arguments, "--threads", threads), files)
        alone = alone or found
        for part in found:
            check(found[part] == alone[part], f"{part} differs with {threads} threads")
    check(b'"cycles"' in alone["json"], "the summary has no cycles")
    check(all(len(part) > 300 for part in list(alone.values())[2:]), "captures are empty")
    return alone


def compare_ranks(bench, case, faults):
    alone = compare(bench, case, faults)
    for ranks, threads in ((2, 1), (3, 1), (3, 2)):
        name = f"{case}-{faults}-ranks-{ranks}-{threads}"
        arguments, files = outputs(bench, case, faults, name)
        done = mpirun(bench, ranks, [*arguments, "--threads", threads])
        check(done.returncode == 0, f"{ranks} ranks: {done.stdout}{done.stderr}")
        found = seen(done, files)
        for part in found:
            check(found[part] == alone[part], f"{part} differs with {ranks} ranks")


def test_threads_and_ranks_give_the_same_bytes(bench):
    compare_ranks(bench, "echo", faults=False)
    compare_ranks(bench, "rpc", faults=False)


def test_threads_and_ranks_give_the_same_bytes_with_faults(bench):
    compare_ranks(bench, "echo", faults=True)


def test_ranks_check_as_one_does(bench):
    """Harts of a node, ordered by another node's answers or not: the seeded bugs of the checker's tests."""
    app = bench.folder / "app"
    app.mkdir()
    (app / "nano.c").write_text((REPOSITORY / "crates/pinion/tests/check/nano.c").read_text())
    manifest = '[app]\nname = "nano"\nsources = ["nano.c"]\n\n[nanoservice]\nharts = 2\n'
    (app / "app.toml").write_text(manifest)
    text = '[cluster]\nname = "checked"\n\n[network]\ntopology = { kind = "star" }\n\n'
    for name, case in (("other", "relay"), ("ordered", "relayed"), ("late", "relayed_late")):
        text += f'[[node]]\nname = "{name}"\napp = "app"\nends = {str(name != "other").lower()}\n'
        text += f'args = ["{case}", "{{other}}", "{{{name}}}"]\n\n'
    (bench.folder / "checked.toml").write_text(text)

    def check_with(name, run):
        summary = bench.folder / f"{name}.json"
        words = ["run", "checked.toml", "--check", "--quiet", "--json", summary, "--threads", 1]
        done = run(words)
        check(done.returncode == 3, f"{name}: status {done.returncode}: {done.stdout}{done.stderr}")
        return seen(done, {"json": summary})

    alone = check_with("alone", lambda words: bench.command(*words, status=3))
    findings = json.loads(alone["json"])["check"]["findings"]
    found = sorted((finding["node"], finding["kind"]) for finding in findings)
    check(found == [("late", "lost_update"), ("ordered", "data_race")], f"{found}")
    for ranks in (2, 3):
        found = check_with(f"ranks-{ranks}", lambda words: mpirun(bench, ranks, words))
        for part in found:
            check(found[part] == alone[part], f"{part} differs with {ranks} ranks")


def test_threads_alone_give_the_same_bytes(bench):
    for case in CASES:
        compare(bench, case, faults=True)


def test_a_rank_that_fails_ends_all(bench):
    # The last client's cable belongs to the last rank alone: the others learn of it from MPI.
    nowhere = bench.folder / "missing" / "x.pcap"
    arguments = ["run", EXAMPLES / "cluster_echo", "--quiet", "--pcap", f"client.3={nowhere}"]
    done = mpirun(bench, 3, arguments, seconds=60)
    check(done.returncode not in (0, 3), f"status {done.returncode}: {done.stderr}")
    check_in("pinion: rank 2: cannot", done.stderr)


def test_without_mpi_it_says_what_to_do(bench):
    environment = {**os.environ, "OMPI_COMM_WORLD_SIZE": "3"}
    command = [str(bench.pinion), "run", str(EXAMPLES / "cluster_echo"), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    if done.returncode == 0:
        raise Skip("this pinion was built with MPI")
    check(done.returncode == 2, f"status {done.returncode}")
    check_in("--features mpi", done.stderr)
