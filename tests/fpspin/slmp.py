"""SLMP: the sender against a small receiver on the loopback that loses, repeats and reorders; then
files to handlers on a NIC, over a wire that does."""

import json
import os
import random
import socket
import struct
import threading
import time

from support import REPOSITORY, check, check_in, wait_for

EXAMPLE = REPOSITORY / "examples/slmp"
EOM, SYN, ACK = 0x8000, 0x4000, 0x2000
NIC_IP = "10.11.0.2"


def seed():
    """The seed of this run, from PINION_TEST_SEED or fixed."""
    return int(os.environ.get("PINION_TEST_SEED", 20))


class Receiver(threading.Thread):
    """Receives messages on a loopback port, over a wire of its own that has faults by seed."""

    def __init__(self, loss=0.0, repeat=0.0, reorder=0.0, answers=True):
        super().__init__(daemon=True)
        self.random = random.Random(seed())
        self.loss, self.repeat, self.reorder, self.answers = loss, repeat, reorder, answers
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.02)
        self.port = self.socket.getsockname()[1]
        self.pieces, self.ends, self.packets, self.flags = {}, {}, [], []
        self.unacknowledged, self.most_unacknowledged = set(), 0
        self.held, self.is_over = [], False
        self.start()

    def run(self):
        while not self.is_over:
            try:
                datagram, sender = self.socket.recvfrom(2048)
            except TimeoutError:
                self.release()
                continue
            except OSError:
                return
            self.arrive(datagram, sender)

    def arrive(self, datagram, sender):
        if self.random.random() < self.loss:
            return
        if self.random.random() < self.reorder:
            self.held.append((datagram, sender))
            return
        for _ in range(2 if self.random.random() < self.repeat else 1):
            self.take(datagram, sender)
        if len(self.held) > 3:
            self.release()

    def release(self):
        held, self.held = self.held, []
        for datagram, sender in held:
            self.take(datagram, sender)

    def take(self, datagram, sender):
        flags, message, offset = struct.unpack_from(">HII", datagram)
        data = datagram[10:]
        self.packets.append((time.monotonic(), message, offset, len(data), sender))
        self.flags.append(flags)
        self.pieces.setdefault(message, {})[offset] = data
        if flags & EOM:
            self.ends[message] = offset + len(data)
        if flags & SYN and self.answers and self.random.random() >= self.loss:
            self.socket.sendto(struct.pack(">HII", ACK, message, offset), sender)

    def message(self, number):
        """The bytes of a message, and whether none is missing."""
        pieces = self.pieces.get(number, {})
        data = b"".join(pieces[at] for at in sorted(pieces))
        return data if len(data) == self.ends.get(number) else None

    def close(self):
        self.is_over = True
        self.join()
        self.release()
        self.socket.close()


def sender(bench):
    return bench.host_program(EXAMPLE / "sender/send.c", "-O2")


def make_file(bench, name, size):
    path = bench.folder / name
    path.write_bytes(random.Random(size).randbytes(size))
    return path


def send(bench, program, receiver, *arguments, status=0):
    """Sends to a receiver on the loopback; gives what the sender says, as JSON."""
    port = ["--port", receiver.port] if receiver else []
    text = bench.run([program, "--json", *port, *arguments], status=status)
    return json.loads(text)


def test_sender_modes_cuts_and_flags(bench):
    program, path = sender(bench), make_file(bench, "file", 10_000)
    whole = {"none": 0, "ends": 2, "all": 8}
    for mode, syns in whole.items():
        receiver = Receiver()
        said = send(bench, program, receiver, "--syn", mode, "--align", 64, "--id", 77,
                    "127.0.0.1", path)
        time.sleep(0.1)
        receiver.close()
        check(receiver.message(77) == path.read_bytes(), f"{mode}: the file differs")
        lengths = [length for _, _, _, length, _ in sorted(receiver.packets, key=lambda p: p[2])]
        check(lengths == [1408] * 7 + [144], f"{mode}: packets of {lengths}")
        check(sum(bool(f & SYN) for f in receiver.flags) == syns, f"{mode}: {receiver.flags}")
        check([bool(f & EOM) for f in receiver.flags] == [False] * 7 + [True], receiver.flags)
        check(said["packets"] == 8 and said["retransmissions"] == 0, said)
        check(said["clock"] == "wall" and said["files"][0]["bytes"] == 10_000, said)


