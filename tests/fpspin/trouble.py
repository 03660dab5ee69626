"""What goes wrong between NIC and host programs: each a clear error, the others unharmed."""

import os
import signal
import socket
import struct
import subprocess
import time

from programs import ASK, NIC, ROGUE, ask, attend, connect, counter, echo, join
from support import Skip, check, check_in, need, wait_for


def test_a_handler_outside_its_window_is_ended_and_others_go_on(bench):
    nic = bench.nic()
    program = attend(bench)
    rogue = bench.handlers("rogue", ROGUE, "--slot", 0)
    good = bench.handlers("good", echo("g"), "--slot", 1)
    first = join(bench, program, rogue, 0, "9000")
    join(bench, program, good, 1, "9001")
    ask(9000, b"w", tries=1)
    wait_for(lambda: "0x600d" in first.say("window", "window "), "the write")
    ask(9000, b"x", tries=3, timeout=0.1)
    ended = wait_for(lambda: bench.status()["contexts"][0]["handlers_ended"], "the end")
    check(ended >= 1, f"handlers ended {ended}")
    check_in("a handler was ended", nic.output())
    check_in("rogue_ph", nic.output())
    check(any("a handler was ended" in line["text"] for line in bench.log()), "the log")
    check(ask(9001, b"..g") == b"g.g", "the other context")
    check(bench.status()["contexts"][1]["handlers_ended"] == 0, "the other's handlers")
    check(ask(9000, b"w", tries=1) is None and first.is_running(), "the program")


def test_a_program_killed_in_the_middle_of_a_request(bench):
    bench.nic()
    program = attend(bench)
    asking = bench.handlers("ask", echo("q", ASK), "--slot", 0)
    other = bench.handlers("other", echo("o"), "--slot", 1)
    first = join(bench, program, asking, 0, "9000")
    join(bench, program, other, 1, "9001")
    first.say("silent", "done")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        for _ in range(8):
            door.sendto(b"never answered", (NIC, 9000))
    wait_for(lambda: bench.status()["contexts"][0]["packets_inside"] >= 4, "requests")
    check(ask(9001, b"..1") == b"o.1", "the other context while HPUs wait")
    first.signal(signal.SIGKILL)
    wait_for(lambda: not bench.status()["contexts"][0]["held"], "the release")
    wait_for(lambda: bench.status()["packets"]["inside"] == 0, "an empty NIC")
    check(ask(9001, b"..2") == b"o.2", "the other context")
    join(bench, program, asking, 0, "9000")
    check(ask(9000, b"..3") == b"q.3", "the context anew")


def test_without_a_watchdog_the_end_of_a_program_ends_its_handlers(bench):
    nic = bench.nic("--faithful")
    elf = bench.handlers("ask", echo("f", ASK))
    program = attend(bench)
    first = join(bench, program, elf)
    check(ask(9000, b"..1") == b"f.1", "an answer")
    first.say("silent", "done")
    ask(9000, tries=3, timeout=0.1)
    time.sleep(0.5)
    check(bench.status()["contexts"][0]["packets_inside"] == 3, "requests wait")
    first.signal(signal.SIGKILL)
    wait_for(lambda: bench.status()["packets"]["inside"] == 0, "an empty NIC")
    join(bench, program, elf)
    check(ask(9000, b"..2") == b"f.2" and nic.is_running(), "the context anew")


def refused(bench, program, *arguments, status=1):
    return bench.run([program, "/dev/pspin0", *arguments], status=status, seconds=20)


