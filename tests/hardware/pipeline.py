"""Pipelines of P4 programs beside the model: what `pinion p4 hardware` makes of a program does with every packet
what its vectors say, compiled by Verilator.

Two runs: with everybody ready, in which every request and every packet has to come in its cycle, one packet
in each; and with pauses at all ports, drawn at random, in which order and contents count. Controls that share
register arrays run together, with everybody ready: each has packets or events in cycles that the vectors say.
"""

import re
import subprocess

from common import REPOSITORY, Difference, check
from tools import call, need, verilate

# Seconds for a run.
PATIENCE = 900
# By transport: what a load of real messages is asked for with.
PROGRAMS = ["ndp", "homa", "raw", "udp", "dctcp", "credit"]
# Programs with tables that are more than transports, which no load speaks; random packets go to them.
MORE = ["vxlan", "telemetry", "balancer", "cache", "othello"]
LOAD = "requests=400,gap=exp:400"
# By title: a program, a module, how often what stands in it, and what it becomes.
MUTANTS = {
    "the wrong packets have arrived": ("sdk/p4/ndp/ingress.p4", "", 1, r"= 38'h1 <<", "= 38'h2 <<"),
    "a timer comes before a delivery of its cycle": (
        *("sdk/p4/telemetry/ingress.p4", "_all", 9),
        *(r"\{(timer_\w+), (delivery_\w+)\}", r"{\2, \1}"),
    ),
}
OPERATORS = "tests/hardware/p4/operators.p4"
# Tables of each kind, and controls of events, each a module of its own.
EVENTS = "tests/hardware/p4/handlers.p4"
SMALL = [OPERATORS, EVENTS]

