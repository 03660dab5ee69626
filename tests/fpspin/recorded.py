"""A NIC with host programs, recorded: `pinion replay` does the run again without device and programs,
and the same comes of it, also of a NIC that was killed."""

import json
import signal

from echo import Setup, ping_all, udp_all
from support import check, check_in, wait_for


def replayed(bench, recording, *options):
    """Repeats a recorded run; gives what was said, and its summary."""
    command = [bench.pinion, "replay", recording, "--json", "again.json", *options]
    text = bench.run(command)
    return text, json.loads((bench.folder / "again.json").read_text())


def recording_setup(bench):
    """A NIC that is recorded; where to."""
    recording = bench.folder / "nic.rec"
    return Setup(bench, "--record", recording), recording


def test_two_programs_are_repeated(bench):
    """Both answer through shared memory; one comes and goes while the other stays."""
    setup, recording = recording_setup(bench)
    icmp = setup.program("icmp_echo", "host+fpspin", name="icmp", slot=0)
    ping_all(bench)
    udp = setup.program("udp_echo", "host+fpspin", "--context", "1", name="udp", slot=1)
    udp_all(bench)
    check(udp.stop() == 0, udp.output())
    wait_for(lambda: not bench.status()["contexts"][1]["held"], "the end of a program")
    ping_all(bench)
    icmp.signal(signal.SIGKILL)
    icmp.finish()
    wait_for(lambda: not bench.status()["contexts"][0]["held"], "the end of a program")
    counted = bench.status()["packets"]
    check(setup.nic.stop() == 130, setup.nic.output())
    rows = []
    for name in ("one.csv", "two.csv"):
        text, summary = replayed(bench, recording, "--packets", bench.folder / name)
        check_in("the same as recorded", text)
        rows.append((bench.folder / name).read_text())
        packets = summary["packets"]
        check(packets["matched"] == counted["matched"] > 0, f"{packets} and {counted}")
    check(rows[0] == rows[1], "two replays differ")
    # Without what the programs wrote, handlers would wait for them for ever: another run.
    lines = bench.run(["tar", "-xOf", recording, "host.jsonl"]).splitlines()
    kinds = {next(iter(json.loads(line))) for line in lines if line != '"stayed"'}
    check(kinds == {"message", "gone", "wrote"}, f"{kinds}")
    for verb in ("run", "why", "trace"):
        text = bench.run([bench.pinion, verb, recording], status=2)
        check_in("the recording of a NIC with host programs", text)
    text = bench.run([bench.pinion, "replay", recording, "--host-dump", "a=b"], status=2)
    check_in("--host-dump goes with", text)


def test_a_killed_nic_is_repeated_up_to_there(bench):
    """What was over when it was killed is there."""
    setup, recording = recording_setup(bench)
    icmp = setup.program("icmp_echo", "host+fpspin", name="icmp")
    count = ping_all(bench)
    setup.nic.signal(signal.SIGKILL)
    setup.nic.finish()
    icmp.stop()
    text = bench.run([bench.pinion, "replay", recording], status=2)
    check_in("its run did not end", text)
    left = f"{recording}.unfinished"
    text, summary = replayed(bench, left)
    check_in("was cut off", text)
    check(summary["packets"]["matched"] == count, text)
    # A deed that is none is told.
    deeds = bench.folder / "nic.rec.unfinished/host.jsonl"
    deeds.write_text(deeds.read_text().replace('"message"', '"massage"'))
    check_in("the recording is damaged", bench.run([bench.pinion, "replay", left], status=2))
