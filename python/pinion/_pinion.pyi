from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, final, overload

__version__: str

class _Bytes(Protocol):
    def __bytes__(self) -> bytes: ...

# A table with a column ``frame`` of bytes and, if they have times, a column ``time_ns``.
class _Arrow(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

# A frame as it is on the wire, from the first byte of its Ethernet header, without FCS.
_Frame: TypeAlias = bytes | bytearray | memoryview | _Bytes
_Path: TypeAlias = str | PathLike[str]
_Value: TypeAlias = int | float | bool | str

@final
class Entry:
    """A number of a machine."""

    @property
    def key(self) -> str:
        """Its name, as an override has it (``cluster.count``)."""
    @property
    def value(self) -> _Value:
        """What it is, in :attr:`unit`."""
    @property
    def unit(self) -> str | None:
        """Its unit."""
    @property
    def source(self) -> str | None:
        """Where it comes from: a paper's section or table, a module of the RTL."""
    @property
    def note(self) -> str | None:
        """What a reader should know of it."""
    @property
    def overridden(self) -> bool:
        """Whether it was changed."""

@final
class Machine:
    """A machine: one that Pinion comes with (see :func:`machines`), or a file, with numbers changed.

    Numbers are changed by a dictionary (``{"cluster.count": 8}``) or by keywords with two underscores
    for the dot (``cluster__count=8``).

    Raises :class:`ConfigError` when a number does not exist or does not fit, :class:`UsageError` when
    there is no such machine.
    """

    def __new__(
        cls,
        name: _Path,
        overrides: Mapping[str, _Value] | None = None,
        *,
        faithful: bool = False,
        **keys: _Value,
    ) -> Machine: ...
    @property
    def name(self) -> str:
        """The name it was given, or its file."""
    @property
    def kind(self) -> Literal["spin", "nanopu"]:
        """Whether it is a sPIN NIC or a nanoPU."""
    @property
    def overrides(self) -> list[str]:
        """What was changed, as the command takes it (``cluster.count=8``)."""
    @property
    def faithful(self) -> bool:
        """Whether it follows the RTL where that lacks or breaks what the paper describes."""
    @property
    def entries(self) -> list[Entry]:
        """Every number, in the order of its file."""
    def keys(self) -> list[str]:
        """The keys of all numbers, in the order of its file."""
    def show(self) -> str:
        """Gives the text of ``pinion machine show``: every number, its unit and its source."""
    def __getitem__(self, key: str) -> _Value: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, key: str) -> bool: ...
    def __len__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]: ...
    def _repr_html_(self) -> str: ...

@final
class Program:
    """A program that was built."""

    @property
    def elf(self) -> Path:
        """The ELF."""
    @property
    def compiler(self) -> str | None:
        """The compiler; ``None`` when the program was up to date or made elsewhere."""
    @property
    def messages(self) -> str:
        """What the compiler wrote."""