DRIVER = """\
// Made by tests/hardware/pipeline.py: packets in, requests and packets out compared.
#include "V{top}.h"
#include "verilated.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using Words = std::vector<std::string>;

struct Packet {{
    Words inputs, outputs;
    std::vector<Words> requests, responses;
    std::vector<bool> asks;
    uint64_t cycle = 0;
}};

static unsigned digit(char letter) {{
    return letter <= '9' ? letter - '0' : letter - 'a' + 10;
}}

template <typename Port> static void put(Port &port, const std::string &word) {{
    port = word == "-" ? 0 : (Port)strtoull(word.c_str(), nullptr, 16);
}}

template <size_t Count> static void put(VlWide<Count> &port, const std::string &word) {{
    for (size_t n = 0; n < Count; ++n) port[n] = 0;
    if (word == "-") return;
    for (size_t n = 0; n < word.size(); ++n)
        port[n / 8] |= digit(word[word.size() - 1 - n]) << (4 * (n % 8));
}}

template <typename Port> static bool is(const Port &port, const std::string &word) {{
    return word == "-" || strtoull(word.c_str(), nullptr, 16) == (uint64_t)port;
}}

template <size_t Count> static bool is(const VlWide<Count> &port, const std::string &word) {{
    VlWide<Count> wanted;
    put(wanted, word);
    for (size_t n = 0; n < Count; ++n)
        if (word != "-" && wanted[n] != port[n]) return false;
    return true;
}}

static uint64_t drawn = 0x9e3779b97f4a7c15;
// True three times in four.
static bool lucky() {{
    drawn ^= drawn << 13, drawn ^= drawn >> 7, drawn ^= drawn << 17;
    return (drawn >> 20) % 4 != 0;
}}

static bool pauses;
static uint64_t cycle = 0, quiet = 0;
{controls}
int main(int argc, char **argv) {{
    if (argc < {words}) return 2;
    pauses = argv[1][0] == 'p';
    VerilatedContext context;
    V{top} top{{&context}};
    top.clock = 0, top.reset = 1, top.eval();
    top.clock = 1, top.eval();
    top.reset = 0;
{make}
    for (; {goes_on}; ++cycle) {{
        top.clock = 0;
{set}
        top.eval();
        ++quiet;
{see}
        top.clock = 1;
        top.eval();
    }}
{finish}
    printf("%lu cycles\\n", (unsigned long)cycle);
    return 0;
}}
"""
# A control: what comes to it and leaves it, by ports of which all names begin alike.
CONTROL = """\

struct Control{number} {{
    static const int UNITS = {units};
    static constexpr int FROM[] = {{{froms}}}, TO[] = {{{tos}}};
    static constexpr int REQUEST[] = {{{requests}}}, RESPONSE[] = {{{responses}}};
    V{top} &top;
    std::ifstream lines;
    std::string line;
    bool timed = false;
    // Packets that are inside, and the number of the first of them; the one that comes next.
    std::deque<Packet> inside;
    uint64_t first = 0, fed = 0;
    Packet next;
    bool has_next = false, offers = false;
    // By unit: whether its answer is offered, the packet whose request is awaited, what is to be answered when.
    bool offered[UNITS + 1] = {{}};
    std::vector<uint64_t> awaited = std::vector<uint64_t>(UNITS + 1, 0);
    std::vector<std::deque<std::pair<uint64_t, Words>>> answers{{UNITS + 1}};

    Control{number}(V{top} &top, const char *file) : top(top), lines(file) {{
        while (std::getline(lines, line) && line != "packets") timed = timed || line == "timed";
        read();
    }}

    void fail(const char *what, uint64_t packet) {{
        printf("cycle %lu, {module}, packet %lu: %s\\n", (unsigned long)cycle, (unsigned long)packet, what);
        exit(1);
    }}

    void read() {{
        has_next = (bool)std::getline(lines, line);
        if (!has_next) return;
        std::istringstream words(line);
        next = Packet();
        if (timed) words >> next.cycle;
        auto take = [&](Words &list, int count) {{
            for (std::string word; count-- > 0 && words >> word;) list.push_back(word);
        }};
        take(next.inputs, {inputs});
        next.requests.resize(UNITS + 1), next.responses.resize(UNITS + 1);
        for (int unit = 0; unit < UNITS; ++unit) {{
            std::string asks;
            words >> asks;
            next.asks.push_back(asks == "1");
            take(next.requests[unit], REQUEST[unit]);
            take(next.responses[unit], RESPONSE[unit]);
        }}
        take(next.outputs, {outputs});
    }}

    bool goes_on() const {{ return has_next || !inside.empty(); }}

    void set() {{
        // Who offers goes on offering.
        offers = has_next && next.cycle <= cycle && (offers || !pauses || lucky());
        top.{prefix}in_valid = offers;
        if (offers) {{
{set_inputs}
        }}
        top.{prefix}out_ready = !pauses || lucky();
{set_units}
    }}

    void see() {{
        if (quiet > 1000) fail("nothing moves any more", first);
{see_units}
        if (top.{prefix}out_valid && top.{prefix}out_ready) {{
            quiet = 0;
            if (inside.empty()) fail("a packet leaves that never came", first);
            Packet &packet = inside.front();
            if (!pauses && cycle != packet.cycle + {cycles}) fail("it leaves in another cycle", first);
{see_outputs}
            for (int unit = 0; unit < UNITS; ++unit)
                if (packet.asks[unit] && awaited[unit] <= first) fail("a request never came", first);
            inside.pop_front();
            ++first;
        }}
        if (offers && top.{prefix}in_ready) {{
            next.cycle = cycle;
            inside.push_back(next);
            ++fed, offers = false;
            read();
        }} else if (offers && !pauses) fail("it does not take a packet in every cycle", fed);
    }}

    void finish() {{
        for (int unit = 0; unit < UNITS; ++unit)
            if (!answers[unit].empty()) fail("an answer was not taken", fed);
        printf("{module}: %lu packets\\n", (unsigned long)fed);
    }}
}};
"""
SEE_UNIT = """\
        if (top.{prefix}{name}_request_valid && top.{prefix}{name}_request_ready) {{
            quiet = 0;
            uint64_t &at = awaited[{number}];
            while (at < first || (at < first + inside.size() && !inside[at - first].asks[{number}])) ++at;
            // A request may leave in the cycle in which its packet comes.
            const bool is_new = at == first + inside.size();
            if (is_new && !(offers && next.asks[{number}])) fail("{name} is asked by nobody", at);
            const Packet &packet = is_new ? next : inside[at - first];
            if (!pauses && cycle != (is_new ? cycle : packet.cycle) + FROM[{number}])
                fail("{name} is asked in another cycle", at);
{fields}
            {answer}
            ++at;
        }}"""
PUSH = "answers[{number}].emplace_back(cycle + TO[{number}] - FROM[{number}], packet.responses[{number}]);"
SET_ANSWER = """\
        offered[{number}] = !answers[{number}].empty() && answers[{number}].front().first <= cycle
                      && (offered[{number}] || !pauses || lucky());
        top.{prefix}{name}_response_valid = offered[{number}];
        if (offered[{number}]) {{
{fields}
        }}"""
