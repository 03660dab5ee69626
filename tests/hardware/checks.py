"""What is asked of each unit without a simulation: no warnings, its proof, and that the proof finds
mutants."""

import re
from pathlib import Path

from common import Difference, Skip, check
from tools import HARDWARE, RTL, call, find, need

# Verilator's report, which is not a warning.
REPORT = re.compile(r"^- ")
# Seconds for one search, and for one that goes deep.
PATIENCE = 300
DEEP_PATIENCE = 1800
# Has Yosys ask of each property, instead of whether it holds, whether anything is ever looked at.
LOOKED_AT = Path(__file__).resolve().parent / "looked_at.v"


def sources(unit):
    """The unit's files."""
    return [RTL / name for name in unit["files"]]


def said(text):
    """What a tool complained of."""
    return "\n".join(line for line in text.splitlines() if line.strip() and not REPORT.match(line))


def check_lint(name, unit, folder, more=(), macros=()):
    """Verilator, Icarus and Yosys take a unit without a warning; `more` files are read, too, with these macros."""
    need("verilator", "iverilog", "yosys")
    files = [*more, *sources(unit)]
    defined = [f"-D{macro}" for macro in macros]
    asked = {
        "verilator": ["--lint-only", "-Wall", "--quiet", *defined, "--top-module", name, *files],
        "iverilog": ["-g2012", "-Wall", *defined, "-s", name, "-o", folder / name, *files],
        "yosys": ["-q", "-p", lint_script(name, [*defined, *files], unit.get("small", {}))],
    }
    for tool in unit.get("lint", asked):
        arguments = asked[tool]
        status, text = call(tool, *arguments)
        if status or said(text):
            raise Difference(f"{tool} complains of {name}:\n{said(text)}")


def lint_script(name, files, parameters):
    """What Yosys does with a unit, of these parameters."""
    names = " ".join(map(str, files))
    chosen = "".join(f" -chparam {parameter} {value}" for parameter, value in parameters.items())
    return f"read_verilog -sv {names}; hierarchy -check -top {name}{chosen}; proc; check -assert"


def read_script(name, files):
    """What Yosys does first with a unit's files and its proof."""
    names = [*files, HARDWARE / "proofs" / f"{name}_proof.sv"]
    return f"read_verilog -formal -sv {' '.join(map(str, names))}; prep -top {name}_proof; memory_map"


def failed_properties(name, unit, files, folder, whole=True, deep=False):
    """Searches for a run in which a unit breaks what it promises, and proves that there is none if `whole`;
    gives the names of properties that do not hold. Searches further if `deep`."""
    need("yosys")
    search = search_with_abc if find("yosys-abc") else search_with_solver
    return search(name, unit["proof"], (read_script(name, files), folder / name), whole, deep)


def bound(proof, deep):
    """Steps of a proof's bounded search, and seconds for it."""
    return (proof["deep"], DEEP_PATIENCE) if deep and "deep" in proof else (proof["steps"], PATIENCE)


def write_circuit(read, model):
    """Writes a proof as a circuit of gates; gives the properties' names, in the order of its outputs."""
    circuit, places, properties = (model.with_suffix(end) for end in (".aig", ".aim", ".names"))
    yosys(
        f"{read}; async2sync; dffunmap; setundef -undriven -anyseq; setattr -unset keep; "
        "delete -output; opt -full; techmap; opt -fast; dffunmap; abc -g AND -fast; opt_clean; "
        f"write_aiger -I -B -zinit -no-startoffset -map {places} {circuit}; "
        f"tee -q -o {properties} select -list t:$assert"
    )
    names = [line.split("/", 1)[1] for line in properties.read_text().splitlines()]
    return f"read_aiger {circuit}; fold; strash; ", names


