/* Handlers' requests: page h of host memory belongs to HPU h, a flag in its first eight bytes, the
 * payload from DMA_ALIGN on. The answer goes to the HPU's word of __host_data in NIC memory. */
#include <sched.h>
#include <string.h>

#include "internal.h"

/* After so many questions in vain, others get the processor now and then, and the NIC is looked
 * at: its end must not leave a program polling for ever without a word. */
#define PATIENCE 4096

static bool check_hpu(int hpu_id, const char *what)
{
    if (hpu_id >= 0 && hpu_id < NUM_HPUS)
        return true;
    return pinion_fail("%s: there is no HPU %d; they count from 0 to %d", what, hpu_id,
                       NUM_HPUS - 1);
}

volatile void *fpspin_pop_req(fpspin_ctx_t *ctx, int hpu_id, fpspin_flag_t *f)
{
    struct pinion_link *link = pinion_link_of(ctx, "take a request");
    uint8_t *page, before;
    fpspin_flag_t flag;

    if (!link || !check_hpu(hpu_id, "take a request"))
        return NULL;
    /* Programs ask for all of NUM_HPUS, also where a NIC has fewer. */
    if (hpu_id >= (int)link->machine.hpus)
        return NULL;
    page = (uint8_t *)ctx->cpu_addr + (size_t)hpu_id * PAGE_SIZE;
    /* The payload was written before the flag. */
    flag.data = __atomic_load_n((uint64_t *)page, __ATOMIC_ACQUIRE);
    before = __atomic_load_n(&ctx->dma_idx[hpu_id], __ATOMIC_RELAXED);
    if (flag.dma_id == before) {
        unsigned empty = __atomic_add_fetch(&link->empty, 1, __ATOMIC_RELAXED);
        if (empty % PATIENCE == 0) {
            sched_yield();
            if (empty % (PATIENCE * 64) == 0)
                (void)pinion_is_there(link);
        }
        return NULL;
    }
    /* One of several pollers gets it. */
    if (!__atomic_compare_exchange_n(&ctx->dma_idx[hpu_id], &before, flag.dma_id, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return NULL;
    __atomic_store_n(&link->empty, 0, __ATOMIC_RELAXED);
    if (flag.hpu_id != hpu_id)
        (void)pinion_fail("HPU %u wrote its request into the page of HPU %d", flag.hpu_id, hpu_id);
    if (f)
        *f = flag;
    return page + DMA_ALIGN;
}

bool fpspin_push_resp(fpspin_ctx_t *ctx, int hpu_id, fpspin_flag_t flag)
{
    struct pinion_link *link = pinion_link_of(ctx, "answer a request");
    struct pinion_answer answer = { .hpu = (uint32_t)hpu_id };

    if (!link || !check_hpu(hpu_id, "answer a request"))
        return false;
    flag.dma_id = __atomic_load_n(&ctx->dma_idx[hpu_id], __ATOMIC_ACQUIRE);
    flag.hpu_id = (uint16_t)hpu_id;
    answer.flag = flag.data;
    /* What was written to the page is seen by whoever gets this. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return pinion_tell(link, PINION_ANSWER, &answer, sizeof(answer));
}