@final
class App:
    """Packet handlers, a nanoservice or a cluster: a folder with an ``app.toml`` or ``cluster.toml``.

    ``elf`` is a program to run instead of building the sources; ``cc`` a compiler (``"gcc"``, ``"zig"``
    or a path) instead of the one that is found; ``debug`` compiles for a debugger, which is another
    program with other cycles; ``build_dir`` is a folder for programs instead of the user's cache.

    Raises :class:`ConfigError` when the manifest is wrong.
    """

    def __new__(
        cls,
        path: _Path,
        *,
        elf: _Path | None = None,
        cc: str | None = None,
        debug: bool = False,
        build_dir: _Path | None = None,
    ) -> App: ...
    @staticmethod
    def from_source(
        source: str,
        *,
        header: str | None = None,
        payload: str | None = None,
        completion: str | None = None,
        match: Sequence[str] | None = None,
        harts: int | None = None,
        machine: str | None = None,
        name: str = "app",
        language: Literal["c", "c++", "asm"] = "c",
        manifest: str | None = None,
        cc: str | None = None,
        debug: bool = False,
    ) -> App:
        """Makes an application of source in a string.

        Handlers are named by their functions (``header``, ``payload``, ``completion``); ``match`` are
        the rules of their execution context, all packets if left out. ``harts`` makes it a nanoservice.
        ``manifest`` says all instead: the text of an ``app.toml`` whose source is ``app.c`` (``app.cc``,
        ``app.S``). The same text is built once: it is kept in the user's cache.
        """
    @property
    def path(self) -> Path:
        """Its folder, or its file."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def kind(self) -> Literal["handlers", "nanoservice", "cluster"]:
        """What it is."""
    def build(self, machine: Machine | _Path | None = None) -> list[Program]:
        """Builds its programs unless they are up to date, and checks that they fit the machine.

        Raises :class:`CompilerError` when there is no compiler or it refuses the sources.
        """

@final
class Generator:
    """Packets made to order: ``Generator("udp", size=512, count=10000, rate="400g")``.

    The options are those of ``pinion run --generate``: ``size`` in bytes, ``rate`` in bit/s.
    """

    def __new__(cls, spec: str, **options: _Value) -> Generator: ...
    @property
    def spec(self) -> str:
        """The specification, as ``pinion run --generate`` takes it."""

@final
class Load:
    """Requests to a nanoservice, made to order, their answers measured.

    ``Load(requests=1000, gap="exp:900", service=500)``; the options are those of ``pinion run --load``,
    times in cycles.
    """

    def __new__(cls, spec: str = "", **options: _Value) -> Load: ...
    @property
    def spec(self) -> str:
        """The specification, as ``pinion run --load`` takes it."""

@final
class Messages:
    """Messages to a nanoservice and the answers that must come: a file such as ``messages.toml``."""

    def __new__(cls, path: _Path) -> Messages: ...
    @property
    def path(self) -> Path:
        """The file."""

@final
class Table:
    """A table, by column; polars, pandas, pyarrow and duckdb take it without a copy."""

    @property
    def column_names(self) -> list[str]:
        """The names of its columns; ``_ns`` are nanoseconds of simulated time, ``stall_…`` cycles lost."""
    @property
    def num_rows(self) -> int:
        """How many rows it has."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> list[Any]:
        """Gives a column as a list; ``None`` where there is no value."""
    def to_pydict(self) -> dict[str, list[Any]]:
        """Gives a dictionary from each column's name to its list."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Gives the table as a stream of Arrow's C interface, in a capsule."""
    def _repr_html_(self) -> str: ...

@final
class Result:
    """What a run came to."""

    @property
    def summary(self) -> dict[str, Any]:
        """The JSON document of ``pinion run --json``, as a dictionary."""
    @property
    def json(self) -> str:
        """The JSON document as text."""
    @property
    def text(self) -> str:
        """What the command prints of the run."""
    @property
    def ok(self) -> bool:
        """Whether no handler failed, the run ended as it should, and all answers were as expected."""
    @property
    def output(self) -> str:
        """What handlers or the program printed, with the command's marks of when and where."""
    @property
    def notices(self) -> list[str]:
        """What the command says on standard error, compilers' warnings among it."""
    @property
    def frames(self) -> list[bytes]:
        """The frames that left, in the order in which they did."""
    @property
    def frame_times_ns(self) -> list[float]:
        """When each of the frames left, in nanoseconds of simulated time."""
    @property
    def unmatched(self) -> list[bytes]:
        """The frames that no context matched, which go to the host."""
    @property
    def packets(self) -> Table:
        """A row per packet, with the columns of ``pinion run --packets``; of a nanoservice, per frame."""
    @property
    def handlers(self) -> Table | None:
        """A row per run of a handler, if ``handlers=True`` asked for it."""
    @property
    def messages(self) -> Table | None:
        """A row per message, if ``messages=True`` asked for it.

        Of packet handlers its packets, bytes and times; of nanoPUs when its first packet was looked up, when
        it was complete, in a global queue, given to a hart, begun and ended (all ``_ns``).
        """
    @property
    def harts(self) -> Table | None:
        """A row per hart of a nanoservice or of a cluster's nodes; of packet handlers a row per HPU, if
        ``handlers=True`` asked for their runs. Cycles are those of the machine's clock."""
    @property
    def queues(self) -> Table | None:
        """A row per change of what a queue, buffer or unit held, if ``queues=True`` asked for it."""
    @property
    def parquet(self) -> dict[str, Path]:
        """The files that ``parquet=`` asked for, by the names of their tables."""
    @property
    def host_memory(self) -> dict[str, bytes]:
        """Contexts' host memory at the end, of those that ``host_memory=`` names."""
    def _repr_html_(self) -> str: ...