def test_sender_survives_loss_repetition_and_reordering(bench):
    print(f"replay: PINION_TEST_SEED={seed()} python3 tests/fpspin/run.py slmp")
    program = sender(bench)
    for window, threads in ((1, 1), (32, 1), (16, 4), (1024, 2)):
        receiver = Receiver(loss=0.03, repeat=0.03, reorder=0.1)
        size = 60_000 if window == 1 else 400_000
        part = make_file(bench, "part", size)
        said = send(bench, program, receiver, "--window", window, "--threads", threads,
                    "--retries", 20, "127.0.0.1", part)
        receiver.close()
        check(receiver.message(1) == part.read_bytes(), f"window {window}: the file differs")
        check(said["retransmissions"] > 0, f"window {window}: nothing was lost: {said}")
        if window == 1 and threads == 1:
            offsets = list(dict.fromkeys(p[2] for p in receiver.packets))
            check(offsets == sorted(offsets), "a window of one is no order")


def test_sender_several_files_and_an_empty_one(bench):
    program, receiver = sender(bench), Receiver()
    paths = [make_file(bench, f"file{size}", size) for size in (0, 1, 1462, 1463, 50_000)]
    said = send(bench, program, receiver, "127.0.0.1", *paths)
    receiver.close()
    for number, path in enumerate(paths, 1):
        check(receiver.message(number) == path.read_bytes(), f"{path.name} differs")
    ports = {sender[1] for *_, sender in receiver.packets}
    check(len(ports) == len(paths), "messages share a port")
    check([f["packets"] for f in said["files"]] == [1, 1, 1, 2, 35], said)


def test_sender_gap_between_packets(bench):
    program, path = sender(bench), make_file(bench, "file", 14_620)
    receiver = Receiver()
    send(bench, program, receiver, "--gap", 5000, "--syn", "none", "127.0.0.1", path)
    time.sleep(0.1)
    receiver.close()
    times = [p[0] for p in receiver.packets]
    # First and last go alone: the gap is between the others.
    check(times[-1] - times[0] > 7 * 0.005 * 0.9, f"packets within {times[-1] - times[0]} s")


def test_sender_gives_up_with_a_reason(bench):
    program, path = sender(bench), make_file(bench, "file", 5000)
    silent = Receiver(answers=False)
    said = send(bench, program, silent, "--timeout", 20, "--retries", 2, "127.0.0.1", path,
                status=1)
    silent.close()
    check(said["files"][0]["error"] == "no answer", said)
    check([p[2] for p in silent.packets] == [0, 0, 0], "it goes on without an answer")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
    command = [program, "--port", port, "127.0.0.1", path]
    check_in("refused", bench.run(command, status=1))
    huge = bench.folder / "huge"
    with huge.open("wb") as file:
        file.truncate(1 << 32)
    check_in("too large", bench.run([program, "127.0.0.1", huge], status=1))
    check_in("No such file", bench.run([program, "127.0.0.1", "nothing"], status=1))
    for option, value in (("--window", "70000"), ("--syn", "some"), ("--align", "1463")):
        check_in(value, bench.run([program, option, value, "127.0.0.1", path], status=2))
    check_in("no IPv4", bench.run([program, "nowhere", path], status=2))


class Files:
    """The receiving host program on the NIC `pspin0`, and the files it has written."""

    def __init__(self, bench, *options):
        self.folder = bench.folder / "received"
        self.folder.mkdir()
        program = bench.host_program(EXAMPLE / "host/receive.c", "-O2")
        elf = bench.build(EXAMPLE)
        self.process = bench.start([program, "--directory", self.folder, *options, elf])
        self.process.wait_for("receiving on")

    def expect(self, number, message, path):
        """The message with this number, counted from 0, is a file's content."""
        received = self.folder / f"message-{message}-{number}.bin"
        wait_for(received.exists, f"{received.name}; {self.process.output()}", 20)
        check(received.read_bytes() == path.read_bytes(), f"{path.name} differs")

    def counters(self):
        """Ends it; gives what the handlers refused, by name."""
        check(self.process.stop() == 0, self.process.output())
        lines = self.process.output().splitlines()
        pairs = (line.split(": ") for line in lines if line.count(": ") == 1)
        return {name: int(value) for name, value in pairs if value.isdigit()}


