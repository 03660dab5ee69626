"""The NIC as a process: programs come, share it, do wrong and die; the NIC lives on."""

import os
import re
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

from support import REPOSITORY, Skip, check, check_in, need, wait_for

HERE = Path(__file__).resolve().parent
KERNEL, NIC = "10.11.0.1", "10.11.0.2"

# Answers UDP datagrams on the NIC; counts them, prints the first bytes.
ECHO = r"""
#include <handler.h>
#include <packets.h>
#include <stdio.h>

__handler__ void echo_ph(handler_args_t *args)
{
    pkt_hdr_t *hdrs = (pkt_hdr_t *)args->task->pkt_mem;
    uint8_t *payload = (uint8_t *)(hdrs + 1);
    spin_cmd_t command;
    mac_addr_t mac = hdrs->eth_hdr.src;
    uint32_t address = hdrs->ip_hdr.source_id;
    uint16_t port = hdrs->udp_hdr.src_port;

    hdrs->eth_hdr.src = hdrs->eth_hdr.dest;
    hdrs->eth_hdr.dest = mac;
    hdrs->ip_hdr.source_id = hdrs->ip_hdr.dest_id;
    hdrs->ip_hdr.dest_id = address;
    hdrs->udp_hdr.src_port = hdrs->udp_hdr.dst_port;
    hdrs->udp_hdr.dst_port = port;
    hdrs->udp_hdr.checksum = 0;
    push_counter(&__host_data.counters[0], args->task->pkt_mem_size);
    printf("TAG %c%c on %u\n", payload[0], payload[1], (unsigned)args->hpu_gid);
    payload[0] = 'TAGLETTER';
    spin_send_packet(args->task->pkt_mem, args->task->pkt_mem_size, &command);
    spin_cmd_wait(command);
}
"""

# Asks the host program first.
ASK = ECHO.replace("#include <stdio.h>", "#include <spin_host.h>\n#include <stdio.h>").replace(
    "    push_counter",
    "    spin_dma_to_host(HOST_PLD_ADDR(args), (uint32_t)args->task->pkt_mem,\n"
    "                     args->task->pkt_mem_size, 1, &command);\n"
    "    spin_cmd_wait(command);\n"
    "    if (fpspin_host_req(args, args->task->pkt_mem_size).len == 0)\n"
    "        return;\n"
    "    push_counter",
)

# Writes to the application's page, or beyond the window when told to.
ROGUE = r"""
#include <handler.h>
#include <packets.h>
#include <spin_host.h>

__handler__ void rogue_ph(handler_args_t *args)
{
    uint8_t *payload = (uint8_t *)args->task->pkt_mem + sizeof(pkt_hdr_t);
    uint64_t address = HOST_ADDR(args) + CORE_COUNT * PAGE_SIZE;
    spin_cmd_t command;

    if (payload[0] == 'x')
        address = HOST_ADDR(args) + args->task->host_mem_size;
    spin_write_to_host(address, 0x600d, &command);
    spin_cmd_wait(command);
}
"""


def echo(letter="e", source=ECHO):
    return source.replace("TAGLETTER", letter).replace("TAG", f"echo {letter}:")


def attend(bench):
    return bench.host_program(HERE / "host/attend.c")


def join(bench, program, elf, context=0, what="9000", *more, device="/dev/pspin0"):
    """Starts a host program and waits until it is attached."""
    process = bench.start([program, device, elf, context, what, *more])
    process.wait_for("attached")
    return process


