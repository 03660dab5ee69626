"""MPI datatypes: messages from a sender, unpacked by handlers into a host program's memory,
compared there with MPI_Unpack; and the matrix multiplication meanwhile."""

import re
import shutil
import subprocess

from support import REPOSITORY, Skip, check, check_in, need

EXAMPLE = REPOSITORY / "examples/datatypes"
OVERLAP = REPOSITORY / "examples/gemm_overlap"
NIC = "10.11.0.2"
RECEIVER = (
    "receiver.c", "example_data.c", "mpi_types.c", "ddt_tree.c", "ddt_compile.c", "ddt_mpi.c",
)
SINGLETON = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_plm": "isolated",
    "OMPI_MCA_btl": "self",
    "OMPI_MCA_pml": "ob1",
    "OPENBLAS_NUM_THREADS": "1",
}


def mpi_flags():
    """What the MPI library's compiler adds."""
    if not shutil.which("mpicc"):
        raise Skip("mpicc is not installed")
    words = []
    for part in ("compile", "link"):
        command = ["mpicc", f"--showme:{part}"]
        words += subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return words


def compile_host(bench, name, sources, *flags):
    out = bench.folder / name
    command = [bench.pinion, "fpspin", "compile", *sources, "-o", out, "--", "-O2", *flags]
    return bench.make(out, [*sources, *flags], lambda: bench.run(command))


def receiver(bench):
    sources = [EXAMPLE / "host" / name for name in ("receive.c", *RECEIVER)]
    return compile_host(bench, "receive", sources, *mpi_flags())


def sender(bench):
    names = ("send.c", "example_data.c", "ddt_tree.c", "ddt_text.c")
    return compile_host(bench, "send", [EXAMPLE / "host" / name for name in names])


def start_receiver(bench, program, elf, *options):
    process = bench.start([program, *options, elf], **SINGLETON)
    process.wait_for("ready for")
    return process


def exchange(bench, text, elements, messages, slots, first=1):
    program, send = receiver(bench), sender(bench)
    bench.nic()
    elf = bench.build(EXAMPLE)
    process = start_receiver(bench, program, elf, "--type", text, "--elements", elements,
                             "--slots", slots, "--messages", messages)
    said = bench.run([send, text, elements, messages, first, NIC])
    check_in(f"{messages} of {messages} messages", said)
    check(process.finish() == 0, f"status\n{process.output()}")
    check_in(f"{messages} of {messages} messages, 0 wrong", process.output())
    return process.output()


def test_sixteen_messages_in_parallel(bench):
    exchange(bench, "hvec(2 1 2048)[vec(5 6 8)[ctg(18)[float]]]", 2, 16, 16)


def test_gaps_overlaps_and_negative_strides(bench):
    text = (
        "struct(2 -40 1 200 3 8)"
        "[sub(F 2 5 4 3 2 1 1)[int]; hvec(4 2 -50)[short_int]; res(-4 10)[char]]"
    )
    output = exchange(bench, text, 4, 3, 4, first=77)
    check(len(re.findall(r"message (77|78|79): ", output)) == 3, output)


def test_a_message_too_long_is_refused(bench):
    program, send = receiver(bench), sender(bench)
    bench.nic()
    process = start_receiver(bench, program, bench.build(EXAMPLE), "--type", "ctg(300)[double]",
                             "--elements", 1, "--messages", 2, "--seconds", 12)
    # Two elements, where there is room for one; then another message, in another slot.
    bench.start([send, "ctg(300)[double]", 2, 1, 1, NIC])
    bench.run([send, "ctg(300)[double]", 1, 1, 2, NIC])
    check(process.finish() == 1, f"status\n{process.output()}")
    check_in("1 of 2 messages, 0 wrong", process.output())
    check_in("message 2: 2400 bytes in slot 2, as MPI_Unpack", process.output())
    check_in("the message does not fit the datatype", process.output())


def test_bad_types_are_refused_before_the_nic_is_asked(bench):
    program = receiver(bench)
    deep = "hvec(2 1 64)[" * 13 + "int" + "]" * 13
    for options, why in (
        (("--type", deep), "loops deep"),
        (("--type", "ctg(0)[int]"), "has no data"),
        (("--type", "vec(1000 1 1000000)[double]"), "2 GiB"),
        (("--type", "simple", "--elements", 10000), "the window has"),
    ):
        said = bench.run([program, *options, "no.elf"], status=1, **SINGLETON)
        check_in(why, said)


def test_overlap_with_a_multiplication(bench):
    need("mpicc")
    probe = subprocess.run(["cc", "-E", "-x", "c", "-"], input="#include <cblas.h>", text=True,
                           capture_output=True, check=False)
    if probe.returncode:
        raise Skip("no BLAS with cblas.h is installed")
    sources = [OVERLAP / "host/gemm_overlap.c", *(EXAMPLE / "host" / name for name in RECEIVER)]
    program = compile_host(bench, "gemm_overlap", sources, *mpi_flags(), "-lopenblas", "-lm")
    send = sender(bench)
    bench.nic()
    text = "vec(5 6 8)[ctg(18)[float]]"
    said = bench.run([program, "--type", text, "--elements", 2, "--messages", 4,
                      bench.build(OVERLAP), "--", send, text, 2, 4, NIC], seconds=300, **SINGLETON)
    ratios = [float(found) for found in re.findall(r"overlap ratio (\d\.\d+)", said)]
    check(ratios and all(0 < ratio <= 1 for ratio in ratios), said)