def test_nic_files_in_every_mode(bench):
    bench.nic()
    files, program = Files(bench), sender(bench)
    size = 100_000
    path = make_file(bench, "file", size)
    options = {
        # Without acknowledgements nothing tells the sender that the NIC is behind: a gap does.
        "none": ["--syn", "none", "--window", 0, "--gap", 3000],
        "ends": ["--syn", "ends", "--gap", 3000],
        "all": ["--window", 16],
        "in order": ["--window", 1],
        "threads": ["--window", 8, "--threads", 4, "--align", 64],
    }
    for number, (name, chosen) in enumerate(options.items()):
        said = send(bench, program, None, *chosen, "--id", 20 + number, NIC_IP, path)
        check(said["failed"] == 0, f"{name}: {said}")
        files.expect(number, 20 + number, path)
    refused = set(files.counters()) - {"duplicates", "late", "early_ends"}
    check(not refused, f"refused: {refused}")


def test_nic_files_over_a_faulty_wire(bench):
    number = seed()
    print(f"replay: PINION_TEST_SEED={number} python3 tests/fpspin/run.py slmp")
    faults = f"loss=3%,dup=3%,reorder=10%,hold=5ms,seed={number}"
    bench.nic("--link", faults)
    files, program = Files(bench), sender(bench)
    paths = [make_file(bench, f"file{size}", size) for size in (300_000, 14_620, 1)]
    options = ["--window", 16, "--threads", 2, "--retries", 30]
    said = send(bench, program, None, *options, NIC_IP, *paths)
    check(said["failed"] == 0 and said["retransmissions"] > 0, said)
    for index, path in enumerate(paths):
        files.expect(index, 1 + index, path)


def test_nic_damaged_frames_are_found_by_checksums(bench):
    number = seed()
    print(f"replay: PINION_TEST_SEED={number} python3 tests/fpspin/run.py slmp")
    bench.nic("--link", f"corrupt=3%,seed={number}")
    files, program = Files(bench, "--verify"), sender(bench)
    path = make_file(bench, "file", 200_000)
    said = send(bench, program, None, "--window", 8, "--retries", 30, NIC_IP, path)
    check(said["failed"] == 0 and said["retransmissions"] > 0, said)
    files.expect(0, 1, path)
    check("checksums" in files.counters(), "no frame was damaged where checksums look")


def datagram(target, flags, message, offset, data=b""):
    target.sendto(struct.pack(">HII", flags, message, offset) + data, (NIC_IP, 9330))


def test_nic_malformed_messages_are_refused_and_others_go_on(bench):
    bench.nic()
    files, program = Files(bench, "--bytes", 65536), sender(bench)
    path = make_file(bench, "file", 50_000)
    body = bytes(1000)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            one.settimeout(5)
            datagram(one, SYN, 5, 1000, body)  # no first packet
            datagram(one, SYN, 6, 0, body)
            check(one.recv(64) == struct.pack(">HII", ACK, 6, 0), "the answer is another one")
            datagram(one, SYN, 6, 0x7FFFFFFF, body)  # beyond the region
            datagram(one, SYN | EOM, 6, 2000, body)
            check(one.recv(64) == struct.pack(">HII", ACK, 6, 2000), "the end is not answered")
            datagram(one, SYN | EOM, 6, 1000, body)  # another end
            datagram(other, SYN, 6, 0, body)  # the id is in use
            datagram(one, ACK, 6, 0)
            one.sendto(b"short", (NIC_IP, 9330))
            time.sleep(0.3)
            one.settimeout(0.2)
            try:
                check(False, f"an answer to what is refused: {one.recv(64).hex()}")
            except TimeoutError:
                pass
    send(bench, program, None, "--id", 40, NIC_IP, path)
    files.expect(0, 40, path)
    large = make_file(bench, "large", 70_000)
    said = send(bench, program, None, "--id", 41, "--retries", 1, "--timeout", 50, NIC_IP, large,
                status=1)
    check(said["files"][0]["error"] == "no answer", said)
    counters = files.counters()
    once = ("orphans", "other_ends", "reused", "stray_acks", "lengths")
    check(all(counters.get(name) == 1 for name in once), counters)
    check(counters.get("beyond", 0) >= 2, counters)
