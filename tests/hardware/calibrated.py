#!/usr/bin/env python3
"""Runs units in SystemVerilog beside the model (`pinion run --hardware … --compare`) on the calibration's rows: their programs
on their packets, with all clusters and HPUs of the published hardware.

    python3 tests/hardware/calibrated.py [--pinion FILE] [--units UNIT,…] [NAME]...

Exit status 0 when they are the same in every cycle.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
sys.path.insert(0, str(FOLDER))
from common import REPOSITORY, Difference, Skip, check  # noqa: E402
from nic import HANDLER_FAILED, QUEUES  # noqa: E402
import rows  # noqa: E402
from tools import need  # noqa: E402

UNITS = (
    "mpq_engine,dispatcher,cluster_scheduler,command_unit,hpu_driver,outbound,core_accesses,"
    "cluster_dma,tcdm_interconnect"
)
CLUSTERS = 4
# The published hardware, whose programs these are: its protection, and nothing that the model adds.
SETTINGS = (
    f"mpq.count={QUEUES}",
    "protection.pmp=rtl",
    "protection.check_commands=false",
    "protection.watchdog=false",
    "pcie.iommu=false",
    "pcie.latency_ps=0",
    "pcie.rate_mbit_s=0",
)
SAME = "ran as hardware beside the model, the same in every cycle"


def run_row(pinion, units, folder, group, row):
    """Runs a row; gives its packets."""
    app = folder / row["row"]
    app.mkdir()
    elf = rows.write(group, row, app)
    settings = [option for setting in SETTINGS for option in ("--set", setting)]
    done = subprocess.run(
        [
            *(pinion, "run", app, "--elf", elf, "--pcap-in", app / rows.CAPTURE, "--pace", "recorded", *settings),
            *("--hardware", units, "--compare", "--waves", folder),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    well = done.returncode in (0, HANDLER_FAILED) and SAME in done.stdout
    check(well, f"{row['row']}: status {done.returncode}:\n{done.stdout[-1500:]}{done.stderr[-3000:]}")
    return len(rows.scenario(group, row))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", type=Path, default=REPOSITORY / "target/debug/pinion", metavar="FILE")
    parser.add_argument("--units", default=UNITS, metavar="UNIT,…")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    ran = packets = failed = 0
    try:
        need("verilator")
    except Skip as reason:
        print(f"skip {reason}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for group, row in rows.names(QUEUES, CLUSTERS):
            if arguments.names and row["row"] not in arguments.names:
                continue
            try:
                packets += run_row(arguments.pinion, arguments.units, Path(folder), group, row)
                ran += 1
            except Difference as problem:
                print(f"FAIL {problem}", flush=True)
                failed += 1
    print(f"{arguments.units}: the same in every cycle of {ran} rows with {packets} packets")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
