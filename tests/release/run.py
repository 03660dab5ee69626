#!/usr/bin/env python3
"""Tests what `make dist` makes, but for compiling it: what lies where in each package, that its bytes do not
depend on place and time, and that nothing names the computer it was made on.

    python3 tests/release/run.py [--pinion PATH]

The packages hold a script that calls the command to test. What a real build gives is compared by
scripts/reproducible.py. Exit status 0 when all is well.
"""

import argparse
import email
import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "scripts")]
import dist  # noqa: E402
import packing  # noqa: E402
from common import Difference, Skip, check, check_in, find_pinion, installed_compilers  # noqa: E402

EPOCH = 1_700_000_000
VERSION = dist.version()
NAME = f"pinion-{VERSION}-{dist.HOST}"
METADATA = f"Metadata-Version: 2.1\nName: pinion\nVersion: {VERSION}\n"
WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
# What each shell's completions begin with, or call.
SHELLS = {"bash": "_pinion()", "zsh": "#compdef pinion", "fish": "complete -c pinion"}


def stand_in(pinion, folder):
    """A command that is packed in no time."""
    script = folder / "pinion"
    script.write_text(f'#!/bin/sh\nexec "{pinion}" "$@"\n')
    script.chmod(packing.EXECUTABLE)
    return script


def tree_of(pinion, folder):
    tree = dist.command_tree(stand_in(pinion, folder))
    # What is packed must not hang on where this test runs.
    return {**tree, "bin/pinion": (b"#!/bin/sh\n", packing.EXECUTABLE)}


def twice(write, folder):
    """Writes a package in two folders, with another umask the second time; the bytes must be equal."""
    paths = []
    for place, umask in (("a", 0o022), ("further/down", 0o077)):
        (folder / place).mkdir(parents=True)
        before = os.umask(umask)
        try:
            paths.append(write(folder / place))
        finally:
            os.umask(before)
    one, other = (path.read_bytes() for path in paths)
    check(one == other, f"{paths[0].name} differs between two folders")
    return paths[0]


