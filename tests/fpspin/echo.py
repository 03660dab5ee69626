"""The ping-pongs in their three modes, on a running NIC: the real ping and a UDP client on the
wire, a host's network stack behind the NIC, host programs beside it."""

import csv
import io
import signal

from support import REPOSITORY, check, check_in, need, wait_for

EXAMPLES = REPOSITORY / "examples"
HOST = "10.11.0.2"
SIZES = (16, 57, 716, 1416)
PINGS = 10
DATAGRAMS = 10


class Setup:
    """A NIC with the client here and a host's stack in a namespace behind it."""

    def __init__(self, bench, *options):
        need("ping", "cc")
        self.bench = bench
        self.host = bench.namespace()
        self.host.run(["ip", "tuntap", "add", "dev", "pinh0", "mode", "tap"])
        self.host.run(["ip", "address", "add", f"{HOST}/24", "dev", "pinh0"])
        self.host.run(["ip", "link", "set", "pinh0", "up"])
        where = f"/proc/{self.host.holder.process.pid}/ns/net"
        self.nic = bench.nic("--host-tap", f"pinh0@{where}", *options)

    def program(self, example, mode, *options, name, slot=None, build=()):
        """Starts a host program with its image; in the host's namespace, as its sockets are."""
        source = EXAMPLES / example / f"host/{example}.c"
        program = self.bench.host_program(source, "-Wextra", "-Werror", name=f"{example}_{name}")
        app = EXAMPLES / example
        if mode == "host+fpspin":
            app = app / "host_fpspin"
        elif example == "icmp_echo":
            app = app / "fpspin"
        slots = [] if slot is None else ["--slot", str(slot)]
        image = self.bench.build(app, *slots, *build, name=f"image_{name}")
        command = [program, "--mode", mode, "--image", image, "--device", "/dev/pspin0", *options]
        started = self.host.start(command)
        started.wait_for("ready")
        return started

    def matched(self):
        """Packets that the NIC's contexts have got so far."""
        return packets_matched(self.bench.status())


def packets_matched(status):
    """Finds the number in what `pinion nic status` says."""
    return status["packets"]["matched"]


def ping_all(bench):
    """Pings with every size; all must come back."""
    for size in SIZES:
        text = bench.run(["ping", "-c", PINGS, "-i", "0.01", "-W", "2", "-s", size, HOST])
        check_in(f"{PINGS} received, 0% packet loss", text)
    return PINGS * len(SIZES)


def udp_all(bench):
    """Sends datagrams of every size; all must come back."""
    program = bench.folder / "udp_ping"
    source = EXAMPLES / "udp_echo/client/udp_ping.c"
    bench.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source])
    text = bench.run([program, HOST, "--count", DATAGRAMS, "--step", "700"])
    rows = list(csv.DictReader(io.StringIO(text)))
    check([row["payload_bytes"] for row in rows] == ["16", "716", "1416"], text)
    for row in rows:
        check((row["samples"], row["lost"]) == (str(DATAGRAMS), "0"), text)
        spread = [float(row[f"rtt_us_{name}"]) for name in ("p10", "median", "p90")]
        check(0 < spread[0] <= spread[1] <= spread[2], text)
    return DATAGRAMS * len(rows)


def test_icmp_host(bench):
    """The matching engine matches nothing; the kernel behind the NIC answers."""
    setup = Setup(bench)
    program = setup.program("icmp_echo", "host", name="host")
    ping_all(bench)
    check(setup.matched() == 0, f"{setup.matched()} packets matched")
    check(program.stop() == 0, program.output())


def test_icmp_fpspin(bench):
    """The handler answers; without the program, the kernel does again."""
    setup = Setup(bench)
    program = setup.program("icmp_echo", "fpspin", name="fpspin")
    count = ping_all(bench)
    check(setup.matched() == count, f"{setup.matched()} of {count} pings matched")
    program.signal(signal.SIGTERM)
    check(program.finish() == 0, program.output())
    ping_all(bench)
    check(setup.matched() == count, "pings match though the context is free")


def test_icmp_host_fpspin(bench):
    """The handler passes each ping on, the host program answers it, and ends by its count."""
    setup = Setup(bench)
    count = PINGS * len(SIZES)
    options = ("--count", str(count))
    program = setup.program("icmp_echo", "host+fpspin", *options, name="both")
    ping_all(bench)
    check(program.finish() == 0, program.output())
    check_in(f"{count} requests answered", program.output())


def test_udp_host(bench):
    """The host program answers through a socket behind the NIC."""
    setup = Setup(bench)
    program = setup.program("udp_echo", "host", name="host")
    count = udp_all(bench)
    check(setup.matched() == 0, f"{setup.matched()} packets matched")
    check(program.stop() == 0, program.output())
    check_in(f"{count} requests answered", program.output())


def test_udp_fpspin(bench):
    """The handler answers; other ports and pings are the kernel's."""
    setup = Setup(bench)
    program = setup.program("udp_echo", "fpspin", name="fpspin")
    count = udp_all(bench)
    check(setup.matched() == count, f"{setup.matched()} of {count} datagrams matched")
    ping_all(bench)
    check(setup.matched() == count, "pings matched a rule for datagrams")
    check(program.stop() == 0, program.output())


def test_udp_host_fpspin(bench):
    """The handler passes each datagram on, the host program turns it round."""
    setup = Setup(bench)
    program = setup.program("udp_echo", "host+fpspin", name="both")
    count = udp_all(bench)
    check(program.stop() == 0, program.output())
    check_in(f"{count} requests answered", program.output())


def test_both_at_once(bench):
    """Two programs, two contexts, at the same time."""
    setup = Setup(bench)
    icmp = setup.program("icmp_echo", "host+fpspin", name="icmp", slot=0)
    options = ("--context", "1")
    udp = setup.program("udp_echo", "host+fpspin", *options, name="udp", slot=1)
    pings, datagrams = ping_all(bench), udp_all(bench)
    for program, count in ((icmp, pings), (udp, datagrams)):
        check(program.stop() == 0, program.output())
        check_in(f"{count} requests answered", program.output())


def test_a_dead_host_program_frees_its_context(bench):
    """A program that is killed gives its context back; the next one gets it."""
    setup = Setup(bench)
    first = setup.program("icmp_echo", "host+fpspin", name="first")
    ping_all(bench)
    first.signal(signal.SIGKILL)
    first.finish()

    def kernel_answers():
        text = bench.run(["ping", "-c", "1", "-W", "1", HOST], status=None)
        return "1 received" in text

    wait_for(kernel_answers, "the kernel's answer")
    second = setup.program("icmp_echo", "host+fpspin", name="second")
    count = ping_all(bench)
    check(second.stop() == 0, second.output())
    check_in(f"{count} requests answered", second.output())


def test_options_that_do_not_apply_are_refused(bench):
    """Each with a line that says which."""
    unseen = (("icmp_echo", "host"), ("icmp_echo", "fpspin"), ("udp_echo", "fpspin"))
    for example, mode in unseen:
        source = EXAMPLES / example / f"host/{example}.c"
        program = bench.host_program(source, name=example)
        options = ["--mode", mode, "--image", "none.elf", "--count", "3"]
        check_in("--count: in this mode", bench.run([program, *options], status=2))
        strange = ["--mode", "nic", "--image", "none.elf"]
        check_in("there is no mode", bench.run([program, *strange], status=2))
        check_in("usage:", bench.run([program, "--image", "none.elf"], status=2))
