"""What PsPIN's units did in a run, from the logs of the published RTL in tests/calibration, as inputs and
outputs of our units by cycle. The model gives the same events (crates/pinion-spin/tests)."""

import csv
from collections import defaultdict, deque
from dataclasses import dataclass, field

from common import REPOSITORY

CALIBRATION = REPOSITORY / "tests/calibration/pspin"
CLUSTERS, HPUS, TASKS, RINGS, RING_SLOTS, SLOT_BYTES = 4, 8, 20, 4, 256, 64
HEADER, PAYLOAD, COMPLETION = range(3)
# Of the MPQ engine's states: which handler's task it offers.
KINDS = {1: HEADER, 3: PAYLOAD, 5: COMPLETION}
# Where a cluster's packet buffer lies in its L1, and bits of an address there.
PACKET_BUFFER, OFFSET = 0x4400, 0x3FFFFF


@dataclass
class Task:
    """A task on its way, with the cycle of each event."""

    message: int
    packet: int
    kind: int
    at: dict = field(default_factory=dict)
    cluster: int = 0
    hpu: int = 0
    bytes: int = 0
    slot: int = 0
    frees: int = 0

    @property
    def slots(self):
        """Slots of L1 that it holds."""
        return -(-self.bytes // SLOT_BYTES)


class Run:
    """The events of a row."""

    def __init__(self, row):
        self.row = row
        # By cycle: HERs as (message, packet, end), and those that waited.
        self.hers, self.stalls, self.copied = {}, set(), defaultdict(set)
        self.tasks = []
        waiting = defaultdict(deque)
        with (CALIBRATION / f"events/{row}.csv").open() as file:
            lines = list(csv.reader(file))[1:]
        for at, name, fields in lines:
            self.take(int(at), name, fields.split(), waiting)
        self.end = int(lines[-1][0]) + 3

    def take(self, at, name, fields, waiting):
        """Takes an event: `waiting` has the tasks of a packet, or message, that have yet to see it."""
        if name == "HER_IN":
            self.hers[at] = (int(fields[0]), int(fields[1], 16), int(fields[4]))
        elif name == "HER_STALL":
            self.stalls.add(at)
        elif name == "DMA_RESP":
            self.copied[int(fields[0])].add(at)
        elif name == "MPQ_ARB":
            task = Task(int(fields[0]), 0, KINDS[int(fields[1])], {name: at})
            self.tasks.append(task)
            waiting["TASK_OUT", task.message].append(task)
        elif name == "TASK_OUT":
            task = waiting[name, int(fields[0])].popleft()
            task.packet = int(fields[1], 16)
            task.at[name] = at
            waiting["CL_TASK", task.packet].append(task)
        elif name == "CL_TASK":
            task = waiting[name, int(fields[2], 16)].popleft()
            task.cluster, task.bytes = int(fields[0]), int(fields[4])
            task.slot = ((int(fields[3], 16) & OFFSET) - PACKET_BUFFER) // SLOT_BYTES
            task.at[name] = at
            waiting["HPU_TASK", task.packet].append(task)
        elif name in ("HPU_TASK", "HPU_FBPUSH", "HPU_FB"):
            task = waiting[name, int(fields[3], 16)].popleft()
            task.hpu = int(fields[1])
            task.at[name] = at
            later = {"HPU_TASK": "HPU_FBPUSH", "HPU_FBPUSH": "HPU_FB", "HPU_FB": "FB_MPQ"}[name]
            waiting[later, task.packet].append(task)
        elif name == "FB_MPQ":
            task = waiting[name, int(fields[1], 16)].popleft()
            task.frees = int(fields[2])
            task.at[name] = at

    def cycles(self):
        """An empty row for every cycle."""
        return [{} for _ in range(self.end)]


def rows():
    """The rows that have events."""
    return sorted(path.stem for path in (CALIBRATION / "events").glob("*.csv"))


def handlers():
    """By row: whether its messages have a header handler, and a completion handler."""
    with (CALIBRATION / "rows.csv").open() as file:
        return {
            row["row"]: (int(bool(row["header_handler"])), int(bool(row["completion_handler"])))
            for row in csv.DictReader(file)
        }


def of_mpq_engine(run):
    """The MPQ engine's cycles: HERs and completions in, tasks out."""
    cycles = run.cycles()
    has_header, has_completion = handlers()[run.row]
    for row in cycles:
        row["task_valid"] = 0
    for at, (message, packet, end) in run.hers.items():
        cycles[at] |= {"her_valid": 1, "her_ready": 1, "her_key": message, "her_end": end}
        cycles[at] |= {"her_packet": packet, "her_meta": message}
        cycles[at] |= {"her_has_header": has_header, "her_has_completion": has_completion}
    for task in run.tasks:
        offered = {"task_queue": task.message, "task_kind": task.kind, "task_frees": task.frees}
        offered |= {"task_packet": task.packet, "task_meta": task.message, "task_valid": 1}
        for at in range(task.at["MPQ_ARB"] + 1, task.at["TASK_OUT"] + 1):
            cycles[at] |= offered
        cycles[task.at["TASK_OUT"]]["task_ready"] = 1
        done = {"done_valid": 1, "done_queue": task.message, "done_kind": task.kind}
        cycles[task.at["FB_MPQ"]] |= done
    return cycles


def of_dispatcher(run):
    """The dispatcher's cycles: tasks and completions in, the cluster of each task out."""
    cycles = run.cycles()
    for row in cycles:
        row |= {"cluster_ready": (1 << CLUSTERS) - 1, "cluster_valid": 0}
    for task in run.tasks:
        # The cluster's entrance holds it from the cycle behind.
        for at in range(task.at["TASK_OUT"] + 1, task.at["CL_TASK"]):
            cycles[at]["cluster_ready"] &= ~(1 << task.cluster)
        for at in range(task.at["MPQ_ARB"] + 1, task.at["TASK_OUT"] + 1):
            cycles[at] |= {"task_valid": 1, "task_home": task.message % CLUSTERS}
            cycles[at] |= {"task_data": task.packet, "task_ready": 0}
        last = {"task_ready": 1, "cluster_valid": 1 << task.cluster, "cluster_task": task.packet}
        cycles[task.at["TASK_OUT"]] |= last
        cycles[task.at["FB_MPQ"]] |= {"completion_valid": 1, "completion_cluster": task.cluster}
    return cycles


def of_cluster_scheduler(run, cluster):
    """One cluster's scheduler: tasks, ends of copies, idle HPUs and freed room in; copies and tasks for
    HPUs out."""
    cycles = run.cycles()
    for row in cycles:
        row |= {"hpu_idle": (1 << HPUS) - 1, "hpu_valid": 0, "copy_ready": 1, "copy_valid": 0}
    for at in run.copied[cluster]:
        cycles[at]["copy_done"] = 1
    for task in run.tasks:
        if task.cluster != cluster:
            continue
        entering = {"task_valid": 1, "task_ready": 1, "task_data": task.packet}
        cycles[task.at["TASK_OUT"]] |= entering | {"task_bytes": task.bytes}
        copy = {"copy_valid": 1, "copy_task": task.packet, "copy_slot": task.slot}
        cycles[task.at["CL_TASK"]] |= copy | {"copy_bytes": task.bytes}
        given = {"hpu_valid": 1 << task.hpu, "hpu_task": task.packet, "hpu_slot": task.slot}
        cycles[task.at["HPU_TASK"]] |= given | {"hpu_slots": task.slots}
        # An HPU is busy from the cycle behind until that of the doorbell.
        for at in range(task.at["HPU_TASK"] + 1, task.at["HPU_FBPUSH"] + 1):
            cycles[at]["hpu_idle"] &= ~(1 << task.hpu)
        freed = {"free_valid": 1, "free_slot": task.slot, "free_slots": task.slots}
        cycles[task.at["HPU_FB"]] |= freed
    return cycles