def verbs(pinion):
    """The commands that `pinion --help` lists."""
    told = subprocess.run([pinion, "--help"], capture_output=True, text=True, check=True).stdout
    listed = told.split("Commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines() if not line.split()[0] == "help"]


def test_completions_and_pages_cover_every_command(pinion, folder):
    tree = tree_of(pinion, folder)
    names = verbs(pinion)
    check({"run", "doctor", "man"} <= set(names), f"commands: {names}")
    for name in names:
        page = tree.get(f"share/man/man1/pinion-{name}.1", (b"", 0))[0].decode()
        check_in(f".TH pinion-{name} 1", page)
    for shell, sign in SHELLS.items():
        script = tree[dist.COMPLETIONS[shell]][0].decode()
        check_in(sign, script)
        missing = [name for name in names if not re.search(rf"\b{name}\b", script)]
        check(not missing, f"{shell} does not complete {missing}")


def test_archive(pinion, folder):
    tree = tree_of(pinion, folder)
    path = twice(lambda out: dist.write_archive(out, tree, dist.HOST, EPOCH), folder)
    listed = subprocess.run(["tar", "-tvzf", path], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        check_in("root/root", line)
        check(line.split()[5].startswith(NAME), f"beside its folder: {line}")
    inside = packing.read_tar(path)
    check(inside[f"{NAME}/bin/pinion"][1] == packing.EXECUTABLE, "the command is not executable")
    for name in [*dist.COMPLETIONS.values(), "share/man/man1/pinion.1", "share/doc/pinion/LICENSE-MIT"]:
        check(f"{NAME}/{name}" in inside, f"{name} is missing")
    times = {line.split()[3] for line in listed.splitlines()}
    check(times == {"2023-11-14"} or times == {"2023-11-15"}, f"times: {times}")


def test_binstall_finds_the_archive_and_the_command(pinion, folder):
    manifest = tomllib.loads((REPOSITORY / "crates/pinion/Cargo.toml").read_text())
    data = manifest["package"]["metadata"]["binstall"]
    values = {
        "repo": "https://example.org/pinion",
        "name": manifest["package"]["name"],
        "version": VERSION,
        "target": dist.HOST,
        "archive-suffix": {"tgz": ".tar.gz"}[data["pkg-fmt"]],
        "bin": "pinion",
        "binary-ext": "",
    }

    def filled(template):
        return re.sub(r"\{ ([\w-]+) \}", lambda found: values[found[1]], template)

    path = dist.write_archive(folder, tree_of(pinion, folder), dist.HOST, EPOCH)
    check(filled(data["pkg-url"]).endswith(f"/v{VERSION}/{path.name}"), filled(data["pkg-url"]))
    inside = packing.read_tar(path)
    check(filled(data["bin-dir"]) in inside, f"{filled(data['bin-dir'])} is not in the archive")


INSTRUCTIONS = {"FROM", "RUN", "COPY", "USER", "WORKDIR", "ENTRYPOINT", "CMD", "ENV", "ARG", "LABEL"}
# What of a devcontainer.json is used here, of its published schema.
DEVCONTAINER = {"name", "build", "runArgs", "postCreateCommand", "remoteUser", "customizations"}


def instructions(path):
    """The instructions of a container file, each with its words."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    logical = "\n".join(lines).replace("\\\n", " ").splitlines()
    pairs = [line.split(None, 1) for line in logical if line.strip()]
    unknown = {pair[0] for pair in pairs} - INSTRUCTIONS
    check(not unknown and pairs[0][0] == "FROM", f"{path}: {unknown or 'it begins with no image'}")
    check(all(len(pair) == 2 for pair in pairs), f"{path}: an instruction without words")
    return pairs


def test_container_files_can_be_read(pinion, folder):
    """As far as that goes without their images, which are a registry's."""
    place = REPOSITORY / ".devcontainer"
    told = json.loads((place / "devcontainer.json").read_text())
    check(set(told) <= DEVCONTAINER, f"unknown: {set(told) - DEVCONTAINER}")
    context = (place / told["build"]["context"]).resolve()
    check(context == REPOSITORY, f"its context is {context}")
    made = subprocess.run(["make", "-n", *told["postCreateCommand"].split()[1:]], cwd=context, check=False)
    check(made.returncode == 0, f"{told['postCreateCommand']} is no rule")
    found = instructions(place / told["build"]["dockerfile"]) + instructions(REPOSITORY / "packaging/Containerfile")
    for name, words in found:
        if name == "COPY" and "*" not in words:
            check((REPOSITORY / words.split()[0]).exists(), f"COPY {words}")
        if name == "RUN":
            shell = subprocess.run(["sh", "-n", "-c", words], capture_output=True, text=True, check=False)
            check(shell.returncode == 0, shell.stderr)
    if cli := shutil.which("devcontainer"):
        command = [cli, "read-configuration", "--workspace-folder", REPOSITORY, "--docker-path", "true"]
        read = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        check_in('"name":"Pinion"', read)


def test_debian_package(pinion, folder):
    tree = tree_of(pinion, folder)
    path = twice(lambda out: dist.write_debian(out, tree, EPOCH), folder)
    control, inside = packing.read_deb(path)
    fields = email.message_from_string(control)
    check((fields["Package"], fields["Version"]) == ("pinion", VERSION), control)
    check(fields["Architecture"] == "amd64" and int(fields["Installed-Size"]) > 100, control)
    check(fields["Depends"] is None, "a static command depends on nothing")
    check_in("gcc-riscv64-unknown-elf", fields["Recommends"])
    check(inside["usr/bin/pinion"][1] == packing.EXECUTABLE, "the command is not executable")
    for name in verbs(pinion):
        check(f"usr/share/man/man1/pinion-{name}.1.gz" in inside, f"no page of {name}")
    for name in ("bash-completion/completions/pinion", "zsh/vendor-completions/_pinion"):
        check(f"usr/share/{name}" in inside, f"{name} is missing")
    copyright = inside["usr/share/doc/pinion/copyright"][0].decode()
    check("@" not in copyright.replace("@ ", ""), "a mark is left in the copyright file")
    check_in("Permission is hereby granted", copyright)
    changelog = gzip.decompress(inside["usr/share/doc/pinion/changelog.gz"][0]).decode()
    check(changelog.startswith(f"pinion ({VERSION}) unstable"), changelog)
    check_in("Tue, 14 Nov 2023 22:13:20 +0000", changelog)
    subprocess.run(["dpkg-deb", "--control", path, folder / "control"], check=True)
    sums = (folder / "control/md5sums").read_text().splitlines()
    found = {line.split("  ")[1]: line.split("  ")[0] for line in sums}
    check(found.keys() == inside.keys(), "md5sums lists other files")
    check(all(hashlib.md5(inside[name][0]).hexdigest() == found[name] for name in found), "md5sums")


def test_wheel_gets_command_completions_pages_and_lists(pinion, folder):
    information = f"pinion-{VERSION}.dist-info"
    made = {
        "pinion/__init__.py": (b"", packing.PLAIN),
        f"{information}/METADATA": (METADATA.encode(), packing.PLAIN),
        f"{information}/WHEEL": (WHEEL.encode(), packing.PLAIN),
        f"{information}/RECORD": (b"", packing.PLAIN),
        f"{information}/sboms/by-maturin.json": (b"{}", packing.PLAIN),
    }
    tree = tree_of(pinion, folder)

    def write(out):
        built = out / "built"
        built.mkdir()
        wheel = built / f"pinion-{VERSION}-py3-none-any.whl"
        packing.write_wheel(wheel, made, EPOCH)
        script = out / "pinion"
        script.write_bytes(b"#!/bin/sh\n")
        packing.add_command(wheel, script, EPOCH)
        return dist.write_wheel(out, wheel, tree, {"pinion.cdx.json": b"{}"}, EPOCH)

    path = twice(write, folder)
    inside = packing.read_wheel(path)
    data = f"pinion-{VERSION}.data"
    check(inside[f"{data}/scripts/pinion"][1] == packing.EXECUTABLE, "the command is not executable")
    check(f"{data}/data/share/man/man1/pinion-run.1" in inside, "no manual pages")
    check(f"{data}/data/{dist.COMPLETIONS['fish']}" in inside, "no completions")
    lists = [name for name in inside if "/sboms/" in name]
    check(lists == [f"{information}/sboms/pinion.cdx.json"], f"lists: {lists}")
    # pip checks RECORD by itself when it installs: without dependencies, it needs no network.
    target = folder / "installed"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
        + [target, path],
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"},
        check=True,
    )
    check((target / "bin/pinion").stat().st_mode & stat.S_IXUSR, "pip has not installed the command")


def test_the_wheel_names_the_compiler_that_the_sdk_pins(_pinion, _folder):
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    for part in ("sdk.toml", "nanopu/sdk.toml", "native/sdk.toml"):
        pinned = tomllib.loads((REPOSITORY / "sdk" / part).read_text())["zig"]["wheel"]
        check(pinned in project["dependencies"], f"sdk/{part} pins {pinned}, the wheel does not")


def test_list_of_crates_names_every_locked_one(_pinion, folder):
    if not (dist.CYCLONEDX_FOLDER / "bin/cargo-cyclonedx").exists():
        raise Skip("cargo-cyclonedx is not there; `make dist` brings it")
    lock = tomllib.loads((REPOSITORY / "Cargo.lock").read_text())["package"]
    locked = {(package["name"], package["version"]) for package in lock}
    for package in ("pinion", "pinion-python"):
        command = ["cargo", "tree", "--locked", "--offline", "--package", package, "--prefix", "none"]
        command += ["--edges", "normal,build", "--target", dist.HOST, "--format", "{p}"]
        told = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
        linked = {tuple(line.split()[:2]) for line in told.splitlines() if line.strip()}
        linked = {(name, number.removeprefix("v")) for name, number in linked}
        text = dist.list_crates(package, dist.HOST, dist.environment(EPOCH))
        document = json.loads(text)
        check(document["bomFormat"] == "CycloneDX", "that is no CycloneDX")
        listed = {(part["name"], part["version"]) for part in document["components"]}
        listed.add((package, VERSION))
        check(not linked - listed, f"{package}: not listed: {sorted(linked - listed)}")
        check(not listed - locked, f"{package}: not locked: {sorted(listed - locked)}")
        dist.check_private(package, text)
        again = dist.list_crates(package, dist.HOST, dist.environment(EPOCH))
        check(again == text, "the second time it is another")


def test_places_of_this_computer_are_found(_pinion, folder):
    (folder / "out").mkdir()
    tree = {"bin/pinion": (f"built in {REPOSITORY}/crates".encode(), packing.EXECUTABLE)}
    dist.write_archive(folder / "out", tree, dist.HOST, EPOCH)
    try:
        dist.check_whole(folder / "out")
    except dist.Failure as failure:
        check_in("bin/pinion names", str(failure))
    else:
        raise Difference("a folder of this computer goes unnoticed")


def test_builds_see_no_place(_pinion, _folder):
    settings = dist.environment(EPOCH, Path("/somewhere/else"))
    flags = settings["CARGO_ENCODED_RUSTFLAGS"].split("\x1f")
    check("--remap-path-prefix=/somewhere/else=/pinion" in flags, f"{flags}")
    check(settings["SOURCE_DATE_EPOCH"] == str(EPOCH), "the time is another")
    check("RUSTFLAGS" not in settings, "flags of this computer get through")


def test_counts_become_a_file_to_compile_by(_pinion, folder):
    path = dist.keep_counts(lzma.compress(b"counts"), folder)
    check(path.read_bytes() == b"counts", "other counts")
    other = dist.keep_counts(lzma.compress(b"other counts"), folder)
    check(path.name != other.name, "cargo would not see that they are others")
    settings = dist.environment(EPOCH, flags=[f"-Cprofile-use={path}"])
    check(f"-Cprofile-use={path}" in settings["CARGO_ENCODED_RUSTFLAGS"].split("\x1f"), "nobody uses them")
    try:
        dist.keep_counts(lzma.compress(f"counted in {REPOSITORY}".encode()), folder)
    except dist.Failure as failure:
        check_in("what was counted names", str(failure))
    else:
        raise Difference("a folder of this computer goes unnoticed")


def test_counts_that_are_none_are_refused(_pinion, folder):
    (folder / "counts").write_text("nothing of the kind")
    command = [sys.executable, REPOSITORY / "scripts/dist.py", "--out", folder / "out", "--counts"]
    for name, said in [("counts", "is no .profdata.xz of a release"), ("missing", "No such file")]:
        done = subprocess.run([*command, folder / name], capture_output=True, text=True, check=False)
        check(done.returncode == 2, f"exit status {done.returncode}")
        check_in(said, done.stderr)
        check_in(str(folder / name), done.stderr)
        check(not (folder / "out").exists(), "a folder is left behind")


def test_containers(_pinion, _folder):
    text = (REPOSITORY / "packaging/Containerfile").read_text()
    copied = re.findall(r"^COPY (\S+) ", text, re.MULTILINE)
    check(copied == ["pinion_*_amd64.deb"], f"copied: {copied}")
    check(Path(f"pinion_{VERSION}_amd64.deb").match(copied[0]), "that is not what is made")
    folder = REPOSITORY / ".devcontainer"
    described = json.loads((folder / "devcontainer.json").read_text())
    check((folder / described["build"]["dockerfile"]).is_file(), "its Containerfile is missing")
    check_in("scripts/setup.sh test", (folder / "Containerfile").read_text())


def test_musl_says_what_it_needs(_pinion, _folder):
    target = "x86_64-unknown-linux-musl"
    try:
        dist.check_target(target)
    except dist.Failure as failure:
        check_in(f"rustup target add {target}", str(failure))
        return
    check(list(Path(sysroot()).glob(f"lib/rustlib/{target}/lib/libstd-*")), "it is not there")


# What zig lacks, and what asks for it: options of the manifest, source.
LACKING = {
    "nested functions": ([], "int outer(int a) { int add(int b) { return a + b; } return add(1); }\n"),
    "linker options like -Map, --defsym, --wrap, --no-relax": (["-Wl,--no-relax"], ""),
    "options that only gcc knows": (["-fno-tree-loop-distribute-patterns"], ""),
    "GNU's names for -march and -mtune": (["-mtune=thead-c906"], ""),
    "libraries that come with gcc (-lgcc)": (["-lgcc"], ""),
}


def test_doctor_and_builds_say_what_zig_lacks(pinion, folder):
    if "zig" not in installed_compilers():
        raise Skip("zig is not installed")
    subprocess.run([pinion, "new", "app"], cwd=folder, capture_output=True, check=True)
    manifest, source = (folder / "app" / name for name in ("app.toml", "app.c"))
    before = (manifest.read_text(), source.read_text())
    for what, (options, text) in LACKING.items():
        manifest.write_text(before[0].replace("sources =", f"cflags = {json.dumps(options)}\nsources =", 1))
        source.write_text(before[1] + text)
        for compiler in installed_compilers():
            command = [pinion, "build", "app", "--cc", compiler, "--out", folder / "app.elf"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if compiler == "gcc":
                check(done.returncode == 0, f"gcc lacks {what}, too:\n{done.stderr}")
            else:
                check(done.returncode == 2, f"zig has {what}: {done.returncode}")
                check_in(f"zig has no {what}, but gcc has: as root, apt-get", done.stderr)
    bare = {**os.environ, "PATH": str(folder)}
    told = subprocess.run([pinion, "doctor"], env=bare, capture_output=True, text=True, check=True).stdout
    listed = [line.strip() for line in told.split("has it:\n")[-1].splitlines()]
    check(listed == list(LACKING), f"doctor lists other things:\n{told}")


def test_zig_is_found_beside_the_command_and_by_the_package(pinion, folder):
    if "zig" not in installed_compilers():
        raise Skip("zig is not installed")
    environment = REPOSITORY / ".toolchain/venv"
    (module,) = environment.glob("lib/*/site-packages/ziglang")
    # As an installer leaves it: a Python, its packages, and a copy of the command beside it.
    (folder / "bin").mkdir()
    link(pinion, folder / "bin/pinion")
    python = os.path.realpath(environment / "bin/python")
    (folder / "bin/python").symlink_to(python)
    packages = folder / "lib" / module.parent.parent.name / "site-packages"
    packages.mkdir(parents=True)
    (packages / "ziglang").symlink_to(module)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(python).parent}\n")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    link(pinion, elsewhere / "pinion")
    bare = {"PATH": "/nowhere", "HOME": str(folder)}
    for command, settings in [
        (folder / "bin/pinion", {}),
        (elsewhere / "pinion", {"PINION_PYTHON": str(folder / "bin/python")}),
    ]:
        told = subprocess.run(
            [command, "doctor"], cwd=folder, env={**bare, **settings}, capture_output=True, text=True, check=True
        ).stdout
        check_in(f"{folder}/bin/python -m ziglang cc", told)
    told = subprocess.run([elsewhere / "pinion", "doctor"], cwd=folder, env=bare, capture_output=True, text=True)
    check_in("No compiler for handlers", told.stdout)


def link(source, place):
    """A second name for a file that is large, or a copy where there can be none."""
    try:
        os.link(source, place)
    except OSError:
        shutil.copy(source, place)


def sysroot():
    command = ["rustc", "--print", "sysroot"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


TESTS = {
    test_completions_and_pages_cover_every_command: (),
    test_archive: ("tar",),
    test_binstall_finds_the_archive_and_the_command: (),
    test_container_files_can_be_read: ("make",),
    test_debian_package: ("dpkg-deb",),
    test_wheel_gets_command_completions_pages_and_lists: (),
    test_the_wheel_names_the_compiler_that_the_sdk_pins: (),
    test_list_of_crates_names_every_locked_one: ("cargo",),
    test_places_of_this_computer_are_found: (),
    test_builds_see_no_place: (),
    test_counts_become_a_file_to_compile_by: (),
    test_counts_that_are_none_are_refused: (),
    test_containers: (),
    test_musl_says_what_it_needs: ("rustc",),
    test_doctor_and_builds_say_what_zig_lacks: (),
    test_zig_is_found_beside_the_command_and_by_the_package: (),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", help="the command to test [default: the newest in target/]")
    pinion = find_pinion(parser.parse_args().pinion)
    failures = 0
    for test, tools in TESTS.items():
        title = f"release {test.__name__.removeprefix('test_')}"
        if missing := [tool for tool in tools if not shutil.which(tool)]:
            print(f"skip {title}: {', '.join(missing)} missing")
            continue
        with tempfile.TemporaryDirectory(prefix="pinion-release-") as folder:
            try:
                test(pinion, Path(folder))
                print(f"ok   {title}", flush=True)
            except Skip as reason:
                print(f"skip {title}: {reason}")
            except (Difference, dist.Failure, OSError, subprocess.CalledProcessError) as problem:
                failures += 1
                print(f"FAIL {title}: {problem}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
