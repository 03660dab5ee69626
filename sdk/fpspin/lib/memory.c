/* NIC memory and the counters in it. The program's own handler memory is mapped for reading;
 * everything else goes through the NIC, a piece at a time. */
#include <math.h>
#include <string.h>

#include "internal.h"

bool fpspin_write_memory(fpspin_ctx_t *ctx, fpspin_addr_t pspin_addr, void *host_addr, size_t len)
{
    struct pinion_link *link = pinion_link_of(ctx, "write NIC memory");
    const uint8_t *from = host_addr;

    if (!link)
        return false;
    if (len && !host_addr)
        return pinion_fail("write NIC memory: there are no bytes to write (NULL)");
    while (len) {
        size_t piece = len < PINION_PIECE_BYTES ? len : PINION_PIECE_BYTES;
        struct pinion_range range = { pspin_addr, (uint32_t)piece };
        struct pinion_part parts[2] = { { &range, sizeof(range) }, { from, piece } };

        if (!pinion_ask(link, PINION_WRITE, parts, 2, -1, NULL, 0, NULL, "write NIC memory"))
            return false;
        pspin_addr += (uint32_t)piece;
        from += piece;
        len -= piece;
    }
    return true;
}

/* Reads from what is mapped; false if it is not. */
static bool read_mapped(struct pinion_link *link, uint8_t *to, fpspin_addr_t address, size_t len)
{
    size_t offset = (size_t)address - link->window.address;
    bool is_there;

    pthread_mutex_lock(&link->map);
    is_there = link->handler_memory && address >= link->window.address &&
               len <= link->window.bytes && offset <= link->window.bytes - len;
    if (is_there)
        memcpy(to, link->handler_memory + offset, len);
    pthread_mutex_unlock(&link->map);
    return is_there;
}

bool fpspin_read_memory(fpspin_ctx_t *ctx, void *host_addr, fpspin_addr_t pspin_addr, size_t len)
{
    struct pinion_link *link = pinion_link_of(ctx, "read NIC memory");
    uint8_t *to = host_addr;

    if (!link)
        return false;
    if (len && !host_addr)
        return pinion_fail("read NIC memory: there is no room to read to (NULL)");
    if (read_mapped(link, to, pspin_addr, len))
        return true;
    while (len) {
        size_t piece = len < PINION_PIECE_BYTES ? len : PINION_PIECE_BYTES;
        struct pinion_range range = { pspin_addr, (uint32_t)piece };
        struct pinion_part part = { &range, sizeof(range) };

        if (!pinion_ask(link, PINION_READ, &part, 1, -1, to, piece, NULL, "read NIC memory"))
            return false;
        pspin_addr += (uint32_t)piece;
        to += piece;
        len -= piece;
    }
    return true;
}

/* Returns a counter's address in NIC memory; 0 after a complaint. */
static fpspin_addr_t counter_address(fpspin_ctx_t *ctx, int id)
{
    struct pinion_link *link = pinion_link_of(ctx, "counter");

    if (!link)
        return 0;
    if (id < 0 || id >= MAX_COUNTERS) {
        pinion_fail("there is no counter %d; they count from 0 to %d", id, MAX_COUNTERS - 1);
        return 0;
    }
    if (!ctx->host_data_ptr) {
        pinion_fail("counter %d: the image has no __host_data; its handlers use no counters", id);
        return 0;
    }
    /* The machine may have other than 16 HPUs, hence flags. */
    return (fpspin_addr_t)ctx->host_data_ptr + link->machine.hpus * sizeof(uint64_t) +
           (uint32_t)id * sizeof(fpspin_counter_t);
}

fpspin_counter_t fpspin_get_counter(fpspin_ctx_t *ctx, int id)
{
    fpspin_addr_t address = counter_address(ctx, id);
    fpspin_counter_t counter = { 0, 0 };

    if (address && !fpspin_read_memory(ctx, &counter, address, sizeof(counter)))
        counter = (fpspin_counter_t){ 0, 0 };
    return counter;
}

void fpspin_clear_counter(fpspin_ctx_t *ctx, int id)
{
    fpspin_addr_t address = counter_address(ctx, id);
    fpspin_counter_t zero = { 0, 0 };

    if (address)
        (void)fpspin_write_memory(ctx, address, &zero, sizeof(zero));
}

double fpspin_get_cycles(fpspin_ctx_t *ctx, int id)
{
    fpspin_counter_t counter = fpspin_get_counter(ctx, id);

    return counter.count ? (double)counter.sum / counter.count : (double)NAN;
}

uint32_t fpspin_get_avg_cycles(fpspin_ctx_t *ctx)
{
    fpspin_counter_t counter = fpspin_get_counter(ctx, 0);

    return counter.count ? counter.sum / counter.count : 0;
}
