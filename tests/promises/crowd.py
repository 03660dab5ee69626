"""Promise 7: a NIC with 256 hostile clients answers within a second and stays under 64 MiB, and a client that is
killed loses only its own. Runs in a network namespace of its own; `seconds` is how long the crowd is there."""

import contextlib
import fcntl
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support import Broken, find_pinion

CLIENTS, PROCESSES = 256, 8
LONGEST_ANSWER_S = 1.0
MOST_KIB = 64 << 10
SECONDS = 5
# Files that a NIC may have open in a full house, and how long somebody outside may wait for a word.
FEW_FILES = 24
LONGEST_STATUS_S = 20
MAGIC, VERSION = 0x4E495046, 1
STATUS = 9
SEED = int(os.environ.get("PINION_TEST_SEED", "1"))
# Add seals: against shrinking, growing, writing.
F_ADD_SEALS, SEALS = 1033, 2 | 4 | 8


def connect(door):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(str(door))
    return client


def message(kind, body=b"", version=VERSION, magic=MAGIC):
    return struct.pack("<IHHII", magic, version, kind, 1, 0) + body


def annoy(draw, client):
    """Says something that a NIC has no reason to expect."""
    kind = draw.choice([*range(13), draw.randrange(1 << 16)])
    body = draw.randbytes(draw.choice([0, 1, 4, 8, 16, 72, 144, 1000, 40_000]))
    what = draw.randrange(6)
    if what == 0:
        client.send(draw.randbytes(draw.randrange(1, 200)))
    elif what == 1:
        client.send(message(kind, body, draw.randrange(4), draw.choice([MAGIC, 0])))
    elif what == 2:
        file = os.memfd_create("image", os.MFD_ALLOW_SEALING)
        os.write(file, draw.choice([b"\x7fELF", b""]) + draw.randbytes(draw.randrange(5000)))
        if draw.randrange(2):
            fcntl.fcntl(file, F_ADD_SEALS, SEALS)
        head = struct.pack("<IIQ128s", draw.randrange(9), 0, draw.choice([0, 4096, 1 << 40]), b"h")
        socket.send_fds(client, [message(draw.choice([2, 3]), head)], [file])
        os.close(file)
    else:
        client.send(message(kind, body))


def live(door, number, count, seconds):
    """Is so many clients, until the time is over or somebody kills it."""
    draw, end = random.Random(SEED * 1000 + number), time.monotonic() + seconds
    clients = [None] * count
    while time.monotonic() < end:
        at = draw.randrange(count)
        try:
            if clients[at] is None:
                clients[at] = connect(door)
                clients[at].setblocking(False)
            annoy(draw, clients[at])
            # Some never listen.
            if at % 3:
                with contextlib.suppress(BlockingIOError):
                    clients[at].recv(65536)
            if draw.randrange(50) == 0:
                clients[at].close()
                clients[at] = None
        except BlockingIOError:
            time.sleep(0.001)
        except OSError:
            if clients[at]:
                clients[at].close()
            clients[at] = None