def ask(port, text=b"hi there", tries=20, timeout=0.5):
    """Sends a datagram to the NIC until an answer comes; gives that, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.settimeout(timeout)
        for _ in range(tries):
            door.sendto(text, (NIC, port))
            try:
                return door.recv(2048)
            except TimeoutError:
                pass
    return None


def counter(program, number=0):
    words = program.say(f"counter {number}", "counter ").split()
    return int(words[1]), int(words[2])


def test_every_name_compiles_and_means_what_it_must(bench):
    for options in ([], ["-Wall", "-Wextra", "-Werror"], ["-O0", "-std=gnu17"]):
        program = bench.host_program(HERE / "names.c", *options)
        check_in("30 31 32 33", bench.run([program]))
    text = bench.run([program, "/dev/pspin0", "none.elf"], status=1)
    check_in("there is no NIC /dev/pspin0", text)


def test_the_papers_program_compiles_unmodified(bench):
    bench.host_program(HERE / "listing.c")
    text = bench.run(["timeout", "1", bench.folder / "listing"], status=124)
    check_in("there is no NIC /dev/pspin0", text)


def test_the_tree_builds_both_libraries(bench):
    need("make")
    tree = bench.folder / "tree"
    bench.run([bench.pinion, "fpspin", "tree", tree])
    bench.run(["make", "-C", tree, "CFLAGS=-O1 -Werror"])
    check((tree / "libpinion_fpspin.so").exists(), "no libpinion_fpspin.so")
    command = ["cc", f"-I{tree}/include", HERE / "names.c", tree / "libpinion_fpspin.a"]
    bench.run([*command, "-pthread", "-lm", "-o", "names"])
    bench.run([bench.folder / "names"])


def test_missing_sources_and_compilers_are_named(bench):
    text = bench.run([bench.pinion, "fpspin", "compile", "no.c", "-o", "x"], status=2)
    check_in("there is no source file no.c", text)
    command = [bench.pinion, "fpspin", "compile", HERE / "names.c", "-o", "x"]
    check_in("is not installed", bench.run([*command, "--cc", "no-such-cc"], status=2))


def test_the_papers_program_answers_pings(bench):
    need("ping")
    program = bench.host_program(HERE / "listing.c")
    (bench.folder / "build").mkdir()
    elf = bench.build(REPOSITORY / "examples/icmp_echo/fpspin")
    elf.rename(bench.folder / "build/pingpong")
    nic = bench.nic()
    bench.start([program])
    wait_for(lambda: bench.status()["contexts"][0]["held"], "the program")
    text = bench.run(["ping", "-c", 20, "-i", 0.02, "-W", 5, NIC])
    check_in(" 0% packet loss", text)
    status = bench.status()
    context = status["contexts"][0]
    check(context["packets"] >= 20 and context["uid"] == 0, f"status {context}")
    check(context["program"] == "listing", f"program {context}")
    check_in("u32(8, 0xff00, 0x800, 0x800)", str(context["rules"]))
    check(nic.stop() == 0, "the NIC's status")
    check_in("packets in", nic.output())


def test_handlers_are_answered_by_the_host_program(bench):
    nic = bench.nic()
    elf = bench.handlers("ask", echo("h", ASK))
    program = join(bench, attend(bench), elf)
    for number in range(50):
        answer = ask(9000, b"ab%04d" % number)
        check(answer == b"hb%04d" % number, f"answer {number}: {answer}")
    check(counter(program)[1] >= 50, f"counter {counter(program)}")
    program.say("clear 0", "done")
    check(counter(program) == (0, 0), "the counter is not cleared")
    lines = bench.log()
    check(any(line["text"].startswith("echo h: ab") for line in lines), f"log {lines[:3]}")
    check(all(line["cluster"] < 2 and line["hpu"] < 8 for line in lines), "HPUs")
    times = [line["time_ns"] for line in lines]
    check(times == sorted(times) and times[0] > 0, f"times {times[:5]}")
    program.say("exit")
    check(program.finish() == 0, "status")
    check(int(re.search(r"answered (\d+)", program.output())[1]) >= 50, program.output())
    wait_for(lambda: not bench.status()["contexts"][0]["held"], "the context's end")
    check(nic.is_running(), "the NIC ended")


def test_two_images_in_slots_and_a_death(bench):
    bench.nic()
    program = attend(bench)
    elves = [bench.handlers(f"h{k}", echo("abcd"[k]), "--slot", k) for k in range(4)]
    # Begin with one that does not lie at the reset address.
    order = [2, 0, 3, 1]
    running = {k: join(bench, program, elves[k], k, str(9000 + k)) for k in order}
    for k in range(4):
        check(ask(9000 + k, b"..x") == b"%c.x" % ord("abcd"[k]), f"handlers of context {k}")
    running[2].signal(signal.SIGKILL)
    wait_for(lambda: not bench.status()["contexts"][2]["held"], "the end of context 2")
    check(ask(9002, b"..x", tries=2) is None, "handlers of a dead program answer")
    for k in (0, 1, 3):
        check(ask(9000 + k, b"..y") == b"%c.y" % ord("abcd"[k]), f"context {k} after the death")
    running[2] = join(bench, program, elves[2], 2, "9002")
    check(ask(9002, b"..z") == b"c.z", "context 2 anew")
    counts = [counter(running[k])[1] for k in range(4)]
    check(all(counts), f"counters {counts}")


def test_contexts_of_one_image_share_it(bench):
    bench.nic()
    program = attend(bench)
    elf = bench.handlers("ask", echo("s", ASK))
    first = join(bench, program, elf, 0, "9000")
    second = join(bench, program, elf, 1, "9001")
    for _ in range(10):
        check(ask(9000, b"..1") == b"s.1" and ask(9001, b"..2") == b"s.2", "answers")
    first.signal(signal.SIGKILL)
    wait_for(lambda: not bench.status()["contexts"][0]["held"], "the end of context 0")
    check(ask(9001, b"..3") == b"s.3", "the other context")
    third = join(bench, program, elf, 0, "9000")
    check(ask(9000, b"..4") == b"s.4", "context 0 anew")
    memories = {p.say("memory", "memory ") for p in (second, third)}
    check(len(memories) == 2, f"handler memory {memories}")


def test_several_rulesets_of_one_program(bench):
    bench.nic()
    elf = bench.handlers("echo", echo("r"))
    program = join(bench, attend(bench), elf, 1, "9000", 16, 2)
    held = [context["held"] for context in bench.status()["contexts"]]
    check(held == [False, True, True, False], f"held {held}")
    check(ask(9000, b"..1") == b"r.1", "an answer")
    program.say("port none", "done")
    check(ask(9000, b"..1") == b"r.1", "the second ruleset still matches")


def test_rules_change_while_packets_come(bench):
    # Every datagram is answered by handlers or by the host's own program: none is lost.
    need("ip")
    bench.nic("--host-tap", "hst0")
    other = bench.namespace()
    other.take("hst0")
    other.run(["ip", "addr", "add", f"{NIC}/24", "dev", "hst0"])
    other.run(["ip", "link", "set", "hst0", "up"])
    server = (
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        f"s.bind(('{NIC}', 9000))\nprint('ready', flush=True)\n"
        "while True:\n    d, a = s.recvfrom(2048)\n    s.sendto(b'k' + d[1:], a)\n"
    )
    other.start(["python3", "-c", server]).wait_for("ready")
    check(ask(9000, b"..0") == b"k.0", "the kernel's side")
    elf = bench.handlers("echo", echo("n"))
    program = join(bench, attend(bench), elf, 0, "none")
    answers = {b"k": 0, b"n": 0}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.settimeout(5)
        for number in range(400):
            if number % 20 == 0:
                program.say("port 9000" if number % 40 else "port none")
            door.sendto(b"..%03d" % number, (NIC, 9000))
            answer = door.recv(2048)
            check(answer[1:] == b".%03d" % number, f"datagram {number}: {answer}")
            answers[answer[:1]] += 1
    check(min(answers.values()) > 50, f"answers {answers}")


def test_nic_memory_is_read_and_written(bench):
    bench.nic()
    elf = bench.handlers("echo", echo("m"))
    first = join(bench, attend(bench), elf, 0, "9000")
    address, size = (int(word, 0) for word in first.say("memory", "memory ").split()[1:])
    check(size >= 200 << 10, f"handler memory {size}")
    first.say(f"poke {address + 8:#x} 4711", "done")
    check("0x1267" in first.say(f"peek {address + 8:#x}", "word"), "handler memory")
    first.say("poke 0x10010000 99", "done")  # L1 of cluster 0
    check("0x63" in first.say("peek 0x10010000", "word"), "L1")
    for bad in ("0x0", "0xfffffffe", "0x30000000"):
        first.say(f"peek {bad}", "failed")
    check_in("are not NIC memory", first.output())
    # What belongs to another program is not written.
    second = join(bench, attend(bench), elf, 1, "9001")
    second.say(f"poke {address + 8:#x} 1", "failed")
    check_in("would change the handler memory of context 0", second.output())
    check("0x1267" in first.say(f"peek {address + 8:#x}", "word"), "memory changed by another")


def test_unload_load_and_windows(bench):
    bench.nic()
    one, two = (bench.handlers(f"echo{k}", echo(k)) for k in "12")
    program = join(bench, attend(bench), one)
    check(ask(9000, b"..a") == b"1.a", "the first image")
    program.say("unload", "done")
    check(ask(9000, b"..a", tries=2) is None, "answers while nothing is loaded")
    program.say(f"load {two} 0 131072", "done")
    check(ask(9000, b"..a") == b"2.a", "the second image")
    program.say(f"load {two} 0 135168", "failed")
    check_in("is not within the context's host memory, 131072 bytes", program.output())
    program.say(f"load {two} 4294967295 16", "failed")
    program.say("load none.elf 0 4096", "failed")
    check_in("cannot read the image none.elf", program.output())
    check(ask(9000, b"..b") == b"2.b", "the second image after refusals")


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


def connect(bench):
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.connect(str(bench.folder / "nic/pspin0.sock"))
    door.settimeout(10)
    return door


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


def test_a_full_log_says_what_was_lost(bench):
    bench.nic("--log-lines", "10")
    elf = bench.handlers("echo", echo("l"))
    join(bench, attend(bench), elf)
    for number in range(30):
        ask(9000, b"%02d" % number)
    lines = bench.log()
    check(len(lines) == 10 and lines[0]["lost_before"] >= 20, f"{len(lines)}: {lines[0]}")
    check_in("lines lost]", bench.run([bench.pinion, "nic", "log"]))
    follower = bench.start([bench.pinion, "nic", "log", "--follow"])
    wait_for(lambda: follower.output().count("echo l:") == 10, "what there is")
    ask(9000, b"!!")
    follower.wait_for("echo l: !!")
    check_in("of them forgotten", bench.run([bench.pinion, "nic", "status"]))


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


def test_ranges_of_rules_in_both_orders(bench):
    # Ports 0x22ff to 0x2301 are a range as numbers; by their last byte first, none lies in it.
    source = (HERE / "host/attend.c").read_text().replace(
        "rs->r[2] = FPSPIN_RULE_UDP_DPORT(atoi(what));",
        "rs->r[2] = FPSPIN_RULE(9, 0xffff0000, 0x22ff0000, 0x23010000);",
    )
    program = bench.host_program(source, name="ranges")
    for options, wanted in ([], b"k.1"), (["--faithful"], None):
        nic = bench.nic(*options)
        elf = bench.handlers("echo", echo("k"))
        running = join(bench, program, elf, 0, "9000")
        found = ask(0x2300, b"..1", tries=20 if wanted else 3)
        check(found == wanted, f"{options}: {found}")
        running.stop()
        nic.stop()


def test_round_trips_do_not_wait_for_a_clock(bench):
    bench.nic()
    elf = bench.handlers("ask", echo("t", ASK))
    join(bench, attend(bench), elf)
    ask(9000)
    times = []
    for _ in range(100):
        started = time.monotonic()
        check(ask(9000, b"..t", timeout=5) == b"t.t", "an answer")
        times.append(time.monotonic() - started)
    median = sorted(times)[len(times) // 2]
    print(f"     host and handler: median {median * 1e3:.2f} ms, 99 % {sorted(times)[98] * 1e3:.2f} ms")
    check(median < 0.02, f"median {median * 1e3:.1f} ms")