def test_bad_requests_are_refused_and_others_unharmed(bench):
    bench.nic()
    program = attend(bench)
    elf = bench.handlers("good", echo("k"))
    join(bench, program, elf, 0, "9000")
    check(ask(9000, b"..1") == b"k.1", "an answer")
    pid = bench.status()["contexts"][0]["pid"]
    check_in(f"context 0 is busy: process {pid} (attend", refused(bench, program, elf, 0, "all"))
    check_in("there is no context 4: the NIC has 4", refused(bench, program, elf, 4, "all"))
    check_in("there is no context -1", refused(bench, program, elf, -1, "all"))
    check_in("15 pages of host memory are too few", refused(bench, program, elf, 1, "all", 15))
    check_in("0 pages of host memory are too few", refused(bench, program, elf, 1, "all", 0))
    check_in("-3 pages", refused(bench, program, elf, 1, "all", -3))
    too_many = refused(bench, program, elf, 2, "all", 16, 3)
    check_in("3 rulesets from context 2 on are too many", too_many)
    check_in("5 rulesets; there can be 0 to 4", refused(bench, program, elf, 1, "all", 16, 5))
    # Images.
    check_in("No such file", refused(bench, program, "no.elf", 1, "all"))
    text = bench.folder / "text.elf"
    text.write_text("this is no ELF\n")
    check_in("image", refused(bench, program, text, 1, "all"))
    check_in("ELF", refused(bench, program, text, 1, "all"))
    check_in("image", refused(bench, program, program, 1, "all"))
    overlapping = bench.handlers("overlapping", echo("x"))
    said = refused(bench, program, overlapping, 1, "all")
    check_in(f"overlap the image {elf} of process {pid}", said)
    check_in("--slot", said)
    other = bench.folder / "pspin.elf"
    manifest = bench.folder / "overlapping"
    bench.run([bench.pinion, "build", manifest, "--machine", "pspin", "--out", other])
    check_in("32 HPUs", refused(bench, program, other, 1, "all"))
    none = bench.folder / "none.elf"
    flags = "-march=rv32imac -mabi=ilp32 -nostdlib -Wl,-Ttext=0x1d002080 -x c".split()
    need("riscv64-unknown-elf-gcc")
    compiling = ["riscv64-unknown-elf-gcc", *flags, "-", "-o", none]
    subprocess.run(
        [str(part) for part in compiling], input=b"void _start(void) { for (;;) {} }", check=True
    )
    check_in("it has no handlers", refused(bench, program, none, 1, "all"))
    check(ask(9000, b"..2") == b"k.2", "the program that holds context 0")
    held = [context["held"] for context in bench.status()["contexts"]]
    check(held == [True, False, False, False], f"held {held}")


def test_garbage_and_other_versions_are_refused(bench):
    bench.nic()
    elf = bench.handlers("good", echo("k"))
    join(bench, attend(bench), elf, 0, "9000")

    def header(version, kind):
        return struct.pack("<IHHII", 0x4E495046, version, kind, 1, 0)

    for message, said in [
        (b"garbage", b"this is no message"),
        (b"\0" * 60000, b"this is no message"),
        (b"x" * 70000, b"this is no message"),
        (header(2, 1), b"this program speaks version 2"),
        (header(1, 99), b"kind 99"),
        (header(1, 2), b"this is no message"),
        (header(1, 2) + b"\xff" * 500, b"this is no message"),
        (header(1, 5) + b"\xff" * 7, b"this is no message"),
        (header(1, 6) + struct.pack("<II", 0x1C000000, 1 << 20), b"this is no message"),
    ]:
        with connect(bench) as door:
            door.send(message)
            answer = door.recv(65536)
            check(said in answer, f"{message[:20]}: {answer}")
            check(door.recv(100) == b"", "the connection goes on")
    for message, said in [
        (header(1, 4), b"holds no context"),
        (header(1, 6) + struct.pack("<II", 0x1C000000, 4), b"holds no context"),
        (header(1, 7) + struct.pack("<II", 0x1C000000, 4) + b"abcd", b"holds no context"),
    ]:
        with connect(bench) as door:
            door.send(message)
            check(said in door.recv(65536), f"{message}")
    with connect(bench) as door:  # files that nobody asked for
        ends = [os.open("/dev/null", os.O_RDONLY) for _ in range(50)]
        socket.send_fds(door, [header(1, 9)], ends)
        check(b"contexts" in door.recv(65536), "status")
        for end in ends:
            os.close(end)
    # Readers that do not read, and many connections.
    idle = [connect(bench) for _ in range(100)]
    for door in idle:
        door.send(header(1, 10) + struct.pack("<II", 1, 0))
    check(ask(9000, b"..1") == b"k.1", "the program")
    for door in idle:
        door.close()
    check(bench.status()["refused"] >= 9, "refusals are not counted")


