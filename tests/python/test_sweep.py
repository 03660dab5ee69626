"""Sweeps give the same table whoever runs the points: threads, processes, Dask, MPI, submitit."""

from __future__ import annotations

import itertools
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pinion
import pytest
from conftest import EXAMPLES, told

REDUCE = EXAMPLES / "reduce"
GRID: dict[str, Any] = {"cluster.count": [1, 2], "packet.bytes": [64, 256], "packet.count": 64}
SOME = pinion.Generator("udp,dport=9330,size=256,count=64,rate=400g")


def rows(sweep: pinion.Sweep) -> dict[str, list[Any]]:
    """The table without the one number that no two runs have alike."""
    columns = sweep.table.to_pydict()
    del columns["host_seconds"]
    return columns


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What the command measures."""
    out = tmp_path_factory.mktemp("command")
    options = [f"--set={key}={','.join(map(str, values))}" for key, values in axes().items()]
    subprocess.run(
        [os.environ["PINION"], "sweep", REDUCE, "--generate", SOME.spec, *options, "--out", out],
        check=True,
        capture_output=True,
    )
    arrow = pytest.importorskip("pyarrow.parquet").read_table(out / "reduce.parquet")
    columns: dict[str, list[Any]] = arrow.drop_columns(["host_seconds"]).to_pydict()
    return columns


def axes() -> dict[str, list[Any]]:
    return {key: value if isinstance(value, list) else [value] for key, value in GRID.items()}


def sweep(out: Path, executor: Any = None, **options: Any) -> pinion.Sweep:
    return pinion.sweep(REDUCE, GRID, packets=SOME, out=out, executor=executor, **options)


def test_a_sweep_gives_what_the_command_gives(tmp_path: Path, expected: dict[str, Any]) -> None:
    heard: list[tuple[int, int, float]] = []
    done = sweep(tmp_path, progress=lambda *told: heard.append(told))
    assert rows(done) == expected
    assert (len(done), done.ran, done.kept, done.failed) == (4, 4, 0, 0)
    assert heard and heard[-1][1] == 4
    parquet = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "reduce.parquet")
    assert parquet.to_pydict() == done.table.to_pydict()
    polars = pytest.importorskip("polars").DataFrame(done)
    assert polars.height == 4
    assert done.text.splitlines()[0].startswith("cluster.count  packet.bytes")
    picture = done.plot(x="packet.bytes", y="throughput")
    assert picture is not None and "<svg" in picture
    assert "<svg" in done._repr_html_() and "<table>" in done._repr_html_()
    with pytest.raises(pinion.UsageError):
        done.plot(y="beauty")


def test_threads_and_processes_give_the_same(tmp_path: Path, expected: dict[str, Any]) -> None:
    with ThreadPoolExecutor(2) as threads:
        assert rows(sweep(tmp_path / "threads", threads)) == expected
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        done = sweep(tmp_path / "processes", processes)
    assert rows(done) == expected


def test_points_are_kept_from_sweep_to_sweep(tmp_path: Path, expected: dict[str, Any]) -> None:
    smaller = pinion.sweep(REDUCE, {**GRID, "cluster.count": 1}, packets=SOME, out=tmp_path)
    assert (smaller.ran, smaller.kept) == (2, 0)
    journal = tmp_path / "reduce.jsonl"
    # The end of a line that a power failure cut off.
    journal.write_bytes(journal.read_bytes()[:-9])
    with ThreadPoolExecutor(2) as threads:
        done = sweep(tmp_path, threads)
        assert (done.ran, done.kept) == (3, 1) and rows(done) == expected
        assert sweep(tmp_path, threads).kept == 4
        assert sweep(tmp_path, threads, fresh=True).kept == 0
    assert sweep(tmp_path).kept == 4


class Deadly(Executor):
    """Threads; the worker of one point is lost."""

    def __init__(self, fatal: dict[str, str]) -> None:
        self.fatal = fatal
        self.threads = ThreadPoolExecutor(2)

    def submit(self, fn: Any, /, *args: Any, **keywords: Any) -> Future[Any]:
        is_fatal = self.fatal.items() <= args[1].items()
        return self.threads.submit(lose if is_fatal else fn, *args, **keywords)


def lose(*arguments: Any) -> None:
    raise OSError("the machine is gone\nand with it all it had")


def deadly(app: Any, values: dict[str, str], *rest: Any) -> Any:
    """Runs a point in a process that does not survive some of them."""
    if values["cluster.count"] == "2" and values["packet.bytes"] == "64":
        os.kill(os.getpid(), signal.SIGKILL)
    from pinion._sweep import run_point

    return run_point(app, values, *rest)


class Murderous(ProcessPoolExecutor):
    """Processes, one of which is killed; a class of its own, as cluster software has them."""

    def submit(self, fn: Any, /, *args: Any, **keywords: Any) -> Future[Any]:
        return super().submit(deadly, *args, **keywords)


def test_a_worker_that_dies_costs_its_point(
    tmp_path: Path, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = sweep(tmp_path, Deadly({"cluster.count": "2", "packet.bytes": "64"}))
    assert lost.failed == 1
    problems = lost.table["problem"]
    assert problems == [None, None, "its worker was lost: OSError: the machine is gone", None]
    # Processes: the pool that it breaks is replaced, and so are the points that were in it.
    monkeypatch.setattr("pinion._sweep.run_point", deadly)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        killed = sweep(tmp_path / "killed", processes)
    assert killed.failed == 1 and killed.ran == 4
    assert "BrokenProcessPool" in killed.table["problem"][2]
    monkeypatch.undo()
    # What was not measured is not kept: the same again runs it.
    again = sweep(tmp_path / "killed")
    assert (again.ran, again.kept, again.failed) == (1, 3, 0)
    assert rows(again) == expected


def test_a_point_that_cannot_be_run_says_why(tmp_path: Path) -> None:
    grid: dict[str, Any] = {"cluster.count": [2, 99], "packet.count": 64}
    for executor in (None, ThreadPoolExecutor(1)):
        done = pinion.sweep(REDUCE, grid, packets=SOME, out=tmp_path, executor=executor)
        assert done.failed == 1 and "outside 1 to 16" in done.table["problem"][1]
    with pytest.raises(pinion.Error, match="cluster.cout"):
        pinion.sweep(REDUCE, {"cluster.cout": [1]}, packets=SOME, out=tmp_path)
    with pytest.raises(pinion.UsageError, match="Generator or a Load"):
        pinion.sweep(REDUCE, {}, packets=[bytes(64)], out=tmp_path)  # type: ignore[arg-type]
    endless: Any
    for endless in (itertools.count(), range(10**12)):
        with pytest.raises(pinion.UsageError, match="grid: packet.count has more values than the 10000 points"):
            pinion.sweep(REDUCE, {"packet.count": endless}, packets=SOME, out=tmp_path)
    with pytest.raises(pinion.UsageError, match="jobs="):
        sweep(tmp_path, ThreadPoolExecutor(1), jobs=2)


def test_a_machines_numbers_go_with_every_point(tmp_path: Path) -> None:
    machine = pinion.Machine("pspin", cluster__cores=4)
    grid = {"packet__bytes": [64, 256], "seed": [1, 2]}
    done = pinion.sweep(REDUCE, grid, packets=SOME, machine=machine, out=tmp_path)
    with ThreadPoolExecutor(2) as threads:
        same = pinion.sweep(
            REDUCE, grid, packets=SOME, machine=machine, out=tmp_path / "again", executor=threads
        )
    assert rows(done) == rows(same) and same.ran == 4
    assert done.table["cluster.cores"] == [4] * 4 and done.table["seed"] == [1, 2, 1, 2]


def test_nanoservices_and_clusters_are_swept(tmp_path: Path) -> None:
    service, load = EXAMPLES / "nanopu_echo", pinion.Load(requests=50)
    grid = {"load.gap": ["exp:400", "exp:1600"]}
    with ThreadPoolExecutor(2) as threads:
        of_service = pinion.sweep(service, grid, packets=load, out=tmp_path, executor=threads)
        cluster = {"client.count": [1, 2]}
        of_cluster = pinion.sweep(EXAMPLES / "cluster_echo", cluster, out=tmp_path, executor=threads)
    assert of_service.failed == of_cluster.failed == 0, of_cluster.table["problem"]
    assert of_service.table["answered"] == [50, 50]
    assert of_cluster.table["nodes"][0] < of_cluster.table["nodes"][1]
    assert all(time > 0 for time in of_cluster.table["simulated_ns"])


def test_a_worker_has_another_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    grid = {"packet.count": [16, 32]}
    executor = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=os.chdir, initargs=("/",))
    with executor:
        done = pinion.sweep("reduce", grid, packets=SOME, out=tmp_path, executor=executor)
    assert done.failed == 0 and done.ran == 2


def test_what_a_worker_needs_can_be_sent(tmp_path: Path) -> None:
    machine = pinion.Machine("pspin", cluster__count=2)
    copy = pickle.loads(pickle.dumps(machine))
    assert copy["cluster.count"] == 2 and copy.overrides == machine.overrides
    app = pickle.loads(pickle.dumps(pinion.App(REDUCE)))
    assert app.path == REDUCE and app.kind == "handlers"
    assert pickle.loads(pickle.dumps(SOME)).spec == SOME.spec
    messages = pickle.loads(pickle.dumps(pinion.Messages("some.toml")))
    assert messages.path == Path.cwd() / "some.toml"
    assert dict(machine) == {entry.key: entry.value for entry in machine.entries}
    with pytest.raises(pinion.UsageError, match="executor= is.*not int"):
        pinion.sweep(REDUCE, {"cluster.count": 1}, executor=5)


def test_a_plan_is_worked_by_hand(tmp_path: Path, expected: dict[str, Any]) -> None:
    plan = pinion.Plan(REDUCE, GRID, packets=SOME, out=tmp_path)
    assert len(plan) == 4 and plan.points[1]["packet.bytes"] == "256"
    assert plan.work(1) > plan.work(0)
    for program in range(plan.programs):
        plan.build(program)
    came: list[tuple[str | None, str | None]] = []
    for point in range(len(plan)):
        assert plan.known(plan.key(point)) is None
        row = plan.measure(point)
        plan.keep(point, row)
        came.append((row, None))
    assert rows(plan.outcome(came)) == expected
    again = pinion.Plan(REDUCE, GRID, packets=SOME, out=tmp_path)
    assert all(again.known(again.key(point)) for point in range(4))
    with pytest.raises(IndexError):
        plan.measure(4)
    with pytest.raises(pinion.UsageError, match="no row"):
        plan.keep(0, "{}")


def test_a_dask_cluster_of_processes(tmp_path: Path, expected: dict[str, Any]) -> None:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        workers = {worker["pid"] for worker in client.run(pid).values()}
        assert len(workers - {os.getpid()}) == 2
        assert rows(sweep(tmp_path, client)) == expected
        # A worker is killed; its nanny makes another, and no point is lost.
        victim = workers.pop()
        killed = sweep(tmp_path, client, fresh=True, progress=once(lambda: kill(victim)))
        assert rows(killed) == expected


def pid() -> dict[str, int]:
    return {"pid": os.getpid()}


def kill(victim: int) -> None:
    os.kill(victim, signal.SIGKILL)


def once(act: Any) -> Any:
    """Does something at the first sign of progress."""
    acts = [act]
    return lambda *told: acts.pop()() if acts else None


def test_mpi_runs_the_points(tmp_path: Path, expected: dict[str, Any]) -> None:
    pytest.importorskip("mpi4py")
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("there is no mpirun")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import pinion
            from mpi4py.futures import MPIPoolExecutor

            if __name__ == "__main__":
                with MPIPoolExecutor() as executor:
                    assert executor.num_workers == 2
                    done = pinion.sweep({str(REDUCE)!r}, {GRID!r}, packets=pinion.Generator({SOME.spec!r}),
                                        out={str(tmp_path)!r}, executor=executor)
                assert done.ran == 4
            """
        )
    )
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    ran = subprocess.run(
        [mpirun, "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures", script],
        env={**os.environ, **allowed},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    arrow = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "reduce.parquet")
    assert arrow.drop_columns(["host_seconds"]).to_pydict() == expected


