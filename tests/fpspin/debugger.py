"""gdb on a NIC that host programs use: it stops, answers whoever asks meanwhile, and goes on."""

import threading

from echo import Setup, ping_all
from support import check, check_in, need, wait_for

COMMANDS = """
set pagination off
set width 0
break icmp_echo_ph
shell touch attached
continue
shell touch stopped
shell while test ! -e go-on; do sleep 0.05; done
print args->task->pkt_mem_size > 20
next
monitor packets
reverse-continue
delete
detach
"""


def test_gdb_stops_handlers_and_leaves(bench):
    need("gdb-multiarch", "ping")
    setup = Setup(bench)
    setup.program("icmp_echo", "fpspin", name="debugged")
    (bench.folder / "commands.gdb").write_text(COMMANDS)
    gdb = ["--", "-nx", "-batch", "-x", "commands.gdb"]
    debugger = bench.start([bench.pinion, "debug", "--nic", "pspin0", *gdb])
    wait_for((bench.folder / "attached").exists, "gdb on the NIC")
    lost = threading.Thread(target=bench.run, args=(["ping", "-c", 1, "-W", 1, "10.11.0.2"], None))
    lost.start()
    wait_for((bench.folder / "stopped").exists, "a handler that stops")
    lost.join()
    # Time stands; whoever asks is answered.
    check(bench.status()["packets"]["inside"] == 1, "no packet is inside")
    other = bench.run([bench.pinion, "debug", "--nic", "pspin0"], status=2)
    check_in("debugs the NIC already", other)
    check(bench.status()["packets"]["inside"] == 1, "time has gone on")
    (bench.folder / "go-on").touch()
    check(debugger.finish() == 0, debugger.output())
    said = debugger.output()
    for part in ("icmp_echo_ph (args", "= 1", "on HPU", "goes forward alone", "No more reverse"):
        check_in(part, said)
    ping_all(bench)
    wait_for(lambda: "the debugger has left" in setup.nic.output(), "that it has left")


def test_a_gdb_that_is_killed_leaves_the_nic(bench):
    need("gdb-multiarch", "ping")
    setup = Setup(bench)
    (bench.folder / "commands.gdb").write_text("shell touch attached\ncontinue\n")
    gdb = ["--", "-nx", "-batch", "-x", "commands.gdb"]
    debugger = bench.start([bench.pinion, "debug", "--nic", "pspin0", *gdb])
    wait_for((bench.folder / "attached").exists, "gdb on the NIC")
    # A program comes, and its handlers run, while a debugger is there.
    setup.program("icmp_echo", "fpspin", name="later")
    ping_all(bench)
    bench.run(["sh", "-c", f"pkill -KILL -P {debugger.process.pid}"])
    check(debugger.finish() == 2, debugger.output())
    check_in("the connection to the debugger was lost in cycle", debugger.output())
    check_in("goes on", debugger.output())
    ping_all(bench)
