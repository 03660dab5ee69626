#!/usr/bin/env python3
"""Does what the documentation says and compares; checks the book's links and what it quotes.

    python3 tests/docs/run.py [--pinion PATH] [--write] [PAGE]...

In the README and every page of the book, in order and in one empty folder per page:

- a fenced block ```LANGUAGE file=PATH is written to PATH;
- a block ```console is run: lines behind `$ ` by a shell that lives as long as the page, the other
  lines must come out in this order. `…` stands for any text, in a line or as a line. A command must
  succeed unless `$ echo $?` follows. ```console root and ```console again are not run, ```console verilator
  only where a Verilator is found;
- lines behind `(gdb) ` are typed into the gdb that a `pinion debug` above them starts.

Numbers are those of Debian 12's gcc 12.2; with another compiler every number matches every other.
Pages are readable as they are: what stands between `<!-- copy of PATH -->` and `<!-- end of copy -->` is
that file, links adjusted and its headings below the page's; nothing is included. Tables that other tests
write lie in docs/tables. `<!-- made: PATH -->` in front of a picture says which file of the page's folder it is.
--write puts what came out into the pages, and copies and pictures where they belong. Exit status 0 when all is as it must be.
"""

import argparse
import csv
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
from common import find_pinion, installed_compilers, is_reference_compiler  # noqa: E402

BOOK = REPOSITORY / "docs/src"
TABLES = REPOSITORY / "docs/tables"
SECONDS = 120
FENCE = re.compile(r"^```(\S*)[ \t]*(.*)$")
NUMBER = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8}\b|\d[\d,.]*")
ANY_NUMBER = r"(?:0x[0-9a-f]+|\b[0-9a-f]{8}\b|-?\d[\d,.]*)"
# What a table of the calibration says in its last line, and the pages that quote these lines in order.
VERDICT = re.compile(
    r"\d+ of \d+ (?:rows|runs) within [^;]*; median error [\d.]+ %, largest [\d.]+ %; \d+ of \d+ packets [^.]*\."
)
CALIBRATIONS = ["calibration-pspin.md", "calibration-pspin2.md", "calibration-pspin-apps.md"]


class Failure(Exception):
    """What is not as the page says."""


class Block:
    """A fenced block: language, what follows it, and the lines with the first one's number."""

    def __init__(self, language, attributes, first):
        self.language, self.attributes, self.first = language, attributes.split(), first
        self.lines = []

    def file(self):
        return next((a[5:] for a in self.attributes if a.startswith("file=")), None)

    def is_run(self):
        if self.language != "console" or {"root", "again"} & set(self.attributes):
            return False
        return "verilator" not in self.attributes or has_verilator()


@functools.cache
def has_verilator():
    """Tells whether blocks of hardware can be made, as the hardware's own tests look for it."""
    sys.path.insert(0, str(REPOSITORY / "tests/hardware"))
    from tools import find  # noqa: PLC0415

    return find("verilator") is not None


def blocks(text):
    found, current = [], None
    for number, line in enumerate(text.split("\n")):
        fence = FENCE.match(line)
        if current is not None and line == "```":
            found.append(current)
            current = None
        elif current is not None:
            current.lines.append(line)
        elif fence:
            current = Block(fence[1], fence[2], number + 1)
    if current is not None:
        raise Failure(f"line {current.first}: the block does not end")
    return found


def commands(block):
    """Pairs of a command and its expected lines, each with its line number."""
    pairs = []
    for number, line in enumerate(block.lines, block.first):
        if line.startswith("$ "):
            pairs.append((line[2:], []))
        elif pairs and pairs[-1][0].endswith("\\") and not pairs[-1][1]:
            pairs[-1] = (pairs[-1][0] + "\n" + line.removeprefix("> "), [])
        elif pairs:
            pairs[-1][1].append((number, line))
        else:
            raise Failure(f"line {number + 1}: output before the first command")
    return pairs


