"""SLMP: the sender against a small receiver on the loopback that loses, repeats and reorders; then files
to handlers on a NIC, over a wire that does."""

import json
import os
import random
import socket
import struct
import threading
import time

from support import REPOSITORY, check, check_in

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
