"""`pinion fpspin tree`: applications with FPsPIN's Makefiles build as they are.

The application below is our own; its Makefiles say what those of published applications say: where
they look for headers, libraries and rules, and what they call them.
"""

import os
import shutil
from pathlib import Path

from support import Skip, check, check_in, need

HANDLERS = """
#include <handler.h>
#include <math.h>
#include <packets.h>
#include <spin_host.h>

#include "count.h"

__handler__ void count_ph(handler_args_t *args)
{
    uint32_t *counts = args->task->handler_mem;

    amo_add(&counts[args->task->flow_id], COUNT_STEP + (int)sqrt(0.0));
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr)
{
    *hh = NULL;
    *ph = count_ph;
    *th = NULL;
}
"""

HOST = """
#include "fpspin/fpspin.h"
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    fpspin_ctx_t ctx;
    fpspin_ruleset_t rs;

    fpspin_ruleset_slmp(&rs);
    printf("image %s, %zu\\n", __IMG__, sizeof(ctx));
    return access(__IMG__, R_OK) || sizeof(slmp_hdr_t) != 10;
}
"""

MAKEFILE = """SPIN_APP_NAME = count
SPIN_APP_SRCS = handlers/count.c
SPIN_CFLAGS = -O3 -g -flto -Ihandlers/include/
SPIN_LDFLAGS = -lm

include $(PSPIN_RT)/rules/spin-handlers.mk
include ../generic_driver/gdriver.mk

host:
\t$(MAKE) -C host/
.PHONY: host all
"""

HOST_MAKEFILE = """CC ?= gcc
CFLAGS ?= -O3 -g
LIBS ?= $(shell realpath ../../../../../../../../lib)

CFLAGS += -Wall -D__FPSPIN_HOST__
CPPFLAGS += -I$(LIBS) -D__IMG__=\\"build/count\\"
LDFLAGS += -L$(LIBS)/fpspin
LDLIBS += -lfpspin
LIBFPSPIN = $(LIBS)/fpspin/libfpspin.a

all: count

FORCE:

$(LIBFPSPIN): FORCE
\t$(MAKE) -C $(dir $@) $(notdir $@)

%.o: %.c
\t$(CC) $(CFLAGS) $(CPPFLAGS) -c -o $@ $<

count: count.o $(LIBFPSPIN)
\t$(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

.PHONY: all FORCE
"""

DRIVER = """
#include <stdio.h>

#include "pspinsim.h"
#include "spin.h"

int main(int argc, char **argv)
{
    pspin_conf_t conf;
    spin_nic_addr_t address = 1;
    size_t size = 1;

    pspinsim_default_conf(&conf);
    if (pspinsim_init(argc, argv, &conf) != SPIN_SUCCESS)
        return 1;
    if (spin_find_handler_by_name("build/count", "count_hh", &address, &size) != SPIN_SUCCESS)
        return 2;
    if (address || size)
        return 3;
    if (spin_find_handler_by_name("build/count", "count_ph", &address, &size) != SPIN_SUCCESS)
        return 4;
    return address < 0x1d000000;
}
"""


def exports(text):
    """The variables that `pinion … tree` tells to export."""
    found = {}
    for line in text.splitlines():
        if line.startswith("export "):
            for pair in line.removeprefix("export ").split():
                name, value = pair.split("=", 1)
                found[name] = value.replace("$PSPIN_HW", found.get("PSPIN_HW", ""))
    return found


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def application(bench, pinion, driver):
    """Lays out a tree with an application in it; gives its folder and what to export."""
    text = bench.run([pinion, "fpspin", "tree", bench.folder / "tree"])
    environment = exports(text)
    examples = Path(environment["PSPIN_RT"]).parent / "examples"
    check_in(f"# applications: {examples}", text)
    folder = examples / "count"
    files = {
        "Makefile": MAKEFILE,
        "handlers/count.c": HANDLERS,
        "handlers/include/count.h": "#define COUNT_STEP 1\n",
        "host/Makefile": HOST_MAKEFILE,
        "host/count.c": HOST,
    }
    write(folder, {**files, "driver/driver.c": DRIVER} if driver else files)
    path = f"{Path(pinion).parent}{os.pathsep}{os.environ['PATH']}"
    return folder, {**environment, "PATH": path}