@final
class Figure:
    """A published figure, made again; notebooks show the chart."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def title(self) -> str:
        """What it shows."""
    @property
    def source(self) -> str:
        """Where it was published."""
    @property
    def ok(self) -> bool:
        """Whether every published value is met, or its difference explained; a quick look always is."""
    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``pinion figure --json``, as a dictionary."""
    @property
    def table(self) -> Table:
        """Its rows."""
    @property
    def svg(self) -> str:
        """The chart, as SVG."""
    @property
    def text(self) -> str:
        """The table, and ours beside what was published."""
    def _repr_svg_(self) -> str: ...

@final
class Calibration:
    """Our numbers beside those of the published RTL."""

    @property
    def text(self) -> str:
        """The tables that ``pinion calibrate`` prints."""
    @property
    def ok(self) -> bool:
        """Whether every row is within its tolerance."""
    @property
    def table(self) -> Table:
        """A row per number: ``ours``, ``rtl``, and the relative ``error``."""
    def _repr_html_(self) -> str: ...

@final
class Memory:
    """The memories of a :class:`Nic`: ``nic.memory["counters[3].hits"]``.

    What stands in brackets is a C expression of the program's variables. Values come as the program's types
    have them: numbers, bytes of arrays of letters and ``uint8_t``, lists of other arrays, dictionaries of
    structures, names of enumerations; ``None`` where nothing is.

    Raises ``KeyError`` when the expression is not understood.
    """

    def __getitem__(self, expression: str) -> Any: ...
    def get(self, expression: str, *, cluster: int = 0) -> Any:
        """Gives what a C expression comes to, as a cluster sees it: each has an L1 of its own."""
    def keys(self) -> list[str]:
        """Lists the program's variables that lie in no function."""
    def read(self, address: int, count: int, *, cluster: int = 0) -> bytes:
        """Reads so many bytes at an address of the NIC, as a cluster sees it."""

@final
class Snapshot:
    """What a :class:`Nic` was at a moment."""

    @property
    def now_ns(self) -> float:
        """The time of the moment, in nanoseconds of simulated time."""

_Hears = TypeVar("_Hears", bound=Callable[[dict[str, Any]], object])
_Event: TypeAlias = Literal[
    "departed",
    "dropped",
    "fault",
    "handler",
    "handler_start",
    "host_write",
    "message",
    "message_start",
    "output",
    "packet",
    "unmatched",
]

