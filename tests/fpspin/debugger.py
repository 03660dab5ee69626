"""gdb on a NIC that host programs use: it stops, answers whoever asks meanwhile, goes back, and goes on."""

import re
import threading

from echo import EXAMPLES, HOST, Setup, ping_all
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
reverse-next
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
    for part in ("icmp_echo_ph (args", "= 1", "on HPU", "icmp_echo_ph (args", "No more reverse"):
        check_in(part, said)
    ping_all(bench)
    wait_for(lambda: "the debugger has left" in setup.nic.output(), "that it has left")


# Stops where the host program's answer has come, by its flag and by a copy from host memory; then goes back.
BACK = """
set pagination off
set width 0
break {line}
shell touch attached
continue
echo \\nfirst:\\n
x/40xb args->task->pkt_mem
info registers
continue
echo \\nsecond:\\n
x/40xb args->task->pkt_mem
info registers
continue
echo \\nthird:\\n
x/40xb args->task->pkt_mem
monitor host 0 16
shell touch stopped
shell while test ! -e go-on; do sleep 0.05; done
reverse-continue
echo \\nsecond:\\n
x/40xb args->task->pkt_mem
info registers
reverse-continue
echo \\nfirst:\\n
x/40xb args->task->pkt_mem
info registers
monitor why
reverse-continue
echo \\nbegin:\\n
continue
echo \\nfirst:\\n
x/40xb args->task->pkt_mem
info registers
continue
continue
echo \\nthird:\\n
x/40xb args->task->pkt_mem
monitor host 0 16
delete
detach
"""


def test_gdb_goes_back_though_host_programs_answer(bench):
    need("gdb-multiarch", "ping")
    setup = Setup(bench)
    # So that variables are there.
    build = ("--build-type", "debug")
    program = setup.program("icmp_echo", "host+fpspin", name="answers", build=build)
    source = (EXAMPLES / "icmp_echo/host_fpspin/icmp_echo_host.c").read_text().splitlines()
    line = 1 + next(at for at, text in enumerate(source) if "spin_send_packet(" in text)
    (bench.folder / "commands.gdb").write_text(BACK.replace("{line}", f"icmp_echo_host.c:{line}"))
    gdb = ["--", "-nx", "-batch", "-x", "commands.gdb"]
    debugger = bench.start([bench.pinion, "debug", "--nic", "pspin0", *gdb])
    wait_for((bench.folder / "attached").exists, "gdb on the NIC")
    ping = ["ping", "-c", 3, "-i", "0.2", "-W", 1, "-p", "5a", HOST]
    lost = threading.Thread(target=bench.run, args=(ping, None))
    lost.start()
    wait_for((bench.folder / "stopped").exists, "three answers")
    lost.join()
    # What others see of the NIC does not go back with the debugger.
    check(bench.status()["packets"]["matched"] == 3, "not all are there")
    (bench.folder / "go-on").touch()
    check(debugger.finish() == 0, debugger.output())
    said = debugger.output()
    parts = re.split(r"^(first|second|third|begin):$", said, flags=re.MULTILINE)[1:]
    order = parts[::2]
    wanted = "first second third second first begin first third".split()
    check(order == wanted, f"{order}: {said}")
    seen = {}
    for name, text in zip(order, parts[1::2]):
        bytes_there = re.findall(r"0x[0-9a-f]{2}\b", text)[:40]
        answers = re.findall(r"^(?:ra|sp|a\d|s\d+|t\d|pc) .*$", text, re.MULTILINE)
        if name != "begin":
            check(len(bytes_there) == 40, f"{name}: {text}")
            before = seen.setdefault(name, (bytes_there, answers))
            check(before == (bytes_there, answers), f"{name} was {before}, is {text}")
    check(seen["first"] != seen["second"], "the packets are not alike")
    check_in("No more reverse-execution history", said)
    check_in("runs until it sends", said)
    ping_all(bench)
    check(program.stop() == 0, program.output())


def test_a_program_that_comes_is_where_the_way_back_begins(bench):
    need("gdb-multiarch", "ping")
    setup = Setup(bench)
    (bench.folder / "commands.gdb").write_text(
        "set pagination off\nmonitor break context 0\nshell touch attached\ncontinue\n"
        "shell touch stopped\nreverse-continue\nmonitor why packet 0\ncontinue\ninfo threads\n"
        "monitor why packet 0\ndetach\n"
    )
    gdb = ["--", "-nx", "-batch", "-x", "commands.gdb"]
    debugger = bench.start([bench.pinion, "debug", "--nic", "pspin0", *gdb])
    wait_for((bench.folder / "attached").exists, "gdb on the NIC")
    program = setup.program("icmp_echo", "fpspin", name="comes")
    lost = threading.Thread(target=bench.run, args=(["ping", "-c", 1, "-W", 1, HOST], None))
    lost.start()
    wait_for((bench.folder / "stopped").exists, "a handler that stops")
    lost.join()
    check(debugger.finish() == 0, debugger.output())
    said = debugger.output()
    check_in("No more reverse-execution history", said)
    check_in("packet 0 of context", said)
    check_in("icmp_echo_ph runs", said)
    ping_all(bench)
    check(program.stop() == 0, program.output())


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