def test_submitit_runs_the_points_as_an_array(tmp_path: Path, expected: dict[str, Any]) -> None:
    submitit = pytest.importorskip("submitit")
    executor = submitit.AutoExecutor(folder=tmp_path / "logs", cluster="local")
    executor.update_parameters(timeout_min=5)
    assert rows(sweep(tmp_path, executor)) == expected
    assert list((tmp_path / "logs").glob("*_result.pkl"))


def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    script = (
        "import pinion, os, signal\n"
        "def stop(done, total, seconds):\n"
        "    if done: os.kill(os.getpid(), signal.SIGINT)\n"
        f"grid = {{'packet.count': [16, 100_000, 100_001], 'packet.bytes': [64, 128]}}\n"
        "try:\n"
        f"    pinion.sweep({str(REDUCE)!r}, grid, packets=pinion.Generator({SOME.spec!r}),\n"
        f"                 out={str(tmp_path)!r}, jobs=6, progress=stop)\n"
        "except pinion.Interrupted as stopped:\n"
        "    print(stopped)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "are kept in" in done.stdout
    assert 0 < len((tmp_path / "reduce.jsonl").read_text().splitlines()) < 6


def test_points_run_on_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # It would keep a token in the home folder.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        app, packets = EXAMPLES / "udp_echo", pinion.Generator("udp,dport=9500,size=64,count=60")
        grid: dict[str, Any] = {"cluster.count": [1, 2], "packet.bytes": [64, 128], "packet.count": 60}
        far = pinion.sweep(app, grid, packets=packets, executor=ray, out=tmp_path / "far")
        assert (far.ran, far.failed) == (4, 0)
        near = pinion.sweep(app, grid, packets=packets, jobs=1, out=tmp_path / "near")
        assert told(far.table.to_pydict()) == told(near.table.to_pydict())
        # A worker that is killed costs its point. Ray's workers do not have this file.
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        with monkeypatch.context() as patched:
            patched.setattr("pinion._sweep.run_point", deadly)
            killed = pinion.sweep(app, grid, packets=packets, executor=ray, out=tmp_path / "killed")
        assert (killed.ran, killed.failed) == (4, 1)
        assert "its worker was lost" in killed.table["problem"][2]
        again = pinion.sweep(app, grid, packets=packets, executor=ray, out=tmp_path / "killed")
        assert (again.kept, again.ran, again.failed) == (3, 1, 0)
    finally:
        ray.shutdown()
