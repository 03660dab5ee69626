"""What is asked of each unit without a simulation: no warnings, its proof, and that the proof finds
mutants."""

import re

from tools import HARDWARE, KEPT, RTL, Difference, call, need

# Verilator's report, which is not a warning.
REPORT = re.compile(r"^- ")


def sources(unit):
    """The unit's files."""
    return [RTL / name for name in unit["files"]]


def said(text):
    """What a tool complained of."""
    return "\n".join(line for line in text.splitlines() if line.strip() and not REPORT.match(line))


def check_lint(name, unit, folder):
    """Verilator, Icarus and Yosys take a unit without a warning."""
    need("verilator", "iverilog", "yosys")
    files = sources(unit)
    asked = {
        "verilator": ["--lint-only", "-Wall", "--quiet", "--top-module", name, *files],
        "iverilog": ["-g2012", "-Wall", "-s", name, "-o", folder / name, *files],
        "yosys": ["-q", "-p", lint_script(name, files)],
    }
    for tool, arguments in asked.items():
        status, text = call(tool, *arguments)
        if status or said(text):
            raise Difference(f"{tool} complains of {name}:\n{said(text)}")


def lint_script(name, files):
    names = " ".join(map(str, files))
    return f"read_verilog -sv {names}; hierarchy -check -top {name}; proc; check -assert"


def failed_properties(name, unit, files, folder):
    """Proves a unit; gives the names of the properties that do not hold, and where a run that shows it is."""
    need("yosys", "yosys-smtbmc", "z3")
    proof, model = unit["proof"], folder / f"{name}.smt2"
    names = " ".join(map(str, [*files, HARDWARE / "proofs" / f"{name}_proof.sv"]))
    script = (
        f"read_verilog -formal -sv {names}; prep -top {name}_proof; memory_map; opt -full; "
        f"async2sync; dffunmap; write_smt2 -wires {model}"
    )
    status, text = call("yosys", "-q", "-p", script)
    if status:
        raise Difference(f"yosys cannot read the proof of {name}:\n{text}")
    searches = [["-t", proof["steps"]]]
    if "induction" in proof:
        searches.append(["-i", "-t", proof["induction"]])
    for options in searches:
        trace = folder / f"{name}.vcd"
        status, text = call("yosys-smtbmc", "-s", "z3", "--dump-vcd", trace, *options, model)
        failed = re.findall(r"Assert failed in \w+: (.*)", text)
        if failed or "Status: FAILED" in text:
            return failed or ["a property"], trace
        if status or "Status: PASSED" not in text:
            raise Difference(f"the search for {name} ended with {status}:\n{text[-1500:]}")
    return [], None


def check_proof(name, unit, folder):
    """What a unit promises holds."""
    failed, trace = failed_properties(name, unit, sources(unit), folder)
    if failed:
        kept = KEPT / f"{name}-proof.vcd"
        KEPT.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(trace.read_bytes() if trace.exists() else b"")
        raise Difference(f"does not hold: {', '.join(failed)}; {kept} shows how")


def check_mutant(name, unit, mutant, folder):
    """The proof fails for a unit that does something else."""
    *others, own = sources(unit)
    text = own.read_text()
    if text.count(mutant["change"]) != 1:
        raise Difference(f"“{mutant['change']}” is not once in {own.name}: the mutant is out of date")
    changed = folder / own.name
    changed.write_text(text.replace(mutant["change"], mutant["to"]))
    failed, _ = failed_properties(name, unit, [*others, changed], folder)
    if not failed:
        raise Difference("the proof holds for it all the same: it would not find this error")