@final
class Nic:
    """A NIC with an application's handlers, a nanoservice's node, or a cluster, run step by step.

    Frames come in whenever :meth:`push` gives them; between two calls of :meth:`run` it stands still. What a
    NIC did does not depend on how its run was cut. A nanoservice begins when its program is ready. Into a
    cluster frames come from ``address``, with the bits of its network (``"10.0.0.1/8"``), as they do with
    ``pinion up``; without, from its own nodes alone.
    """

    def __new__(
        cls,
        app: App | _Path,
        *,
        machine: Machine | _Path | None = None,
        address: str | None = None,
    ) -> Nic: ...
    def push(self, *frames: _Frame, at: float | None = None) -> None:
        """Gives it frames that arrive now, or at a nanosecond, no earlier than now and those before."""
    def run(self, until: float | None = None) -> Literal["idle", "time", "stopped", "ended"]:
        """Runs until a nanosecond, or until nothing is left to do; says why it stopped.

        ``"idle"``: nothing is left; ``"time"``: the nanosecond is there; ``"stopped"``: :meth:`stop` was
        called; ``"ended"``: its programs have ended, or one has failed. Raises what a callback raised, and :class:`Error` when packets are inside and nothing moves.
        """
    def stop(self) -> None:
        """Ends a run from a callback, or another thread, within 100 ns of simulated time."""
    @overload
    def on(self, event: _Event, function: _Hears) -> _Hears:
        """Has a function hear an event: a dictionary with ``event``, ``time_ns`` and what belongs to it.

        A nanoservice has ``departed``, ``message_start``, ``message`` and ``output``, a cluster also
        ``packet`` and ``handler``, each with its ``node``; the others are those of packet handlers.
        """
    @overload
    def on(self, event: _Event, function: None = None) -> Callable[[_Hears], _Hears]:
        """Gives a decorator for a function that hears an event."""
    def pull(self) -> list[bytes]:
        """Takes the frames that left since the last time."""
    @property
    def now_ns(self) -> float:
        """The time it has come to, in nanoseconds of simulated time."""
    @property
    def output(self) -> str:
        """What handlers printed, with when and where."""
    @property
    def packets(self) -> Table:
        """A row per packet that is through, with the columns of :attr:`Result.packets`."""
    @property
    def messages(self) -> Table:
        """A row per message, with the columns of :attr:`Result.messages`."""
    @property
    def nodes(self) -> list[str]:
        """The names of a cluster's nodes."""
    @property
    def units(self) -> dict[str, int]:
        """What its units hold, by name, in the order of a packet's way."""
    @property
    def memory(self) -> Memory:
        """The program's variables, and memory by address; of a cluster see :meth:`memory_of`."""
    def memory_of(self, node: str) -> Memory:
        """Gives the variables and memory of a cluster's node."""
    def host_memory(self, context: str) -> bytes:
        """Reads a context's host memory."""
    def write_host_memory(self, context: str, data: bytes, offset: int = 0) -> None:
        """Writes into a context's host memory, for handlers that read it."""
    def snapshot(self) -> Snapshot:
        """Gives all that it is now, to come back to."""
    def restore(self, snapshot: Snapshot) -> None:
        """Makes it what it was when a snapshot of it was taken."""
    def _repr_html_(self) -> str: ...

@final
class Plan:
    """What :func:`sweep` will do: every point of a grid, checked; for those who run the points themselves.

    ``packets`` are a :class:`Generator` or a :class:`Load`; the other arguments are those of :func:`sweep`.
    """

    def __new__(
        cls,
        app: App | _Path,
        grid: dict[str, Any],
        *,
        packets: Generator | Load | None = None,
        machine: Machine | _Path | None = None,
        out: _Path = "out/sweeps",
        jobs: int | None = None,
        fresh: bool = False,
    ) -> Plan: ...
    @property
    def points(self) -> list[dict[str, str]]:
        """Its points, each with its values as texts, the last key varying fastest."""
    @property
    def programs(self) -> int:
        """How many programs the points need that are built beforehand."""
    def __len__(self) -> int: ...
    def work(self, point: int) -> float:
        """Gives how long a point will take, for comparing points."""
    def build(self, program: int) -> str:
        """Builds one of the programs unless it is up to date; gives what the compiler wrote."""
    def key(self, point: int) -> str:
        """Gives a digest of all that a point's result depends on; its program must have been built."""
    def measure(self, point: int) -> str:
        """Runs a point here, and gives its row as JSON."""
    def known(self, key: str) -> str | None:
        """Gives the row that the journal has under a key."""
    def keep(self, point: int, row: str) -> None:
        """Writes the row that :meth:`measure` gave of a point to the journal, and to the disk."""
    def outcome(
        self,
        came: Sequence[tuple[str | None, str | None]],
        *,
        kept: int = 0,
        seconds: float = 0.0,
        workers: int = 0,
    ) -> Sweep:
        """Puts a sweep together from each point's row, or what went wrong with it; writes its tables."""
    def run(self, progress: Callable[[int, int, float], object] | bool | None = None) -> Sweep:
        """Runs the points that the journal does not have, on this computer's cores; writes the tables."""