TAKE_ANSWER = """\
        if (offered[{number}] && top.{prefix}{name}_response_ready) {{
            answers[{number}].pop_front();
            offered[{number}] = false;
        }}"""


class Ports:
    """The ports that vectors begin with."""

    def __init__(self, vectors):
        self.module, self.cycles, self.units = "", 0, []
        self.inputs, self.outputs = [], []
        with vectors.open() as lines:
            for line in lines:
                kind, *words = line.split()
                if kind == "packets":
                    break
                if kind == "module":
                    self.module = words[0]
                elif kind == "cycles":
                    self.cycles = int(words[0])
                elif kind == "unit":
                    name, begin, end, answers = words
                    unit = {"name": name, "from": begin, "to": end, "answers": answers == "1"}
                    self.units.append(unit | {"request": [], "response": []})
                elif kind == "timed":
                    # Lines begin with a cycle.
                    continue
                elif kind in ("request", "response"):
                    self.units[-1][kind].append(words[0])
                else:
                    {"input": self.inputs, "output": self.outputs}[kind].append(words[0])


def lines_of(ports, template, indent):
    """A line for each port."""
    made = (template.format(port=port, n=n) for n, port in enumerate(ports))
    return "\n".join(" " * indent + line for line in made)


def control(number, ports, top, prefix):
    """What drives the module of a control: the ports of `top` that begin with a prefix."""
    set_units, see_units = [], []
    for unit_number, unit in enumerate(ports.units):
        names = {"name": unit["name"], "number": unit_number, "prefix": prefix}
        set_units.append(f"        top.{prefix}{unit['name']}_request_ready = !pauses || lucky();")
        fails = (
            f"if (!is(top.{prefix}{{port}}, packet.requests[{unit_number}][{{n}}]))"
            ' fail("{port} differs", at);'
        )
        answer = PUSH.format(**names) if unit["answers"] else ""
        fields = lines_of(unit["request"], fails, 12)
        see_units.append(SEE_UNIT.format(fields=fields, answer=answer, **names))
        if unit["answers"]:
            puts = f"put(top.{prefix}{{port}}, answers[{unit_number}].front().second[{{n}}]);"
            fields = lines_of(unit["response"], puts, 12)
            set_units.append(SET_ANSWER.format(fields=fields, **names))
            see_units.append(TAKE_ANSWER.format(**names))
    differs = f"if (!is(top.{prefix}{{port}}, packet.outputs[{{n}}]))" + ' fail("{port} differs", first);'
    return CONTROL.format(
        number=number,
        top=top,
        prefix=prefix,
        module=ports.module,
        cycles=ports.cycles,
        units=len(ports.units),
        froms=", ".join(unit["from"] for unit in ports.units) or "0",
        tos=", ".join(unit["to"] for unit in ports.units) or "0",
        inputs=len(ports.inputs),
        outputs=len(ports.outputs),
        requests=", ".join(str(len(unit["request"])) for unit in ports.units) or "0",
        responses=", ".join(str(len(unit["response"])) for unit in ports.units) or "0",
        set_inputs=lines_of(ports.inputs, f"put(top.{prefix}{{port}}, next.inputs[{{n}}]);", 12),
        set_units="\n".join(set_units),
        see_units="\n".join(see_units),
        see_outputs=lines_of(ports.outputs, differs, 12),
    )


def driver(top, controls):
    """The program that drives a module: its controls, each with the prefix of its ports."""
    numbers = range(len(controls))

    def each(text):
        return "\n".join("    " + text.format(n=n, word=n + 2) for n in numbers)

    return DRIVER.format(
        top=top,
        words=2 + len(controls),
        controls="".join(control(n, controls[n][0], top, controls[n][1]) for n in numbers),
        make=each("Control{n} control_{n}(top, argv[{word}]);"),
        goes_on=" || ".join(f"control_{n}.goes_on()" for n in numbers),
        set=each("    control_{n}.set();"),
        see=each("    control_{n}.see();"),
        finish=each("control_{n}.finish();"),
    )


def programs():
    """All programs: their files, and whether frames come to them."""
    for transport in PROGRAMS:
        yield f"sdk/p4/{transport}/ingress.p4", True
        yield f"sdk/p4/{transport}/egress.p4", False
    for name in MORE:
        yield f"sdk/p4/{name}/ingress.p4", False
        yield f"sdk/p4/{name}/egress.p4", False
    for name in SMALL:
        yield name, False


