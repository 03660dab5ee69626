"""Sweeps over grids of settings, on this computer's cores or on any executor's.

Which points there are, what their keys are, how one is run and how results are kept is the command's own
planner (:class:`Plan`); here is who runs which point when, and what becomes of it when a worker dies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from os import PathLike
from typing import Any, TypeAlias

from ._errors import Error, Interrupted, UsageError
from ._pinion import App, Generator, Load, Machine, Plan, Sweep
from ._progress import Bar

_Value: TypeAlias = int | float | bool | str
_Path: TypeAlias = str | PathLike[str]
_Progress: TypeAlias = Callable[[int, int, float], object]

# What tells that something runs calls elsewhere.
_EXECUTES = ("submit", "map_array", "get_executor", "ObjectRef")
# How often what an executor does is looked at, in seconds.
_BEAT = 0.1


def run_point(
    app: App, values: dict[str, str], packets: Generator | Load | None, machine: Machine | None
) -> tuple[str | None, str | None]:
    """Runs one point where a worker is: gives its row as JSON, or what is wrong with it."""
    try:
        return Plan(app, values, packets=packets, machine=machine).measure(0), None
    except Error as error:
        return None, str(error)


def sweep(
    app: App | _Path,
    grid: Mapping[str, _Value | Sequence[_Value]],
    *,
    packets: Generator | Load | None = None,
    machine: Machine | _Path | None = None,
    executor: Any = None,
    out: _Path = "out/sweeps",
    jobs: int | None = None,
    fresh: bool = False,
    progress: _Progress | bool | None = None,
) -> Sweep:
    """Runs an application at every point of a grid: ``{"cluster.count": [1, 2, 4], "packet.bytes": 64}``.

    Keys are those of ``pinion sweep --set``, with two underscores for the dot if you like; ``"seed"`` are
    seeds. ``packets`` replaces what the application has of its own.

    Points run on ``jobs`` cores of this computer, or where ``executor`` runs them: any
    ``concurrent.futures.Executor`` (a process pool, ``mpi4py.futures``), a ``dask.distributed.Client``, or
    the module ``ray`` once it is initialised, or whatever has ``submit`` and gives something with ``done`` and
    ``result`` (``submitit``, whose points become one array). Workers need the application's folder and the same build of this package.

    What a point measured is kept in ``out`` at once, under a digest of all it depends on: the same sweep
    again, or a larger one, runs what is missing, unless it is to be ``fresh``. The table is written there
    as CSV and Parquet. A worker that dies, and whatever else goes wrong with a point, is that point's
    ``problem``. ``progress`` is called with points done, points in all and seconds; ``True`` shows
    them in a line.

    Raises :class:`Interrupted` after Ctrl-C; the points that are done are kept.
    """
    app = app if isinstance(app, App) else App(app)
    if machine is not None and not isinstance(machine, Machine):
        machine = Machine(machine)
    if executor is not None and jobs is not None:
        raise UsageError("jobs= are this computer's; an executor has its own number of workers")
    if executor is not None and not any(hasattr(executor, name) for name in _EXECUTES):
        what = "executor= is a concurrent.futures.Executor, a Dask client, the module ray, or what has submit"
        raise UsageError(f"{what}; not {type(executor).__name__}")
    bar = Bar() if progress is True else None
    progress = bar or (None if isinstance(progress, bool) else progress)
    plan = Plan(app, dict(grid), packets=packets, machine=machine, out=out, jobs=jobs, fresh=fresh)
    try:
        if executor is None:
            return plan.run(progress)
        return _Desk(plan, app, packets, machine, executor, progress).work()
    except KeyboardInterrupt as stopped:
        kept = f"the points that are done are kept in {out}, and the same sweep runs the others"
        raise Interrupted(f"the sweep was stopped; {kept}") from stopped
    finally:
        if bar:
            bar.end()


class _Desk:
    """The points of a sweep, those that run, and those that are done."""

    def __init__(
        self,
        plan: Plan,
        app: App,
        packets: Generator | Load | None,
        machine: Machine | None,
        executor: Any,
        progress: _Progress | None,
    ) -> None:
        self.plan = plan
        self.values = plan.points
        # The machine's overrides are among each point's values.
        bare = machine and Machine(machine.name, faithful=machine.faithful)
        self.what = (app, packets, bare)
        self.executor = executor
        self.progress = progress
        self.came: list[tuple[str | None, str | None] | None] = [None] * len(plan)
        self.keys: list[str | None] = [None] * len(plan)
        self.begun = time.monotonic()

    def work(self) -> Sweep:
        """Has every point run that the journal does not have."""
        self._build()
        missing = [point for point in range(len(self.plan)) if not self._is_known(point)]
        kept = sum(1 for row in self.came if row and row[0])
        # Long ones first, so that the workers end together.
        missing.sort(key=self.plan.work, reverse=True)
        if isinstance(self.executor, futures.ProcessPoolExecutor):
            self._with_processes(missing, self.executor)
        elif missing:
            executor = self.executor
            if not isinstance(executor, futures.Executor) and hasattr(executor, "get_executor"):
                executor = executor.get_executor()
            for point, future in self._asked(executor, missing):
                self._done(point, future)
        rows = [row or (None, "it was not run") for row in self.came]
        return self.plan.outcome(rows, kept=kept, seconds=time.monotonic() - self.begun)

    def _build(self) -> None:
        """Builds what the points need; what is wrong with a program is told by its points' keys."""
        with futures.ThreadPoolExecutor() as builders:
            builds = [builders.submit(self.plan.build, at) for at in range(self.plan.programs)]
        for build in builds:
            error = build.exception()
            if error is not None and not isinstance(error, Error):
                raise error

    def _is_known(self, point: int) -> bool:
        """Takes a point from the journal; also one that cannot be run needs no worker."""
        try:
            key = self.plan.key(point)
        except Error as error:
            self.came[point] = (None, str(error))
            return True
        self.keys[point] = key
        row = self.plan.known(key)
        if row is not None:
            self.came[point] = (row, None)
        return row is not None

    def _asked(self, executor: Any, points: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Hands points to an executor, and gives each when it is done."""
        asked = _submit(executor, [self._call(point) for point in points])
        waiting = dict(zip(points, asked))
        try:
            while waiting:
                for point in _ended(waiting):
                    yield point, waiting.pop(point)
                self._tell()
        finally:
            for future in waiting.values():
                if hasattr(future, "cancel"):
                    future.cancel()

    def _with_processes(self, points: list[int], pool: futures.ProcessPoolExecutor) -> None:
        """Runs points in processes. One that dies breaks its pool, and leaves open whose it was: those that
        ran then run again, each in a pool of its own, and the others in a new one."""
        workers: int = getattr(pool, "_max_workers")
        context = getattr(pool, "_mp_context")
        made: list[futures.ProcessPoolExecutor] = []
        try:
            while points:
                running, points = points[:workers], points[workers:]
                suspects = []
                waiting: dict[int, Any] = {}
                while running or waiting:
                    try:
                        for point in running:
                            waiting[point] = pool.submit(*self._call(point))
                    except futures.BrokenExecutor:
                        suspects += [point for point in running if point not in waiting]
                    running = []
                    for point in _ended(waiting):
                        future = waiting.pop(point)
                        if isinstance(future.exception(), futures.BrokenExecutor):
                            suspects.append(point)
                            continue
                        self._done(point, future)
                        if points and not suspects:
                            running.append(points.pop(0))
                    self._tell()
                for point in suspects:
                    with futures.ProcessPoolExecutor(1, mp_context=context) as alone:
                        self._done(point, alone.submit(*self._call(point)))
                if suspects:
                    pool = futures.ProcessPoolExecutor(workers, mp_context=context)
                    made.append(pool)
        finally:
            for own in made:
                own.shutdown(cancel_futures=True)

    def _call(self, point: int) -> tuple[Any, ...]:
        app, packets, machine = self.what
        return run_point, app, self.values[point], packets, machine

    def _done(self, point: int, future: Any) -> None:
        """Keeps what came of a point."""
        try:
            row, problem = future.result()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever an executor says of a worker that died
            self.came[point] = (None, f"its worker was lost: {_words(error)}")
            return
        if row is not None and f'"{self.keys[point]}"' not in row:
            row, problem = None, "its worker has other sources, or another build of pinion"
        if row is not None:
            self.plan.keep(point, row)
        self.came[point] = (row, problem)

    def _tell(self) -> None:
        if self.progress:
            done = sum(1 for row in self.came if row)
            self.progress(done, len(self.came), time.monotonic() - self.begun)


def _submit(executor: Any, calls: list[tuple[Any, ...]]) -> Sequence[Any]:
    """Submits calls; as one array where the executor has such."""
    if hasattr(executor, "map_array"):
        columns = zip(*(call[1:] for call in calls))
        jobs: Sequence[Any] = executor.map_array(calls[0][0], *columns)
        return jobs
    if hasattr(executor, "ObjectRef") and hasattr(executor, "remote"):  # the module ray
        # What it would do again by itself is run again by the next sweep, as everywhere.
        work = executor.remote(calls[0][0]).options(max_retries=0)
        return [work.remote(*call[1:]).future() for call in calls]
    return [executor.submit(*call) for call in calls]


def _ended(waiting: Mapping[int, Any]) -> list[int]:
    """Waits a moment for what is done."""
    real = [future for future in waiting.values() if isinstance(future, futures.Future)]
    if real and len(real) == len(waiting):
        futures.wait(real, timeout=_BEAT, return_when=futures.FIRST_COMPLETED)
    elif waiting:
        time.sleep(_BEAT)
    return [point for point, future in waiting.items() if future.done()]


def _words(error: BaseException) -> str:
    """The first line of what an exception says, and its kind."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