def search_with_abc(name, proof, read_and_model, whole, deep):
    """The same as a circuit of gates, by ABC: bounded search, then property directed reachability, which
    covers runs of any length."""
    read, model = read_and_model
    begin, names = write_circuit(f"{read}; flatten", model)
    steps, patience = bound(proof, deep)
    _, text = call("yosys-abc", "-c", f"{begin} bmc3 -F {steps} -T {patience}", limit=2 * patience)
    if failed := re.search(r"Output (\d+) of miter .* was asserted", text):
        return [names[int(failed[1])]]
    # It says so too when its time is over, with the steps that it came to.
    is_whole = re.search(rf"No output \w+ in {steps} frames", text)
    check(is_whole, f"the bounded search of {name} ended early:\n{text}")
    if whole and not proof.get("bounded"):
        _, text = call("yosys-abc", "-c", f"{begin} pdr -T {PATIENCE}")
        check("Property proved" in text, f"the proof of {name} ended without a result:\n{text}")
    return []


def check_reach(name, unit, folder):
    """Within the proof's bound each property comes to look at something, whatever it then asks."""
    need("yosys", "yosys-abc")
    read = f"{read_script(name, sources(unit))}; flatten; techmap -max_iter 1 -map {LOOKED_AT}"
    begin, names = write_circuit(read, folder / name)
    steps, patience = bound(unit["proof"], deep=False)
    _, text = call("yosys-abc", "-c", f"{begin} bmc3 -a -x -F {steps} -T {patience}", limit=2 * patience)
    reached = {int(number) for number in re.findall(r"Output +(\d+) was asserted in frame", text)}
    idle = [title for number, title in enumerate(names) if number not in reached]
    check(names and not idle, f"nothing is ever looked at by {', '.join(idle) or 'any property'}")


def search_with_solver(name, proof, read_and_model, whole, deep):
    """The same as formulas, by an SMT solver: bounded search, then induction."""
    need("yosys-smtbmc", "z3")
    if proof.get("bounded"):
        raise Skip("yosys-abc missing, and a solver takes hours for it")
    read, model = read_and_model
    yosys(f"{read}; opt -full; async2sync; dffunmap; write_smt2 -wires {model.with_suffix('.smt2')}")
    searches = [["-t", bound(proof, deep)[0]]]
    if whole and "induction" in proof:
        searches.append(["-i", "-t", proof["induction"]])
    for options in searches:
        status, text = call("yosys-smtbmc", "-s", "z3", *options, model.with_suffix(".smt2"))
        if failed := re.findall(r"Assert failed in \w+: (.*)", text):
            return failed
        check(not status and "Status: PASSED" in text, f"{name}: status {status}\n{text[-1500:]}")
    return []


def yosys(script):
    """Runs Yosys."""
    status, text = call("yosys", "-q", "-p", script)
    check(not status, f"yosys cannot read it:\n{text}")


def check_proof(name, unit, folder, deep):
    """What a unit promises holds."""
    failed = failed_properties(name, unit, sources(unit), folder, deep=deep)
    check(not failed, f"does not hold: {', '.join(failed)}")


def check_mutant(name, unit, mutant, folder, beside, deep=False):
    """The proof fails for a unit that does something else, or, of a unit without a proof, the run `beside`
    something."""
    files = sources(unit)
    own = next(path for path in files if path.name == mutant.get("file", files[-1].name))
    text = own.read_text()
    found = text.count(mutant["change"])
    check(found == 1, f"“{mutant['change']}” is {found} times in {own.name}: it is out of date")
    changed = folder / own.name
    changed.write_text(text.replace(mutant["change"], mutant["to"]))
    others = [path for path in files if path != own]
    if "proof" in unit:
        failed = failed_properties(name, unit, [*others, changed], folder, whole=False, deep=deep)
        check(failed, "the proof holds for it all the same: it would not find this error")
        return
    try:
        beside(name, {"files": [*others, changed]}, folder)
    except Difference:
        return
    raise Difference("it runs all the same: it would not find this error")
