"""The replicated log: a leader that dies is replaced, what was committed stays, every replica commits
the same, and clients see linearizable registers; on good links and on bad ones."""

from dataclasses import dataclass

from chain import FAULTS, settings
from linearizability import check_history, parse_history
from support import check, lines

PUT, GET = 1, 2
HARTS = 4


@dataclass(frozen=True)
class Entry:
    """A committed entry, as a replica prints it."""

    index: int
    term: int
    client: int
    number: int
    operation: int
    key: int
    value: int


def committed(summary, replica):
    rows = [line.split()[1:] for line in lines(summary, replica) if line.startswith("c ")]
    return [Entry(*map(int, row[:6]), int(row[6], 16)) for row in rows]


def replay(log):
    """Gives what each command gives, by client and number: the first of its entries counts."""
    registers, given = {}, {}
    for entry in log:
        command = (entry.client, entry.number)
        if entry.operation not in (PUT, GET) or command in given:
            continue
        given[command] = registers.get(entry.key, 0)
        if entry.operation == PUT:
            given[command] = registers[entry.key] = entry.value
    return given


def check_run(summary, commands, dead=()):
    """Checks a run; gives the longest log. Replicas in `dead` may be behind."""
    names = [entry["name"] for entry in summary["nodes"] if entry["name"].startswith("replica")]
    logs = {name: committed(summary, name) for name in names}
    longest = max(logs.values(), key=len)
    check([entry.index for entry in longest] == list(range(1, len(longest) + 1)), "indices")
    for name, log in logs.items():
        check(log == longest[: len(log)], f"{name} has committed something else")
        behind = len(longest) - len(log)
        check(name in dead or behind == 0, f"{name} is {behind} entries behind")
    operations, initial = parse_history(lines(summary, "client"), lambda key: 0)
    check(len(operations) == HARTS * commands, f"{len(operations)} commands are answered")
    # Clients print hart after hart, each its commands in order.
    given = replay(longest)
    for place, operation in enumerate(operations):
        command = (place // commands, 1000 + place % commands)
        check(command in given, f"{command} was answered, and is not in the log")
        check(given[command] == operation.value, f"{command} gave {operation}, not {given[command]:#x}")
    check_history(operations, initial)
    return longest


def raft(bench, *options, replicas=3, commands=60, halt=20, resume=40):
    """Runs the example with other numbers."""
    about = ["{replica}", "{replica.count}", "{address}", "{seed}"]
    changes = settings(client=[*about, commands, 3, halt, resume])
    changes += ["--set", f"replica.count={replicas}"]
    return bench.run("nanopu_raft", "--threads", 1, "--seed", bench.seed, *changes, *options)


def test_another_leads_when_the_leader_dies(bench):
    summary = bench.run("nanopu_raft", "--threads", 1)
    log = check_run(summary, commands=60)
    terms = {entry.term for entry in log if entry.operation}
    check(len(terms) > 1, f"all commands were committed in terms {terms}")


def test_nobody_else_leads_while_it_lives(bench):
    log = check_run(raft(bench, commands=40, halt=0, resume=0), commands=40)
    terms = {entry.term for entry in log}
    check(len(terms) == 1, f"terms {terms}")


def test_on_bad_links_too(bench):
    for seed in range(bench.seed, bench.seed + 3):
        check_run(raft(bench, "--link", FAULTS.format(seed=seed)), commands=60)


def test_five_go_on_without_the_dead(bench):
    summary = raft(bench, "--link", FAULTS.format(seed=bench.seed), replicas=5, resume=0)
    leaders = [n for n in range(5) if "leader 0 times" not in lines(summary, f"replica.{n}")[0]]
    check(len(leaders) > 1, f"only {leaders} led")
    check_run(summary, commands=60, dead=[f"replica.{leader}" for leader in leaders])