def status_kib(pid, key):
    return int(re.search(rf"{key}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def waited_s(pid):
    """How long a process has been ready and had no processor."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


def ask(nic, good):
    """Asks for the NIC's state; gives how long the answer took, without waiting for a processor."""
    waited, asked = waited_s(nic.pid), time.monotonic()
    good.settimeout(60)
    good.send(message(STATUS))
    answer = good.recv(65536)
    took = time.monotonic() - asked - (waited_s(nic.pid) - waited)
    if struct.unpack_from("<I", answer, 12)[0]:
        raise Broken(f"a good client is refused: {answer[16:200]!r}")
    return took


def inside(pinion, seconds):
    """The NIC, its crowd, and a client that means no harm."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory(prefix="pinion-crowd-") as place:
        folder = Path(place)
        environment = {**os.environ, "PINION_NIC_DIR": str(folder / "nic")}
        words = ["nic", "--machine", "fpspin", "--tap", "pin0", "--address", "10.11.0.1/24"]
        for attack, limit in [
            (lambda nic: crowd_of(nic, folder, seconds), None),
            (lambda nic: full_house(nic, folder, pinion, environment), few_files),
        ]:
            with (folder / "said.txt").open("w") as said:
                nic = subprocess.Popen(
                    [str(pinion), *words], env=environment, stdout=said, stderr=said, preexec_fn=limit
                )
            try:
                attack(nic)
            finally:
                nic.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    nic.wait(timeout=20)
                nic.kill()
                nic.wait()


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_FILES, FEW_FILES))


def full_house(nic, folder, pinion, environment):
    """More clients than the NIC may have files open: those inside are answered, the others told."""
    good = connect(opened(nic, folder))
    ask(nic, good)
    idle = []
    for _ in range(3 * FEW_FILES):
        with contextlib.suppress(OSError):
            idle.append(connect(opened(nic, folder)))
    if (took := ask(nic, good)) > LONGEST_ANSWER_S:
        raise Broken(f"an answer in a full house took {took:.2f} s")
    command = [str(pinion), "nic", "status"]
    try:
        told = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST_STATUS_S)
    except subprocess.TimeoutExpired:
        raise Broken("in a full house `pinion nic status` waits") from None
    if told.returncode != 2 or "no more files" not in told.stderr:
        raise Broken(f"in a full house: exit status {told.returncode}, {told.stderr!r}")
    for one in idle:
        one.close()
    time.sleep(0.2)
    subprocess.run(command, env=environment, capture_output=True, check=True, timeout=LONGEST_STATUS_S)


def opened(nic, folder):
    """Waits until the NIC is there; gives its door."""
    end = time.monotonic() + 60
    while "Ctrl-C ends" not in (folder / "said.txt").read_text():
        if nic.poll() is not None or time.monotonic() > end:
            raise Broken((folder / "said.txt").read_text())
        time.sleep(0.05)
    return next(path for path in (folder / "nic").rglob("*") if path.is_socket())


def crowd_of(nic, folder, seconds):
    crowd = []
    try:
        crowded(nic, folder, crowd, seconds)
    finally:
        for one in crowd:
            one.kill()
            one.wait()


def crowded(nic, folder, crowd, seconds):
    door = opened(nic, folder)
    good, each = connect(door), CLIENTS // PROCESSES
    ask(nic, good)
    for number in range(PROCESSES):
        # One client fewer in all: the good one takes a place.
        count = each - (number == 0)
        command = [sys.executable, __file__, "--crowd", door, str(number), str(count), str(seconds)]
        crowd.append(subprocess.Popen([str(part) for part in command]))
    draw, slowest, answers = random.Random(SEED), 0.0, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        slowest, answers = max(slowest, ask(nic, good)), answers + 1
        if slowest > LONGEST_ANSWER_S:
            raise Broken(f"an answer took {slowest:.2f} s")
        if nic.poll() is not None:
            raise Broken(f"the NIC has ended:\n{(folder / 'said.txt').read_text()[-600:]}")
        if draw.randrange(40) == 0 and len(crowd) > PROCESSES // 2:
            # The clients of one process go as the kernel ends it.
            crowd.pop().kill()
        time.sleep(0.02)
    kib = status_kib(nic.pid, "VmHWM")
    if kib > MOST_KIB:
        raise Broken(f"it took {kib / 1024:.0f} MiB")
    said = (folder / "said.txt").stat().st_size
    print(f"{answers} answers, the slowest {slowest * 1e3:.0f} ms; {kib / 1024:.0f} MiB; {said} B said")


def run(pinion, most=None):
    """Yields a title and what is wrong, if something is. `most` says how many seconds the crowd is there."""
    seconds = most or SECONDS
    title = f"{CLIENTS} hostile clients for {seconds} s"
    tools = [tool for tool in ("unshare", "ip") if not shutil.which(tool)]
    if tools or not Path("/dev/net/tun").exists():
        print(f"skip {title}: there are no TAP devices, or no {tools}", flush=True)
        return
    command = ["unshare", "--map-root-user", "--net", sys.executable, __file__, "--inside"]
    done = subprocess.run(
        [*command, str(pinion), str(seconds)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        yield title, f"{(done.stdout + done.stderr).strip()} (PINION_TEST_SEED={SEED})"
    else:
        yield f"{title}: {done.stdout.strip()}", None


if __name__ == "__main__":
    if sys.argv[1] == "--crowd":
        live(sys.argv[2], *(int(word) for word in sys.argv[3:6]))
    else:
        try:
            inside(find_pinion(sys.argv[2]), int(sys.argv[3]))
        except Broken as problem:
            sys.exit(str(problem))
