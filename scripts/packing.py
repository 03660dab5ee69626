"""Archives that are the same bytes wherever and whenever they are made.

A tree is a dictionary: paths with `/`, and what lies there as bytes with a mode. Entries are written in the
order of their names, belong to root, and bear one time, SOURCE_DATE_EPOCH's.
"""

import base64
import csv
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

PLAIN, EXECUTABLE = 0o644, 0o755


def squeezed(data):
    """Bytes as a gzip file without name and time."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def folders_of(paths):
    """Every folder that paths lie in, those above first."""
    found = {str(parent) for path in paths for parent in Path(path).parents}
    return sorted(found - {"."})


def write_tar(path, tree, top, epoch):
    """Writes a tree below the folder `top` as .tar.gz."""
    tree = {f"{top}/{name}": entry for name, entry in tree.items()}
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted([*folders_of(tree), *tree]):
            data, mode = tree.get(name, (b"", EXECUTABLE))
            entry = tarfile.TarInfo(name)
            entry.mode, entry.mtime, entry.uname, entry.gname = mode, epoch, "root", "root"
            entry.type = tarfile.REGTYPE if name in tree else tarfile.DIRTYPE
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    path.write_bytes(squeezed(raw.getvalue()))


def read_tree(archive):
    """The tree in an opened tar archive."""
    return {
        member.name.removeprefix("./"): (archive.extractfile(member).read(), member.mode)
        for member in archive
        if member.isfile()
    }


def read_tar(path):
    """The tree in a .tar.gz."""
    with tarfile.open(path) as archive:
        return read_tree(archive)


def lay_out(tree, folder):
    """Writes a tree into a folder."""
    for name in folders_of(tree):
        (folder / name).mkdir(exist_ok=True)
        (folder / name).chmod(EXECUTABLE)
    for name, (data, mode) in tree.items():
        (folder / name).write_bytes(data)
        (folder / name).chmod(mode)


def write_deb(path, tree, control, epoch):
    """Writes a Debian package with dpkg-deb. `control` gets the installed size, in KiB, at its end."""
    if not shutil.which("dpkg-deb"):
        raise FileNotFoundError("dpkg-deb, which writes Debian packages, is not installed (package dpkg)")
    sizes = [(len(data) + 1023) // 1024 for data, _ in tree.values()]
    sums = [f"{hashlib.md5(data).hexdigest()}  {name}\n" for name, (data, _) in sorted(tree.items())]
    control = f"{control.rstrip()}\nInstalled-Size: {sum(sizes) + len(folders_of(tree))}\n"
    tree = {
        **tree,
        "DEBIAN/control": (control.encode(), PLAIN),
        "DEBIAN/md5sums": ("".join(sums).encode(), PLAIN),
    }
    with tempfile.TemporaryDirectory(prefix="pinion-deb-") as name:
        folder = Path(name)
        folder.chmod(EXECUTABLE)
        lay_out(tree, folder)
        # One thread: how many there are would decide where xz begins anew.
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", folder, path],
            env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
            stdout=subprocess.DEVNULL,
            check=True,
        )


def write_wheel(path, tree, epoch):
    """Writes a tree as a wheel; its RECORD, which must be there, is made anew."""
    (record,) = (name for name in tree if name.endswith(".dist-info/RECORD"))
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    # What says of the wheel comes last, as the format asks for.
    names = sorted(tree, key=lambda name: (".dist-info/" in name, name))
    for name in names:
        data = tree[name][0]
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        writer.writerow([name, "", ""] if name == record else [name, f"sha256={digest}", len(data)])
    tree = {**tree, record: (lines.getvalue().encode(), PLAIN)}
    # The format's times begin in 1980.
    moment = time.gmtime(max(epoch, 315532800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in names:
            data, mode = tree[name]
            entry = zipfile.ZipInfo(name, moment)
            entry.create_system, entry.external_attr = 3, (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def read_wheel(path):
    """The tree in a wheel."""
    with zipfile.ZipFile(path) as archive:
        return {
            entry.filename: (
                archive.read(entry),
                EXECUTABLE if entry.external_attr >> 16 & 0o100 else PLAIN,
            )
            for entry in archive.infolist()
            if not entry.is_dir()
        }


def normal_sbom(text, repository, epoch):
    """A CycloneDX document without what differs from build to build: where the project lies, the time, the
    random number, and the order of things."""
    document = json.loads(text.replace(repository.as_uri().removeprefix("file://"), "/pinion"))
    document.pop("serialNumber", None)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    document["metadata"]["timestamp"] = moment
    document["components"].sort(key=lambda component: component["bom-ref"])
    document["dependencies"].sort(key=lambda entry: entry["ref"])
    for entry in document["dependencies"]:
        entry.get("dependsOn", []).sort()
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def read_deb(path):
    """The control file and the tree of a Debian package, read by dpkg-deb."""
    control = subprocess.run(["dpkg-deb", "--field", path], capture_output=True, check=True).stdout
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return control.decode(), read_tree(archive)


def add_command(wheel, command, epoch):
    """Puts an executable into a wheel: installers put it where the environment has its commands."""
    tree = read_wheel(wheel)
    (record,) = (name for name in tree if name.endswith(".dist-info/RECORD"))
    place = record.removesuffix(".dist-info/RECORD") + ".data/scripts/" + command.name
    write_wheel(wheel, {**tree, place: (command.read_bytes(), EXECUTABLE)}, epoch)


if __name__ == "__main__":
    # scripts/wheel.sh: WHEEL COMMAND
    add_command(Path(sys.argv[1]), Path(sys.argv[2]), int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
