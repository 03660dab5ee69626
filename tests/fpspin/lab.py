"""`pinion lab`: two namespaces around a NIC, made and removed, also after a crash, by name and held
by a process; nothing of the caller's is touched."""

import os
import shutil
import textwrap

from support import REPOSITORY, Skip, check, check_in, need

TAPS = {"client": "pin0", "host": "pinh0"}


def lab(bench, *arguments, **options):
    return bench.run([bench.pinion, "lab", *arguments], **options)


def set_up(bench):
    """Keeps the lab's records in the bench's folder."""
    need("ip", "unshare")
    bench.environment["PINION_LAB_DIR"] = str(bench.folder / "lab")


def own_links(bench):
    """The interfaces of the test's own namespace, with their addresses."""
    return bench.run(["ip", "-oneline", "address"]) + bench.run(["ip", "-oneline", "link"])


def holders():
    """Processes that hold a lab's namespace."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[1:3] == [b"lab", b"hold"]:
            found.append(int(pid))
    return found


def holders_of(bench):
    """Those of the bench's lab: others may have labs too."""
    mine = str(bench.folder).encode()
    found = []
    for pid in holders():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if mine in file.read():
                    found.append(pid)
        except OSError:
            pass
    return found


def records(bench):
    """What is recorded as made."""
    folder = bench.folder / "lab"
    return sorted(path.name for path in folder.iterdir() if path.suffix == ".json")


def test_a_lab_goes_up_and_down(bench):
    """Where nothing may be mounted: processes hold the namespaces."""
    set_up(bench)
    before = own_links(bench)
    check_in("not up", lab(bench, "status"))
    text = lab(bench, "up")
    check_in("is up", text)
    check_in("--tap pin0@", text)
    check_in("was up already", lab(bench, "up"))
    check_in("pinion: up", lab(bench, "status"))
    ends = (("client", "10.11.0.1", "10.11.0.2"), ("host", "10.11.0.2", "10.11.0.1"))
    for end, address, other in ends:
        run = ("run", end, "--")
        check_in(f"{address}/24", lab(bench, *run, "ip", "address", "show", "dev", TAPS[end]))
        check_in("PERMANENT", lab(bench, *run, "ip", "neighbour", "show", other))
        links = lab(bench, *run, "ip", "-oneline", "link")
        check(len(links.splitlines()) == 2, f"only lo and the TAP device: {links}")
    check(own_links(bench) == before, "the caller's interfaces have changed")
    check(len(holders_of(bench)) in (0, 2), f"{holders_of(bench)} hold two namespaces")
    check_in("removed pinion-host", lab(bench, "down"))
    check_in("there is no lab", lab(bench, "down"))
    check_in("not up", lab(bench, "status"))
    check(own_links(bench) == before, "the caller's interfaces have changed")
    check(not holders_of(bench) and not records(bench), "something is left")
    check_in("the lab `pinion` is not up", lab(bench, "run", "host", "--", "true", status=2))


def in_own_mounts(bench, script):
    """Runs a shell script where namespaces can be mounted by name."""
    whole = (
        "set -e\nmount -t tmpfs none /run\nmkdir -p /run/netns\n"
        'P="$0"\nfail() { echo "FAILED: $*"; exit 9; }\n' + textwrap.dedent(script)
    )
    probe = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /run && ip netns add a"]
    text = bench.run(probe, status=None)
    if text.strip():
        raise Skip(f"no namespaces by name here: {text.strip().splitlines()[-1]}")
    return bench.run(["unshare", "--mount", "sh", "-c", whole, bench.pinion])


def test_named_namespaces(bench):
    """As root has them: `ip netns` knows them."""
    set_up(bench)
    text = in_own_mounts(
        bench,
        """
        $P lab up
        ip netns list
        ip netns exec pinion-client ip -o -4 address show dev pin0
        $P lab --name pinion-two up
        $P lab down
        test -e /run/netns/pinion-host && fail left
        test -e /run/netns/pinion-two-host || fail removed the other lab
        $P lab --name pinion-two down
        test -z "$(ls /run/netns)" || fail left: $(ls /run/netns)
        """,
    )
    for part in ("--tap pin0@pinion-client --host-tap pinh0@pinion-host", "10.11.0.1/24"):
        check_in(part, text)
    check(not records(bench) and not holders_of(bench), "something is left")


def test_foreign_names_are_left_alone(bench):
    """A namespace that somebody else made is refused, and survives `down`."""
    set_up(bench)
    text = in_own_mounts(
        bench,
        """
        ip netns add pinion-host
        $P lab up && fail took a foreign namespace
        test "$(ls /run/netns)" = pinion-host || fail left: $(ls /run/netns)
        $P lab down
        test -e /run/netns/pinion-host || fail removed a foreign namespace
        ip netns delete pinion-host
        $P lab up >/dev/null
        ip netns delete pinion-host
        ip netns add pinion-host
        ip netns exec pinion-host ip link add mine type dummy 2>/dev/null || true
        $P lab down
        test "$(ls /run/netns)" = pinion-host || fail left: $(ls /run/netns)
        """,
    )
    check_in("exists and is not this lab's", text)
    check_in("another namespace has this name now, left alone", text)
    check_in("there is no lab", text)


