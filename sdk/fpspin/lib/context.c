/* Attaches to a context, loads images, lets go. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

static_assert(NUM_HPUS <= PINION_HPUS_MAX, "NUM_HPUS is larger than any NIC's");

/* An ELF of handlers is some 100 KiB large; this is what the NIC takes. */
#define IMAGE_BYTES_MAX (16 << 20)

/* Copies a file into memory that cannot change any more, so that the NIC reads what was there;
 * returns its descriptor, or -1 after a complaint. */
static int image_memory(const char *path)
{
    char piece[65536];
    ssize_t got = 0;
    size_t whole = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC), memory;

    if (file < 0) {
        pinion_fail("cannot read the image %s: %s", path, strerror(errno));
        return -1;
    }
    memory = memfd_create("fpspin image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    while (memory >= 0 && whole <= IMAGE_BYTES_MAX &&
           (got = read(file, piece, sizeof(piece))) > 0) {
        if (write(memory, piece, (size_t)got) != got)
            break;
        whole += (size_t)got;
    }
    close(file);
    if (memory < 0 || got != 0 ||
        fcntl(memory, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) < 0) {
        pinion_fail("cannot read the image %s: %s", path,
                    whole > IMAGE_BYTES_MAX ? "it is larger than 16 MiB" : strerror(errno));
        if (memory >= 0)
            close(memory);
        return -1;
    }
    return memory;
}

static void take(fpspin_ctx_t *ctx, const struct pinion_attached *got)
{
    ctx->hh = (struct mem_area){ got->header.address, got->header.bytes };
    ctx->ph = (struct mem_area){ got->payload.address, got->payload.bytes };
    ctx->th = (struct mem_area){ got->completion.address, got->completion.bytes };
    ctx->handler_mem =
        (struct mem_area){ got->handler_memory.address, got->handler_memory.bytes };
    ctx->host_data_ptr = got->host_data;
    /* An image that served others before goes on counting. */
    memcpy(ctx->dma_idx, got->request, sizeof(ctx->dma_idx));
}

/* Maps the context's handler memory instead of what was mapped before; without a file, or if that
 * fails, it is read through the NIC. */
static void map_handler_memory(struct pinion_link *link, const struct pinion_area *area, int file)
{
    void *mapped = MAP_FAILED;

    if (file >= 0) {
        mapped = mmap(NULL, area->bytes, PROT_READ, MAP_SHARED, file, 0);
        close(file);
    }
    pthread_mutex_lock(&link->map);
    if (link->handler_memory)
        munmap((void *)link->handler_memory, link->window.bytes);
    link->handler_memory = mapped == MAP_FAILED ? NULL : mapped;
    link->window = *area;
    pthread_mutex_unlock(&link->map);
}

/* Checks what the published interface cannot express. */
static bool check(const char *dev, const char *img, int dest_ctx, const fpspin_ruleset_t *rs,
                  int num_rs, int pages)
{
    if (!dev || !img)
        return pinion_fail("attach: %s is missing (NULL)", dev ? "the image" : "the device");
    if (dest_ctx < 0)
        return pinion_fail("attach to %s: there is no context %d; contexts count from 0", dev,
                           dest_ctx);
    if (num_rs < 0 || num_rs > NUM_RULESETS || (num_rs && !rs))
        return pinion_fail("attach to %s: %d rulesets; there can be 0 to %d", dev, num_rs,
                           NUM_RULESETS);
    if (pages < 0)
        return pinion_fail("attach to %s: %d pages of host memory", dev, pages);
    return true;
}

static bool knows_hpus(struct pinion_link *link)
{
    if (link->machine.hpus <= NUM_HPUS)
        return true;
    return pinion_fail("attach to %s: the NIC has %u HPUs, this program was compiled for %d; "
                       "compile it with -DNUM_HPUS=%u",
                       link->device, link->machine.hpus, NUM_HPUS, link->machine.hpus);
}