@final
class Sweep:
    """What a sweep came to; polars, pandas, pyarrow and duckdb take it as they take its table."""

    @property
    def app(self) -> str:
        """The application's name."""
    @property
    def table(self) -> Table:
        """A row for each point: its values, what was measured, and its ``problem``."""
    @property
    def kept(self) -> int:
        """How many points earlier sweeps had measured."""
    @property
    def ran(self) -> int:
        """How many points were run."""
    @property
    def failed(self) -> int:
        """How many points have a problem."""
    @property
    def text(self) -> str:
        """The table that ``pinion sweep`` prints."""
    def plot(self, x: str | None = None, y: str | None = None) -> str | None:
        """Draws a number over a key as SVG, a curve for each combination of the other keys.

        ``x`` is a key, ``y`` a column or the beginning of its name; ``None`` when nothing varies.
        """
    def write_parquet(self, path: _Path) -> None:
        """Writes the table as Parquet."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def _repr_html_(self) -> str: ...

@final
class Profile:
    """Where every cycle of every hart went."""

    @property
    def text(self) -> str:
        """What ``pinion profile`` prints."""
    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``pinion profile --json``, as a dictionary."""
    @property
    def flame(self) -> str:
        """A flame graph of cycles, as SVG."""
    @property
    def pprof(self) -> bytes:
        """The profile for ``go tool pprof``."""
    @property
    def lcov(self) -> str:
        """How often each line ran, for tools that show coverage."""
    def _repr_html_(self) -> str: ...