def test_an_applications_own_makefiles_build_it(bench):
    need("make", "gcc")
    folder, environment = application(bench, bench.pinion, driver=True)
    bench.run(["make", "-C", folder, "deploy"], **environment)
    check((folder / "build/count").exists(), "make deploy made no image")
    bench.run(["make", "-C", folder, "host"], **environment)
    text = bench.run(["sh", "-c", f"cd {folder} && host/count"])
    check_in("image build/count", text)
    shutil.rmtree(folder / "build")
    bench.run(["make", "-C", folder], **environment)
    check((folder / "build/count").exists(), "make made no image")
    bench.run(["make", "-C", folder, "all"], **environment)
    text = bench.run(["sh", "-c", f"cd {folder} && ./sim_count"], **environment)
    check_in("count_hh", text)
    # Laid out once more, the application and its files are still there.
    own = folder.parent / "generic_driver/gdriver.mk"
    own.write_text("all:: deploy\n")
    bench.run([bench.pinion, "fpspin", "tree", bench.folder / "tree"])
    check(own.read_text() == "all:: deploy\n", "the application's gdriver.mk was overwritten")


def test_a_copied_command_lays_trees_out(bench):
    """An optimised command has the library inside; another one says what to do."""
    need("make", "gcc")
    elsewhere = bench.folder / "elsewhere"
    elsewhere.mkdir()
    pinion = Path(shutil.copy(bench.pinion, elsewhere / "pinion"))
    home = {"HOME": str(elsewhere), "XDG_CACHE_HOME": str(elsewhere / "cache")}
    bench.environment.update(home)
    for verb in ("pspin", "fpspin"):
        text = bench.run([pinion, verb, "tree", bench.folder / verb], status=None)
        if "export PSPIN_HW=" not in text:
            check_in("libpinion_pspinsim.so is neither in this executable", text)
            check_in("make install", text)
            inside = b"sizes of AXI buffers are not modelled" in pinion.read_bytes()
            check(not inside, "the library is inside, and was not found")
            raise Skip("not an optimised build: it has no library inside, and says so")
    folder, environment = application(bench, pinion, driver=True)
    bench.run(["make", "-C", folder, "all", "host"], **environment)
    bench.run(["sh", "-c", f"cd {folder} && ./sim_count && host/count"], **environment)


def test_namesakes_of_the_sdks_headers_stay_the_applications(bench):
    """What the application has beside it is not what the SDK's own sources include."""
    text = '#include <handler.h>\n#include "string.h"\n__handler__ void own_ph(handler_args_t *args)\n'
    text += "{\n    printf(\"%d\\n\", OWN_STRING);\n}\n"
    files = {"own.c": text, "string.h": "#define OWN_STRING 3\n"}
    files |= {name: f"#error {name}\n" for name in ("ctype.h", "limits.h", "pinion_rt.h", "sink.h")}
    write(bench.folder, files)
    bench.run([bench.pinion, "pspin", "compile", "--out", "build/own", "own.c"])
    check((bench.folder / "build/own").exists(), "no image")
    check(not list((bench.folder / "build").glob("*.o")), "objects are left")


def test_malloc_says_that_there_is_no_heap(bench):
    text = "#include <handler.h>\n#include <stdlib.h>\nvoid *volatile block;\n"
    text += "__handler__ void heap_ph(handler_args_t *args)\n{\n    block = malloc(8);\n}\n"
    write(bench.folder, {"heap.c": text})
    command = [bench.pinion, "pspin", "compile", "--out", "build/heap", "heap.c"]
    check_in("handlers have no heap", bench.run(command, status=2))
