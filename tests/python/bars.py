"""What a notebook waits for: `import pinion`, and a cell that compiles a handler, runs 100,000 packets and draws.

    PYTHON tests/python/bars.py

PYTHON is an interpreter with the package, of an optimised build (`make dist`). Times are those of processors, of
this process and of the compiler, and by the clock. Exit status 0 unless processors took more than the bars.
"""

from __future__ import annotations

import os
import resource
import sys
import time

IMPORT_SECONDS, CELL_SECONDS = 0.150, 2.0
PACKETS = 100_000
# No text that was compiled before: the number is another each time.
SOURCE = """
#include <handler.h>
#include <packets.h>
#include <spin_dma.h>
__handler__ void back_ph(handler_args_t *args)
{
    static const int nonce = NONCE;
    spin_cmd_t sent;
    ((volatile char *)args->task->pkt_mem)[14] = nonce & 1;
    spin_send_packet(args->task->pkt_mem, args->task->pkt_mem_size, &sent);
}
"""


def used() -> tuple[float, float, float]:
    """Gives the seconds of processors, here and by processes that are over, and those by the clock."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime, time.monotonic()


def since(before: tuple[float, float, float]) -> tuple[float, float, float]:
    own, others, clock = (after - then for after, then in zip(used(), before, strict=True))
    return own, others, clock


def main() -> int:
    began = used()
    import pinion

    own, others, clock = since(began)
    imported = own + others
    print(f"import pinion: {imported:.3f} s of a processor, {clock:.3f} s by the clock")
    began = used()
    source = SOURCE.replace("NONCE", str(int.from_bytes(os.urandom(3), "little")))
    app = pinion.App.from_source(source, payload="back_ph", name="bar")
    result = pinion.run(app, pinion.Generator("udp", size=64, count=PACKETS))
    shown = result._repr_html_()
    own, others, clock = since(began)
    assert result.ok and len(result.frames) == len(result.packets) == PACKETS and "<svg" in shown
    print(f"the cell: {own + others:.2f} s of processors, the compiler's {others:.2f}; {clock:.2f} s by the clock")
    return 0 if imported <= IMPORT_SECONDS and own + others <= CELL_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