@final
class Why:
    """Why a packet or message took as long as it did, or was dropped."""

    @property
    def text(self) -> str:
        """What ``pinion why`` prints: its way in parts that add up, and the cause in a sentence."""
    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``pinion why --json``, as a dictionary."""
    @property
    def svg(self) -> str | None:
        """The waterfall of its way, as SVG; ``None`` of a packet that was dropped."""
    def _repr_html_(self) -> str: ...

def profile(
    app: App | _Path,
    packets: _Path
    | Generator
    | Load
    | Messages
    | _Arrow
    | Iterable[_Frame | tuple[float, _Frame]]
    | None = None,
    *,
    top: int = 12,
    harts: bool = False,
    machine: Machine | _Path | None = None,
    set: Mapping[str, _Value] | None = None,
    pace: str | None = None,
    seed: int | None = None,
    link: str | None = None,
    link_cycles: int | None = None,
    peer: bool | None = None,
    start: int | None = None,
    cycles: int | None = None,
    patience: int | None = None,
    progress: Callable[[int, int | None, float, float], object] | bool | None = None,
) -> Profile:
    """Tells where every cycle of every hart went, by handler, function, line and cause.

    ``top`` is how many functions and lines the text has at most, ``harts`` whether it has a row per
    hart. The rest is as for :func:`run`.
    """

def describe(frame: bytes) -> str:
    """Writes a frame in short: its protocol, addresses and payload."""

def differences(
    expected: Sequence[bytes], got: Sequence[bytes], *, in_order: bool = True
) -> list[str]:
    """Says what differs between frames that must come and those that came; empty: nothing."""

def figures() -> list[str]:
    """Lists the figures that can be made again."""

def figure(
    name: str,
    *,
    quick: bool = False,
    machine: Machine | _Path | None = None,
    set: Mapping[str, _Value] | None = None,
    seed: int = 1,
    jobs: int | None = None,
    progress: Callable[[int, int, str], object] | bool | None = None,
) -> Figure:
    """Makes a published figure again, and compares it with what was published.

    ``quick`` takes fewer points and shorter runs. ``machine`` is another than the figure's, where it takes
    one; ``set`` changes numbers of the figure's file (``parameters.…``) or of the machine. ``progress`` is
    called with points done, points in all, and the name of the last.
    """

def calibrate(
    row: str | None = None, *, folder: _Path | None = None, jobs: int | None = None
) -> Calibration:
    """Runs what was measured on the published RTL, and puts our numbers beside.

    ``row`` is a part of rows' names, ``folder`` a set of measurements; without it those of the repository
    that the working directory lies in.
    """

def machines() -> list[str]:
    """Lists the machines that Pinion comes with."""

def run(
    app: App | _Path,
    packets: _Path
    | Generator
    | Load
    | Messages
    | _Arrow
    | Iterable[_Frame | tuple[float, _Frame]]
    | None = None,
    *,
    machine: Machine | _Path | None = None,
    set: Mapping[str, _Value] | None = None,
    pace: str | None = None,
    seed: int | None = None,
    link: str | None = None,
    link_cycles: int | None = None,
    engine: Literal["simulator", "native"] | None = None,
    engine_core: Literal["translated", "interpreter"] | None = None,
    workers: int | None = None,
    check: bool = False,
    handlers: bool = False,
    messages: bool = False,
    queues: bool = False,
    host_memory: Sequence[str] | None = None,
    peer: bool | None = None,
    start: int | None = None,
    cycles: int | None = None,
    patience: int | None = None,
    threads: int | None = None,
    keep: bool = True,
    parquet: _Path | None = None,
    progress: Callable[[int, int | None, float, float], object] | bool | None = None,
) -> Result:
    """Runs an application until all packets are through.

    ``packets`` is a capture's path, a :class:`Generator`, or frames: ``bytes`` or whatever ``bytes()``
    takes (packets of scapy), each alone or in a pair behind the nanosecond of its arrival; one without a
    time arrives with the one in front of it; or an Arrow table with the column ``frame`` (bytes) and, if they
    have times, ``time_ns``. A nanoservice takes a :class:`Load` or :class:`Messages`,
    too. Without any, what the application has of its own comes in.

    ``set`` changes numbers of the machine, or of a cluster's file and its machines (``client.count``).
    ``pace`` says when packets arrive (``"recorded"``, ``"max"``, or a rate in bit/s such as ``"100g"``);
    ``seed`` is a generator's or a cluster's; ``link`` are faults (``"loss=1%,reorder=5%"``).
    ``check`` looks at every access of memory. Of handlers: ``engine="native"`` runs them on this
    computer, with so many ``workers``; ``engine_core="interpreter"`` interprets what simulated HPUs
    execute, instead of translating what they execute often, with the same results (of clusters, too);
    ``handlers`` adds a row per handler to the summary, a table of its
    runs and one of HPUs; ``host_memory`` names contexts whose host memory the result has. Of a nanoservice:
    ``link_cycles`` is the link's latency, ``peer`` whether the other end acknowledges, ``start`` the
    cycle of the first request. Of nanoservices and clusters: the run ends after ``cycles``, or when no
    message has moved for ``patience`` cycles. Of clusters: so many ``threads``, which change no result.

    ``messages`` gives a table with a row per message, ``queues`` one of what queues, buffers and units held
    over time. ``parquet`` is a folder where the rows of all tables go as they come instead of being kept
    (``packets.parquet``, ``handlers.parquet``, ``messages.parquet``, ``queues.parquet``), for runs of any length.

    Without ``keep`` the result has the summary alone, for runs of many packets. ``progress`` is called
    several times a second with packets done, packets in all or ``None``, nanoseconds simulated and
    seconds of this computer; ``True`` shows them in a line of the terminal, or below a notebook's cell.

    Other threads of Python go on meanwhile. Ctrl-C ends the run with :class:`Interrupted`, whose
    ``result`` has what was done. Raises a subclass of :class:`Error` for what the command refuses.
    """

def why(
    app: App | _Path,
    packets: _Path
    | Generator
    | Load
    | Messages
    | _Arrow
    | Iterable[_Frame | tuple[float, _Frame]]
    | None = None,
    *,
    packet: int | None = None,
    message: int | None = None,
    p99: bool = False,
    dropped: int | None = None,
    machine: Machine | _Path | None = None,
    set: Mapping[str, _Value] | None = None,
    pace: str | None = None,
    seed: int | None = None,
    link: str | None = None,
    link_cycles: int | None = None,
    peer: bool | None = None,
    start: int | None = None,
    cycles: int | None = None,
    patience: int | None = None,
    progress: Callable[[int, int | None, float, float], object] | bool | None = None,
) -> Why:
    """Tells why a packet, or a message to a nanoservice, took as long as it did, or was dropped.

    Which one: ``packet`` or ``message`` by its number from 0, the one than which 99 % took no longer
    (``p99``), the n-th that was ``dropped``; without any, the slowest. The rest is as for :func:`run`.
    """