def test_the_library_knows_what_is_no_nic_of_its_version(bench):
    program = attend(bench)
    (bench.folder / "nic").mkdir()
    path = str(bench.folder / "nic/pspin0.sock")
    for version, magic, said in [
        (9, 0x4E495046, "this program speaks version 1, NIC /dev/pspin0 version 9"),
        (1, 0x12345678, "is no Pinion NIC"),
        (1, 0x4E495046, "answered something else"),
    ]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
            door.bind(path)
            door.listen()
            running = bench.start([program, "/dev/pspin0", "x.elf", 0, "all"])
            peer, _ = door.accept()
            with peer:
                peer.recv(1000)
                peer.send(struct.pack("<IHHII", magic, version, 1, 1, 0) + b"short")
                check(running.finish() == 1, "status")
            check_in(said, running.output())
        os.unlink(path)


def test_two_nics_on_one_name_and_a_dead_ones_socket(bench):
    nic = bench.nic()
    command = [bench.pinion, "nic", "--tap", "pin1", "--device", "pspin0"]
    text = bench.run(command, status=2)
    check_in(f"there is a NIC pspin0 already: process {nic.process.pid}", text)
    other = bench.nic(tap="pin1", address="10.12.0.1/24", device="pspin1")
    check(bench.status("--device", "pspin1")["wire"] == "pin1", "the second NIC")
    other.stop()
    mode = (bench.folder / "nic").stat().st_mode & 0o777
    check(mode == 0o700, f"mode {mode:o}")
    nic.signal(signal.SIGKILL)
    nic.finish()
    check((bench.folder / "nic/pspin0.sock").exists(), "no socket left")
    text = bench.run([bench.pinion, "nic", "status"], status=2)
    check_in("there is no NIC pspin0", text)
    bench.nic()
    check(bench.status()["machine"] == "fpspin", "the new one")
    (bench.folder / "nic").chmod(0o777)
    text = bench.run(command, status=2)
    check_in("nobody else can write", text)


def test_the_end_of_the_nic_is_told(bench):
    nic = bench.nic()
    elf = bench.handlers("echo", echo("z"))
    program = join(bench, attend(bench), elf)
    nic.stop()
    program.wait_for("has ended")
    program.say("counter 1")
    program.say("unload", "failed")
    program.say("exit")
    program.finish()


def test_another_user_is_refused_unless_allowed(bench):
    need("setpriv")
    probe = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "true"]
    if subprocess.run(probe, capture_output=True).returncode:
        raise Skip("no second user in this namespace")
    other = probe[:-1]
    bench.folder.chmod(0o755)
    elf = bench.handlers("echo", echo("u"))
    program = attend(bench)
    nic = bench.nic()
    text = bench.run([*other, program, "/dev/pspin0", elf, 0, "9000"], status=1)
    check_in("you may not use", text)
    nic.stop()
    nic = bench.nic("--allow-group", "64999")
    text = bench.run([*other, program, "/dev/pspin0", elf, 0, "9000"], status=1)
    check_in("user 65534 may not use NIC pspin0", text)
    check_in("was refused", nic.output())
    nic.stop()
    bench.nic("--allow-user", "65534")
    allowed = bench.start([*other, program, "/dev/pspin0", elf, 0, "9000"])
    allowed.wait_for("attached")
    check(ask(9000, b"..1") == b"u.1", "an answer")
    check(bench.status()["contexts"][0]["uid"] == 65534, "the user")
