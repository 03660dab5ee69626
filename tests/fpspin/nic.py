"""The NIC as a process: programs come, share it, change their rules, and go."""

import re
import signal
import socket
import time

from programs import ASK, HERE, NIC, ask, attend, counter, echo, join
from support import REPOSITORY, check, check_in, need, wait_for


def test_every_name_compiles_and_means_what_it_must(bench):
    for options in ([], ["-Wall", "-Wextra", "-Werror"], ["-O0", "-std=gnu17"]):
        program = bench.host_program(HERE / "names.c", *options)
        check_in("30 31 32 33", bench.run([program]))
    text = bench.run([program, "/dev/pspin0", "none.elf"], status=1)
    check_in("there is no NIC /dev/pspin0", text)


def test_every_name_works_with_a_nic(bench):
    bench.nic()
    program = bench.host_program(HERE / "names.c")
    elf = bench.handlers("ask", echo("n", ASK))
    text = bench.run([program, "/dev/pspin0", elf])
    check("fpspin:" not in text, text)
    check(not bench.status()["contexts"][0]["held"], "the context is not free")


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
    # A handler that computes for longer than a slice must not wait for the next packet.
    text = bench.run(["ping", "-c", 10, "-i", 0.1, "-s", 1400, "-W", 5, NIC])
    times = sorted(float(time) for time in re.findall(r"time=([\d.]+)", text))
    check(len(times) == 10 and times[5] < 50, f"round trips of large pings {times}")
    status = bench.status()
    context = status["contexts"][0]
    check(context["packets"] >= 20 and context["uid"] == 0, f"status {context}")
    check(context["program"] == "listing", f"program {context}")
    check_in("u32(8, 0xff00, 0x800, 0x800)", str(context["rules"]))
    check(nic.stop() == 130, "the NIC's status, as it was interrupted")
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
    times = [line["simulated_ns"] for line in lines]
    check(times == sorted(times) and times[0] > 0, f"times {times[:5]}")
    program.say("exit")
    check(program.finish() == 0, "status")
    check(int(re.search(r"answered (\d+)", program.output())[1]) >= 50, program.output())
    wait_for(lambda: not bench.status()["contexts"][0]["held"], "the context's end")
    check(nic.is_running(), "the NIC ended")


def test_several_threads_poll_one_context(bench):
    bench.nic()
    elf = bench.handlers("ask", echo("p", ASK))
    program = bench.start([bench.host_program(HERE / "host/threads.c"), "/dev/pspin0", elf, 9000])
    program.wait_for("attached")
    ask(9000)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.settimeout(10)
        for first in range(0, 400, 8):
            for number in range(first, first + 8):
                door.sendto(b"..%04d" % number, (NIC, 9000))
            got = sorted(door.recv(2048)[1:] for _ in range(8))
            check(got == [b".%04d" % n for n in range(first, first + 8)], f"answers {got}")
    packets = bench.status()["contexts"][0]["packets"]
    program.say("end")
    check(program.finish() == 0, "status")
    taken, mine = re.search(r"answered (\d+) in (\d+) threads", program.output()).groups()
    check(int(taken) == packets, f"{taken} requests of {packets} packets")
    check(int(mine) >= 2, f"{mine} threads took requests")


def test_a_nic_with_fewer_hpus(bench):
    bench.nic("--set", "cluster.count=1")
    elf = bench.handlers("ask", echo("8", ASK), "--set", "cluster.count=1")
    program = join(bench, attend(bench), elf)
    for number in range(20):
        check(ask(9000, b"..%02d" % number) == b"8.%02d" % number, "an answer")
    program.say("exit")
    program.finish()
    check("fpspin:" not in program.output(), program.output())


def test_one_context_may_have_all_handler_memory(bench):
    bench.nic("--contexts", 1)
    program = attend(bench)
    elf = bench.handlers("echo", echo("w"))
    first = join(bench, program, elf)
    check(int(first.say("memory", "memory ").split()[2]) == 960 << 10, first.output())
    text = bench.run([program, "/dev/pspin0", elf, 1, "all"], status=1)
    check_in("there is no context 1: the NIC has 1", text)


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
    other = bench.namespace()
    # Made there: a device that is moved while somebody has it is down for a moment.
    bench.nic("--host-tap", f"hst0@/proc/{other.holder.process.pid}/ns/net")
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
    hosts = attend(bench)
    program = join(bench, hosts, elf, 0, "none")
    answers = {b"k": 0, b"n": 0}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.settimeout(5)
        for number in range(400):
            if number in (150, 290):
                program.signal(signal.SIGKILL)
                wait_for(lambda: not bench.status()["contexts"][0]["held"], "the release")
                program = join(bench, hosts, elf, 0, "none")
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
    first.say("poke 0x10014400 99", "done")  # its scratchpad in the L1 of cluster 0
    check("0x63" in first.say("peek 0x10014400", "word"), "L1")
    for bad in ("0x10010000", "0x1c100000"):  # packets
        first.say(f"peek {bad}", "failed")
    check_in("would show what is not this program's", first.output())
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
    slow = sorted(times)[98]
    print(f"     host and handler: median {median * 1e3:.2f} ms, 99 % {slow * 1e3:.2f} ms")
    check(median < 0.02, f"median {median * 1e3:.1f} ms")
