/* Uses every name of lnic.h as programs for the nanoPU do, without a header of its own for uint64_t.
 * One thread, one context. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <math.h>

#include "lnic.h"
#include "encoding.h"
#include "util.h"
#include "mmio.h"

#define CSR_READY 0x052
#define SETUP_TYPE 0
#define DATA_TYPE 1
#define ANSWER_BYTES 8*3

#define TWICE(X) X X
#define FOUR_TIMES(X) TWICE(X) TWICE(X)

static uint64_t table[64];

/* A program's own, where the library has one too. */
double sqrt(double x)
{
    __asm__ volatile("fsqrt.d %0, %1" : "=f"(x) : "f"(x));
    return x;
}

static void answer(uint64_t app_hdr, uint64_t result, uint64_t *start)
{
    lnic_write_r((app_hdr & (IP_MASK | CONTEXT_MASK)) | ANSWER_BYTES);
    lnic_write_i(DATA_TYPE);
    lnic_write_r(result);
    lnic_write_m(*start);
}

/* Without the macros. */
static unsigned long by_hand(void)
{
    unsigned long begin = rdcycle();
    asm ("li x31, 16");
    asm ("li x31, 1");
    asm ("li x31, 2");
    while (read_csr(0x052) == 0);
    asm ("mv t0, x30");
    asm ("mv t0, x30");
    asm ("mv t0, x30");
    return rdcycle() - begin + read_csr(CSR_READY);
}

int main(void)
{
    uint64_t app_hdr;
    uint16_t msg_len;
    uint64_t start_time = 0;
    uint64_t setup_type = SETUP_TYPE;
    int num_words;
    int i;

    uint64_t context_id = 0;
    uint64_t priority = 0;
    lnic_add_context(context_id, priority);
    write_csr(mhpmevent3, 0x202);
    lnic_start_timer();
    printf("Ready %d %ld %lx %lu %hu %s\n", 1, (long)2, 3ul, 4ul, (uint16_t)5, LREAD LWRITE);
    lnic_boot_msg();

    for (i = 0; i < 64; i++) {
        table[i] = i;
    }
again:
    lnic_wait();
    app_hdr = lnic_read();
    lnic_branch("bne", setup_type, data);
    start_time = lnic_read();
    lnic_msg_done();
    goto again;
data:
    while (1) {
        lnic_wait()
        app_hdr = lnic_read();
        msg_len = (uint16_t)app_hdr;
        num_words = msg_len/LNIC_WORD_SIZE;
        if (msg_len % LNIC_WORD_SIZE != 0) { num_words++; }
        if ((app_hdr & IP_MASK) >> 32 == 0x0a000009) {
            lnic_write_r(app_hdr);
            FOUR_TIMES(lnic_copy();)
            lnic_add_int_i(1);
            lnic_add_int_i(-7);
            lnic_write_i(0x123456789);
            lnic_msg_done();
            if (!lnic_ready())
                lnic_idle();
            continue;
        }
        uint64_t result = read_csr(mhpmcounter3);
        for (i = 0; i < num_words - 1; i++) {
            uint64_t word = lnic_read();
            result += word * table[word % 64];
        }
        result += (uint64_t)sqrt((double)lnic_read());
        answer(app_hdr, result, &start_time);
        lnic_msg_done();
        if ((app_hdr & LEN_MASK) == 8) {
            printf("%ld cycles by hand, %lu\n", by_hand(), read_csr(mcycle));
            return -1;
        }
    }
    return 0;
}