static bool attach(struct pinion_link *link, fpspin_ctx_t *ctx, const char *img,
                   const fpspin_ruleset_t *rs, int num_rs, int pages)
{
    struct pinion_attach head = { (uint32_t)ctx->ctx_id, (uint32_t)num_rs,
                                  (uint64_t)pages * PAGE_SIZE, { 0 } };
    struct pinion_ruleset rulesets[NUM_RULESETS];
    struct pinion_part parts[2] = { { &head, sizeof(head) },
                                    { rulesets, (size_t)num_rs * sizeof(*rulesets) } };
    struct pinion_attached got;
    char what[64];
    int image, files[PINION_FILES_MAX] = { -1, -1 };
    bool done;

    snprintf(head.image, sizeof(head.image), "%s", img);
    snprintf(what, sizeof(what), "attach to %.30s", link->device);
    if (!pinion_rulesets(rulesets, rs, num_rs) || (image = image_memory(img)) < 0)
        return false;
    done = pinion_ask(link, PINION_ATTACH, parts, 2, image, &got, sizeof(got), files, what);
    close(image);
    if (!done)
        return false;
    if (files[0] < 0)
        return pinion_fail("%s: the NIC gave no host memory", what);
    map_handler_memory(link, &got.handler_memory, files[1]);
    ctx->mmap_len = (size_t)pages * PAGE_SIZE;
    ctx->cpu_addr = mmap(NULL, ctx->mmap_len, PROT_READ | PROT_WRITE, MAP_SHARED, files[0], 0);
    close(files[0]);
    if (ctx->cpu_addr == MAP_FAILED)
        return pinion_fail("%s: cannot map %zu bytes of host memory: %s", what, ctx->mmap_len,
                           strerror(errno));
    take(ctx, &got);
    link->first = ctx->ctx_id;
    link->count = num_rs > 1 ? num_rs : 1;
    return true;
}

/* Makes a context that is attached to nothing; the program's own field stays as it is, for programs
 * set it before. */
static void clear(fpspin_ctx_t *ctx)
{
    void *app_data = ctx->app_data;

    memset(ctx, 0, sizeof(*ctx));
    ctx->app_data = app_data;
    ctx->fd = -1;
}

bool fpspin_init(fpspin_ctx_t *ctx, const char *dev, const char *img, int dest_ctx,
                 const fpspin_ruleset_t *rs, int num_rs, int hostdma_pages)
{
    struct pinion_link *link;

    if (!ctx)
        return pinion_fail("attach: the context is missing (NULL)");
    clear(ctx);
    if (!check(dev, img, dest_ctx, rs, num_rs, hostdma_pages))
        return false;
    link = pinion_connect(dev);
    if (!link)
        return false;
    ctx->ctx_id = dest_ctx;
    if (!knows_hpus(link) || !attach(link, ctx, img, rs, num_rs, hostdma_pages)) {
        pinion_disconnect(link);
        clear(ctx);
        return false;
    }
    ctx->fd = link->fd;
    ctx->link = link;
    pinion_enlist(link);
    return true;
}

void fpspin_exit(fpspin_ctx_t *ctx)
{
    struct pinion_link *link = ctx ? ctx->link : NULL;

    /* Programs call this after an fpspin_init that failed, too. */
    if (!link)
        return;
    pinion_delist(link);
    munmap(ctx->cpu_addr, ctx->mmap_len);
    pinion_disconnect(link);
    ctx->link = NULL;
    ctx->cpu_addr = NULL;
    ctx->mmap_len = 0;
    ctx->fd = -1;
}

bool fpspin_load(fpspin_ctx_t *ctx, const char *elf, uint64_t hostmem_ptr, uint32_t hostmem_size)
{
    struct pinion_link *link = pinion_link_of(ctx, "load");
    struct pinion_load head = { .window_bytes = hostmem_size };
    struct pinion_part part = { &head, sizeof(head) };
    struct pinion_attached got;
    uint64_t start, offset;
    int image, files[PINION_FILES_MAX] = { -1, -1 };
    bool done;

    if (!link)
        return false;
    if (!elf)
        return pinion_fail("load: the image is missing (NULL)");
    start = (uint64_t)(uintptr_t)ctx->cpu_addr;
    offset = hostmem_ptr - start;
    if (hostmem_size && (hostmem_ptr < start || offset > ctx->mmap_len ||
                         hostmem_size > ctx->mmap_len - offset))
        return pinion_fail("load %s: the window, %u bytes at %#llx, is not within the context's "
                           "host memory, %zu bytes at %p (cpu_addr)",
                           elf, hostmem_size, (unsigned long long)hostmem_ptr, ctx->mmap_len,
                           ctx->cpu_addr);
    head.window_offset = hostmem_size ? offset : 0;
    snprintf(head.image, sizeof(head.image), "%s", elf);
    image = image_memory(elf);
    if (image < 0)
        return false;
    done = pinion_ask(link, PINION_LOAD, &part, 1, image, &got, sizeof(got), files, "load");
    close(image);
    if (done) {
        take(ctx, &got);
        map_handler_memory(link, &got.handler_memory, files[0]);
    }
    return done;
}

bool fpspin_unload(fpspin_ctx_t *ctx)
{
    struct pinion_link *link = pinion_link_of(ctx, "unload");

    return link && pinion_ask(link, PINION_UNLOAD, NULL, 0, -1, NULL, 0, NULL, "unload");
}