def test_names_without_the_prefix_are_refused(bench):
    set_up(bench)
    for name in ("lab", "pinion/../x", "pinion-"):
        check_in("is no name for a lab", lab(bench, "--name", name, "up", status=2))


# Ends whoever called it when it is called for the Nth time, before or after its work.
DEADLY_IP = """#!/bin/sh
echo x >>"$IP_CALLS"
calls=$(wc -l <"$IP_CALLS")
[ "$calls" = "$IP_DEADLY" ] && [ "$IP_WHEN" = before ] && kill -9 $PPID && exit 1
"$IP_REAL" "$@"
status=$?
[ "$calls" = "$IP_DEADLY" ] && [ "$IP_WHEN" = after ] && kill -9 $PPID
exit $status
"""


def deadly_ip(bench):
    """Puts an `ip` before the real one; gives the environment it needs."""
    folder = bench.folder / "bin"
    folder.mkdir()
    (folder / "ip").write_text(DEADLY_IP)
    (folder / "ip").chmod(0o755)
    return {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "IP_REAL": shutil.which("ip"),
        "IP_CALLS": str(bench.folder / "calls"),
    }


def test_a_killed_up_is_cleaned_up(bench):
    """`up` dies at each of its steps; `down` removes what it had made, and `up` works again."""
    set_up(bench)
    environment, before = deadly_ip(bench), own_links(bench)
    calls, died = bench.folder / "calls", 0
    for number in range(1, 8):
        for when in ("before", "after"):
            calls.unlink(missing_ok=True)
            deadly = {**environment, "IP_DEADLY": str(number), "IP_WHEN": when}
            text = lab(bench, "up", status=None, **deadly)
            died += "is up" not in text
            lab(bench, "down")
            check(not records(bench), f"step {number} {when}: {records(bench)} is left")
            check(not holders_of(bench), f"step {number} {when}: {holders_of(bench)} are left")
    check(died >= 10, f"`up` was to die at least 10 times, it died {died} times")
    lab(bench, "up")
    lab(bench, "down")
    check(own_links(bench) == before, "the caller's interfaces have changed")


def test_a_killed_up_leaves_no_names(bench):
    """The same with named namespaces."""
    set_up(bench)
    environment = deadly_ip(bench)
    bench.environment.update({k: v for k, v in environment.items() if k != "PATH"})
    in_own_mounts(
        bench,
        f"""
        for step in 1 2 3 4 5 6 7; do for when in before after; do
            rm -f "$IP_CALLS"
            export IP_DEADLY=$step IP_WHEN=$when
            PATH={environment["PATH"]} $P lab up >/dev/null 2>&1 || true
            $P lab down >/dev/null
            test -z "$(ls /run/netns)" || fail step $step $when: $(ls /run/netns)
        done; done
        $P lab up >/dev/null
        $P lab down >/dev/null
        test -z "$(ls /run/netns)" || fail left: $(ls /run/netns)
        """,
    )
    check(not records(bench), f"{records(bench)} is left")


def taps(bench):
    """The devices as a NIC outside has to name them."""
    words = lab(bench, "up").split()
    return words[words.index("--tap") + 1], words[words.index("--host-tap") + 1]


def test_a_nic_between_the_namespaces(bench):
    """Pings are the NIC's, datagrams pass to the host behind it."""
    need("ping", "cc")
    set_up(bench)
    client, host = taps(bench)
    # A copy: `up` builds in the folder, where other tests may build, too.
    app = bench.folder / "icmp_echo"
    without = shutil.ignore_patterns("build")
    shutil.copytree(REPOSITORY / "examples/icmp_echo", app, ignore=without)
    try:
        nic = bench.start(
            [bench.pinion, "up", app, "--machine", "fpspin", "--tap", client, "--host-tap", host]
        )
        nic.wait_for("Ctrl-C ends")
        check_in("NIC attached", lab(bench, "status"))
        ping = lab(bench, "run", "client", "--", "ping", "-c", "5", "-i", "0.02", "10.11.0.2")
        check_in(" 0% packet loss", ping)
        server = bench.start(
            [bench.pinion, "lab", "run", "host", "--", "python3", "-c", ECHO_SERVER]
        )
        server.wait_for("ready")
        udp_ping = bench.folder / "udp_ping"
        source = REPOSITORY / "examples/udp_echo/client/udp_ping.c"
        bench.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", udp_ping, source])
        options = ("10.11.0.2", "--count", "5", "--to", "116")
        table = lab(bench, "run", "client", "--", udp_ping, *options)
        check_in("\n116,5,0,", table)
        nic.stop()
        check_in("matched                5", nic.output())
    finally:
        lab(bench, "down", status=None)


ECHO_SERVER = """
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("10.11.0.2", 9500))
server.settimeout(30)
print("ready", flush=True)
while True:
    data, sender = server.recvfrom(65536)
    server.sendto(data, sender)
"""
