"""Which units run in lock-step with which logs, their sizes and ports."""

import arithmetic
import core
import events
from lockstep import Block

# By unit: parameters, the ports driven and those compared, and a row's runs.
UNITS = {
    "mpq_engine": (
        {
            **{"QUEUES": 8, "SHARED_CELLS": 128, "ALIAS": 1, "LOCK": 1},
            **{"KEY_BITS": 10, "META_BITS": 10},
        },
        (
            [
                *("her_valid", "her_key", "her_end", "her_has_header", "her_has_completion"),
                *("her_packet", "her_meta", "task_ready", "done_valid", "done_queue", "done_kind"),
            ],
            [
                *("her_ready", "task_valid", "task_queue", "task_kind", "task_frees"),
                *("task_packet", "task_meta"),
            ],
        ),
        lambda run: [events.of_mpq_engine(run)],
    ),
    "dispatcher": (
        {"CLUSTERS": events.CLUSTERS, "HERS_PER_CLUSTER": events.TASKS},
        (
            [
                *("task_valid", "task_home", "task_data", "cluster_ready", "completion_valid"),
                "completion_cluster",
            ],
            ["task_ready", "cluster_valid", "cluster_task"],
        ),
        lambda run: [events.of_dispatcher(run)],
    ),
    "cluster_scheduler": (
        {
            **{"HPUS": events.HPUS, "TASKS": events.TASKS, "RINGS": events.RINGS},
            **{"RING_SLOTS": events.RING_SLOTS, "SLOT_BYTES": events.SLOT_BYTES},
        },
        (
            [
                *("task_valid", "task_data", "task_bytes", "copy_ready", "copy_done", "hpu_idle"),
                *("free_valid", "free_slot", "free_slots"),
            ],
            [
                *("task_ready", "copy_valid", "copy_task", "copy_slot", "copy_bytes", "hpu_valid"),
                *("hpu_task", "hpu_slot", "hpu_slots"),
            ],
        ),
        lambda run: [
            events.of_cluster_scheduler(run, cluster) for cluster in range(events.CLUSTERS)
        ],
    ),
}


def check_replay(name, unit, folder):
    """A unit does what the published hardware's did, in every cycle of every row."""
    parameters, ports, runs = UNITS[name]
    block = Block(name, unit, parameters, ports, folder)
    for row in events.rows():
        for number, cycles in enumerate(runs(events.Run(row))):
            block.run(f"{row}-{number}", cycles)


# By unit, how it runs beside something.
CHECKS = {
    **dict.fromkeys(UNITS, check_replay),
    "hpu_core": core.check_traces,
    "instruction_cache": core.check_cache,
    "hpu_multiply": arithmetic.check_arithmetic,
}