# What gdb's user types.
TYPED = "(gdb) "
# Those that know RISC-V, as `pinion debug` looks for them.
GDBS = ["gdb-multiarch", "riscv64-unknown-elf-gdb", "riscv64-elf-gdb", "riscv32-unknown-elf-gdb"]


def gdb_session(command, typed):
    """A command in the shell that runs `pinion debug` on a terminal and types what a page shows."""
    lines = ["set pagination off", "set width 0"]
    for line in typed:
        lines += [f"echo {TYPED}{line}\\n", line]
    script = "\n".join(lines)
    session = f"{command} -- -nx -batch -x typed.gdb"
    return (
        f"cat > typed.gdb <<'TYPED'\n{script}\nTYPED\n"
        f"(set -o pipefail; TERM=dumb script -qec '{session}' /dev/null | tr -d '\\r')"
    )


class Shell:
    """A shell in a folder of its own that keeps its state from command to command."""

    MARK = "-- end of output, status "

    def __init__(self, folder, pinion):
        tools = folder / "bin"
        tools.mkdir()
        (tools / "pinion").symlink_to(pinion)
        self.folder = folder / "pinion"
        self.folder.mkdir()
        shutil.copytree(
            REPOSITORY / "examples",
            self.folder / "examples",
            ignore=shutil.ignore_patterns("build", "*.py"),
        )
        shutil.copytree(REPOSITORY / "machines", self.folder / "machines")
        for part in ("handlers", "service"):  # what errors.md shows
            shutil.copytree(REPOSITORY / "tests/faults" / part, self.folder / "tests/faults" / part)
        for part in ("moves", "words"):  # what hardware-loop.md shows
            shutil.copytree(REPOSITORY / "tests/hardware" / part, self.folder / "tests/hardware" / part)
        if (REPOSITORY / ".toolchain").exists():
            (self.folder / ".toolchain").symlink_to(REPOSITORY / ".toolchain")
        self.process = subprocess.Popen(
            ["bash", "--norc"],
            cwd=self.folder,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.status = 0

    def run(self, command):
        """Gives the lines of output and the status."""
        self.process.stdin.write(
            f"{{ (exit {self.status})\n{command}\n}} 2>&1 </dev/null\n"
            f"printf '\\n{self.MARK}%s\\n' $?\n"
        )
        self.process.stdin.flush()
        lines = []
        late = threading.Timer(SECONDS, self.process.kill)
        late.start()
        for line in self.process.stdout:
            if line.startswith(self.MARK):
                self.status = int(line.removeprefix(self.MARK))
                break
            lines.append(line.rstrip("\n"))
        else:
            raise Failure(f"`{command}` ended the shell, or took longer than {SECONDS} s")
        late.cancel()
        if lines and not lines[-1]:
            lines.pop()
        return lines, self.status

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def pattern(line, loose):
    """A regular expression for an expected line: `…` is a group, blanks and numbers may be loose."""
    parts = []
    for part in line.split("…"):
        pieces = NUMBER.split(part) if loose else [part]
        parts.append(ANY_NUMBER.join(flexible(piece, loose) for piece in pieces))
    return re.compile("(.*)".join(parts) + r"\s*$")


def flexible(text, loose):
    return re.sub(r"(\\ )+", r"\\s*", re.escape(text)) if loose else re.escape(text)


def compare(expected, found, loose):
    """Matches expected lines to found ones in order; gives (line number, found line) pairs."""
    at, pairs = 0, []
    for number, line in expected:
        if line.strip() == "…":
            continue
        matching = pattern(line, loose)
        while at < len(found) and not matching.match(found[at]):
            at += 1
        if at == len(found):
            output = "\n       ".join(found)
            raise Failure(f"line {number + 1}: `{line}` did not come out, but\n       {output}")
        pairs.append((number, found[at], matching.match(found[at])))
        at += 1
    return pairs


def refreshed(line, found, match):
    """The found line with `…` where the expected one has it; the expected one, if that still fits."""
    if "…" not in line:
        return found.rstrip()
    if pattern(line, loose=False).match(found):
        return line
    pieces, at = [], 0
    for group in range(1, match.re.groups + 1):
        # Where blanks are loose, a group swallows those beside it.
        text = match[group]
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        pieces.append(found[at : match.start(group)] + before + "…" + (after if text.strip() else ""))
        at = match.end(group)
    return ("".join(pieces) + found[at:]).rstrip()


def run_page(path, pinion, loose, write):
    """Runs a page's blocks; gives the number of commands run."""
    text = path.read_text()
    lines, count = text.split("\n"), 0
    found_blocks = [b for b in blocks(text) if b.file() or b.is_run()]
    if not found_blocks:
        return 0
    with tempfile.TemporaryDirectory(prefix="pinion-docs-") as name:
        shell = Shell(Path(name), pinion)
        try:
            for block in found_blocks:
                if block.file():
                    target = shell.folder / block.file()
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_text("\n".join(block.lines) + "\n")
                    continue
                pairs = commands(block)
                for index, (command, expected) in enumerate(pairs):
                    typed = [line[len(TYPED):] for _, line in expected if line.startswith(TYPED)]
                    if typed and not any(map(shutil.which, GDBS)):
                        print(f"{path.name}: `{command}` left out, no gdb knows RISC-V")
                        continue
                    found, status = shell.run(gdb_session(command, typed) if typed else command)
                    count += 1
                    follows = pairs[index + 1][0] if index + 1 < len(pairs) else ""
                    if status and follows != "echo $?":
                        output = "\n       ".join(found)
                        raise Failure(f"`{command}` ended with {status}:\n       {output}")
                    for number, line, match in compare(expected, found, loose or write):
                        lines[number] = refreshed(lines[number], line, match)
            check_pictures(path, text, shell.folder, loose, write)
        finally:
            shell.close()
    if write:
        path.write_text("\n".join(lines))
    return count


def made_pictures(text):
    """Pairs of a file that a page's commands make and the picture in the book that it is."""
    return re.findall(r"<!-- made: (\S+) -->\n!\[[^]]*\]\(([^)]+)\)", text)


def check_pictures(path, text, folder, loose, write):
    for made, picture in made_pictures(text):
        found, shown = (folder / made).read_bytes(), path.parent / picture
        if write:
            shown.write_bytes(found)
        elif not loose and (not shown.exists() or shown.read_bytes() != found):
            raise Failure(f"{picture} is not what the commands make ({made}); --write puts it in")


FENCED = re.compile(r"(^```.*?^```$)", re.S | re.M)
COPY = re.compile(r"(<!-- copy of (\S+) -->\n)(.*?)(<!-- end of copy -->)", re.S)
# Pages of the book that are copies, by the files they are copies of.
PAGES = {"sdk/README.md": "docs/src/sdk.md", "sdk/MANIFEST.md": "docs/src/manifest.md"}


def copied(source, page):
    """A file's text as it stands in a page: links lead where they led, its title is a heading."""

    def moved(link):
        target, hash_, anchor = link[2].partition("#")
        if not target or re.match(r"https?://|mailto:", target):
            return link[0]
        place = (source.parent / target).resolve().relative_to(REPOSITORY)
        place = PAGES.get(str(place), str(place))
        return f"{link[1]}({os.path.relpath(REPOSITORY / place, page.parent)}{hash_}{anchor})"

    parts = FENCED.split(re.sub(r"(\])\(([^)\s]+)\)", moved, source.read_text()))
    if any(re.search(r"^# ", part, re.M) for part in parts[::2]):
        parts[::2] = [re.sub(r"^#", "##", part, flags=re.M) for part in parts[::2]]
    return "".join(parts)


def copy_problems(write):
    """Copies that differ from their files, and what only a book's renderer would put in."""
    for page in sorted(BOOK.rglob("*.md")):
        text = page.read_text()
        if "{{#include" in text:
            yield f"{page.name}: {{{{#include}}}} shows nothing where the page is read as it is"
        fresh = COPY.sub(lambda m: m[1] + copied((page.parent / m[2]).resolve(), page) + m[4], text)
        if write:
            page.write_text(fresh)
        elif fresh != text:
            yield f"{page.name}: a copy differs from its file; --write refreshes it"


def headings(text):
    """The anchors of a page, as mdBook and GitHub make them."""
    found = re.findall(r"^#+ +(.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in found}


def link_problems(path):
    """Links to files and headings that do not exist."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
    targets = re.findall(r"\]\(([^)\s]+)\)|<!-- copy of (\S+) -->|<img src=\"([^\"]+)\"", text)
    for target in (next(filter(None, found)) for found in targets):
        if re.match(r"https?://|mailto:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            yield f"{target}: no such file"
        elif not file.is_relative_to(REPOSITORY):
            yield f"{target}: outside the repository"
        elif anchor and file.suffix == ".md" and anchor not in headings(file.read_text()):
            yield f"{target}: no such heading"


def summary_problems():
    """Pages that the book's SUMMARY.md does not list, or lists twice; tables that no page shows."""
    listed = re.findall(r"\]\(([^)]+)\)", (BOOK / "SUMMARY.md").read_text())
    shown = set()
    for page in sorted(BOOK.rglob("*.md")):
        name = str(page.relative_to(BOOK))
        copies = [source for _, source, _, _ in COPY.findall(page.read_text())]
        shown |= {(page.parent / source).resolve() for source in copies}
        if name != "SUMMARY.md" and listed.count(name) != 1:
            yield f"{name} is in SUMMARY.md {listed.count(name)} times"
    for table in sorted(TABLES.glob("*.md")):
        if table not in shown:
            yield f"docs/tables/{table.name} is in no page"


def text_problems():
    """Pages without a text of their own: only a copy, or only tables."""
    for page in sorted(BOOK.rglob("*.md")):
        text = FENCED.sub("", COPY.sub("", page.read_text()))
        has_paragraph = any(re.match(r"[A-Z`]", part) for part in re.split(r"\n\s*\n", text))
        if page.name != "SUMMARY.md" and not (text.startswith("# ") and has_paragraph):
            yield f"{page.name} needs a title and a paragraph that says what it is for"


def column_problems():
    """Figures whose columns are not those that the page about columns lists."""
    listed = {}
    for line in (BOOK / "columns.md").read_text().splitlines():
        if line.startswith("| `") and line.count("|") == 4:
            names, columns = (re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:3])
            listed |= dict.fromkeys(names, columns)
    for table in sorted((BOOK / "figures").glob("*-*.csv")):
        with table.open(newline="") as file:
            columns = next(csv.reader(file))
        if (REPOSITORY / f"figures/{table.stem}.toml").exists() and listed.get(table.stem) != columns:
            yield f"columns.md: {table.stem} has {columns}"


def path_problems():
    """Paths in texts that lead nowhere, those of the guided walk below crates/; crates it leaves out."""
    walk = (BOOK / "development.md").read_text()
    for crate in sorted((REPOSITORY / "crates").iterdir()):
        if f"| `{crate.name}` |" not in walk:
            yield f"development.md: {crate.name} is not in its table"
    ignored = (REPOSITORY / ".gitignore").read_text().split()
    made = {line.strip("/") for line in ignored}  # what comes and goes
    folders = {path.name for path in REPOSITORY.iterdir() if path.is_dir()} - made
    texts = [*sorted(REPOSITORY.glob("*.md")), *sorted(BOOK.rglob("*.md"))]
    for text in texts:
        for path in re.findall(r"`([\w.-]+(?:/[\w.-]+)+/?)`", FENCED.sub("", text.read_text())):
            first = path.partition("/")[0]
            is_code = re.match(r"pinion[\w-]*/src/", path)
            is_ours = is_code or first in folders and not re.search(r"[A-Z]{2}", path)
            if is_ours and not (REPOSITORY / ("crates" if is_code else "") / path).exists():
                yield f"{text.name}: there is no {path}"


def key_problems():
    """Keys that the page about JSON documents names and that their schema does not have."""
    kinds = ["packet_handlers", "nanoservice", "cluster"]
    schema = json.loads((BOOK / "schema/documents.schema.json").read_text())["$defs"]
    for line in (BOOK / "json.md").read_text().splitlines():
        cells = line.strip("| ").split(" | ")
        for kind, cell in zip(kinds, cells[1:] if len(cells) == 4 and "?" in cells[0] else []):
            for key in re.findall(r"`(\w+)[^`]*`", cell):
                if key not in schema[kind]["properties"]:
                    yield f"json.md: `{key}` is no key of {kind}"


def unit_problems():
    """Source files that the page about the machine names and that do not exist."""
    sources = []
    for line in (BOOK / "machine.md").read_text().splitlines():
        if line.startswith("Files are those of"):
            sources = [REPOSITORY / source for source in re.findall(r"`(crates/[\w/-]+)`", line)]
        if line.startswith("| ") and line.count("|") >= 4:
            for name in re.findall(r"`([\w/-]+(?:\.rs|/))`", line.split("|")[2]):
                if not any((source / name).exists() for source in [*sources, REPOSITORY]):
                    yield f"machine.md: there is no {name}"


def quotation_problems(write):
    """What README and book say about calibration must be what the tables say."""
    wanted = [(TABLES / name).read_text().strip().splitlines()[-1] for name in CALIBRATIONS]
    for page in (REPOSITORY / "README.md", BOOK / "trust.md"):
        text = page.read_text()
        found = VERDICT.findall(text)
        if write and len(found) == len(wanted):
            verdicts = iter(wanted)
            page.write_text(VERDICT.sub(lambda _: next(verdicts), text))
        elif found != wanted:
            yield f"{page.name} does not say, once each and in this order: {' '.join(wanted)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", help="the command to test [default: the newest in target/]")
    parser.add_argument("--write", action="store_true", help="put what came out into the pages")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE")
    arguments = parser.parse_args()
    pinion = find_pinion(arguments.pinion)
    failures = 0

    def report(what, problems):
        nonlocal failures
        problems = list(problems)
        failures += bool(problems)
        print(f"{'FAIL' if problems else 'ok  '} {what}")
        for problem in problems:
            print(f"     {problem}")

    pages = [page.resolve() for page in arguments.pages] or [
        REPOSITORY / "README.md",
        *sorted(BOOK.rglob("*.md")),
    ]
    loose = not is_reference_compiler()
    for page in pages:
        name = page.relative_to(REPOSITORY)
        if not installed_compilers():
            print(f"skip {name}: no RISC-V compiler")
            continue
        try:
            started = time.monotonic()
            count = run_page(page, pinion, loose, arguments.write)
            if count:
                report(f"{name}: {count} commands ({time.monotonic() - started:.1f} s)", [])
        except (Failure, OSError) as problem:
            report(name, [problem, "(where only numbers have changed, --write puts them in)"])
    if not arguments.pages:
        texts = [*sorted(REPOSITORY.glob("*.md")), *sorted(BOOK.rglob("*.md"))]
        texts += sorted(REPOSITORY.glob("examples/*/README.md")) + [REPOSITORY / "sdk/README.md"]
        found = [f"{t.relative_to(REPOSITORY)}: {p}" for t in texts for p in link_problems(t)]
        report(f"links of {len(texts)} pages", found)
        report("every page is in SUMMARY.md", summary_problems())
        report("every page has a text", text_problems())
        report("pages are whole", copy_problems(arguments.write))
        report("the units' files", unit_problems())
        report("the paths in texts", path_problems())
        report("the figures' columns", column_problems())
        report("the documents' keys", key_problems())
        report("what is quoted from the calibration", quotation_problems(arguments.write))
    elif arguments.write:
        report("pages are whole", copy_problems(True))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
