"""What scripts/scale.py makes of its measurements: parts of time and memory, and a chart."""

import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/scale.py"


@pytest.fixture(scope="module")
def scale() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def measured(nodes: int, simulated: dict[int, float]) -> list[dict[str, Any]]:
    """What ranks on two processors would take that simulate for so long: beside it two seconds of one
    alone, one of each, and eight that they share; 100 MiB of each, and 800 that they share."""
    return [
        {
            "nodes": nodes,
            "threads": 1,
            "ranks": ranks,
            "simulated_us": 8.75,
            "processor_s": 80.0,
            "wall_s": 2 + max(ranks / 2, 1) + 8 / min(ranks, 2) + seconds,
            "memory_mib": ranks * (100 + 800 / ranks),
        }
        for ranks, seconds in simulated.items()
    ]


STARTS = measured(4096, {1: 0, 2: 0, 4: 0})


def test_parts_are_found_again(scale: dict[str, Any]) -> None:
    # Doubling ranks loses a twentieth.
    found = scale["on_machines"](measured(4096, {1: 100, 2: 60, 4: 63}), STARTS, 2)
    one, two, *_ = found
    most = found[-1]
    assert [row["machines"] for row in found] == [1, 2, 4, 8, 16, 32, 64]
    assert (one["ranks"], most["ranks"]) == (2, 128)
    assert (one["alone_s"], one["each_s"], one["shared_s"]) == (2, 1, 4)
    assert (one["simulated_s"], two["simulated_s"]) == (60, 31.5)
    # 200 windows, seven doublings of ranks.
    assert most["meetings_s"] == round(200 * 50e-6 * 7, 2)
    assert most["wall_s"] == pytest.approx(2 + 1 + 8 / 128 + 60 / 64 * 1.05**6 + 0.07, abs=0.011)
    assert (one["mib_of_the_largest"], most["mib_of_the_largest"]) == (500, 106)


def test_nothing_is_gained_where_doubling_ranks_seems_to_gain(scale: dict[str, Any]) -> None:
    found = scale["on_machines"](measured(4096, {1: 100, 2: 60, 4: 50}), STARTS, 2)
    assert [row["simulated_s"] for row in found[:3]] == [60, 30, 15]


def test_no_part_is_negative(scale: dict[str, Any]) -> None:
    starts = measured(4096, {1: 0, 2: 0, 4: -5})
    found = scale["on_machines"](measured(4096, {1: 100, 2: 60, 4: 63}), starts, 2)
    assert all(min(row["alone_s"], row["each_s"], row["shared_s"]) >= 0 for row in found)


def test_the_same_curves_are_the_same_bytes(scale: dict[str, Any], tmp_path: Path) -> None:
    rows = [row for nodes in (1024, 4096) for row in measured(nodes, {1: 100, 2: 60, 4: 63})]
    extrapolated = scale["on_machines"](rows[3:], STARTS, 2)
    drawn = []
    for name in ("a", "b"):
        path = tmp_path / name / "cluster-cost.svg"
        path.parent.mkdir()
        scale["chart"].draw(path, *scale["panels"](rows, extrapolated))
        drawn.append(path.read_bytes())
    assert drawn[0] == drawn[1]
    for text in (b"memory, KiB a node", b"4 ranks of a thread", b"seconds, 4,096 nodes"):
        assert text in drawn[0]