def make(pinion, program, folder, *options):
    """Makes the hardware of a program; gives the files."""
    done = subprocess.run(
        [pinion, "p4", "hardware", program, "--out", folder, *options],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    check(not done.returncode, f"pinion p4 hardware {program}: {done.stderr}")
    return sorted(folder.glob("p4_*.sv")) + sorted(folder.glob("register_array.sv"))


def traffic(pinion, program, folder):
    """The frames that a nanoPU with this transport sends while it answers a load: data, and answers to
    that of others."""
    frames = folder / "frames.pcap"
    egress = program.replace("ingress", "egress")
    done = subprocess.run(
        [
            *(pinion, "run", "examples/nanopu_echo", "--quiet", "--load", LOAD),
            *("--pcap-out", frames, "--set", "transport.kind=p4"),
            *("--set", f"transport.ingress={program}", "--set", f"transport.egress={egress}"),
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    check(frames.exists(), f"pinion run: {done.stderr}")
    return frames


def check_pipeline(pinion, program, has_frames, packets, folder):
    """What the tools say of a pipeline, and what it does with packets."""
    need("verilator", "iverilog", "yosys")
    random = ["--vectors", str(packets)]
    files = make(pinion, program, folder, *random)
    vectors = sorted(folder.glob("*.vectors"))
    if around := [path for path in files if path.stem.endswith("_all")]:
        # Register arrays stand between controls: in cycles in which several change one, order counts.
        controls = [(Ports(path), prefix_of(path, around[0])) for path in vectors]
        lint(around[0].stem, files, folder)
        built = build(around[0].stem, controls, files, folder)
        run(built, vectors, "random packets and events", ways=("ready",))
        return
    for path in vectors:
        ports = Ports(path)
        others = [path for path in files if path.stem != ports.module and path.stem.startswith("p4_")]
        own = [path for path in files if path not in others]
        lint(ports.module, own, folder)
        built = build(ports.module, [(ports, "")], own, folder)
        run(built, [path], "random packets")
    if has_frames:
        make(pinion, program, folder, *random, "--frames", traffic(pinion, program, folder))
        run(built, vectors, "frames of a run")


def prefix_of(vectors, around):
    """What names of a control's ports begin with in the module around all."""
    _, _, event = vectors.stem.partition(around.stem.removesuffix("all") + "on_")
    return f"{event or 'packet'}_"


def check_mutant(pinion, mutant, folder):
    """The comparison finds a module that does something else."""
    need("verilator")
    program, ending, times, change, to = mutant
    files = make(pinion, program, folder, "--vectors", "1000")
    vectors = sorted(folder.glob("*.vectors"))
    changed = folder / f"{vectors[0].stem}{ending}.sv"
    text, found = re.subn(change, to, changed.read_text())
    check(found == times, f"“{change}” is {found} times in {changed.name}")
    changed.write_text(text)
    prefixes = [prefix_of(path, changed) if ending else "" for path in vectors]
    controls = [(Ports(path), prefix) for path, prefix in zip(vectors, prefixes)]
    built = build(changed.stem, controls, files, folder)
    try:
        run(built, vectors, "random packets", ways=("ready",))
    except Difference:
        return
    raise Difference("what the changed module does counts as right")


def lint(module, files, folder):
    """Verilator, Icarus and Yosys take it without a warning."""
    read = f"read_verilog -sv {' '.join(map(str, files))}; hierarchy -check -top {module}"
    for tool, arguments in {
        "verilator": ["--lint-only", "-Wall", "--quiet", "--top-module", module, *files],
        "iverilog": ["-g2012", "-Wall", "-s", module, "-o", folder / module, *files],
        "yosys": ["-q", "-p", f"{read}; proc; check -assert"],
    }.items():
        status, text = call(tool, *arguments)
        said = "\n".join(line for line in text.splitlines() if line and not line.startswith("- "))
        if status or said:
            raise Difference(f"{tool} complains of {module}:\n{said}")


def build(top, controls, files, folder):
    """Compiles a module with what drives its controls."""
    source = folder / "driver.cpp"
    source.write_text(driver(top, controls))
    return verilate(
        *(folder / f"made_{top}", folder / f"driven_{top}"),
        *("-CFLAGS", "-O0", "-MAKEFLAGS", "OPT_GLOBAL=-O0", "--top-module", top),
        *files,
        source,
    )


def run(built, vectors, what, ways=("ready", "pauses")):
    """Runs it both ways, or as is said."""
    for way in ways:
        done = subprocess.run(
            [built, way, *vectors], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        check(not done.returncode, f"{built.name}, {what}, {way}: {done.stdout}{done.stderr}")
