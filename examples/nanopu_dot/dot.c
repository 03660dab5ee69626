/* The dot product of a message's words with weights that stay in the cache. The words are used as
 * they are read; with BUFFERED they go to memory first. */
#include <lnic.h>

#define MOST_WORDS 256 /* a message has up to 2048 bytes */

static int64_t weights[MOST_WORDS];
#ifdef BUFFERED
static int64_t message[MOST_WORDS];
#endif

static int64_t dot_product(uint64_t words)
{
    int64_t sum = 0;

#ifdef BUFFERED
    for (uint64_t i = 0; i < words; i++)
        message[i] = (int64_t)lnic_read();
    for (uint64_t i = 0; i < words; i++)
        sum += message[i] * weights[i];
#else
    const int64_t *weight = weights;
    /* Four at a time: a product takes longer than the next word. */
    for (; words >= 4; words -= 4, weight += 4) {
        int64_t a = (int64_t)lnic_read() * weight[0];
        int64_t b = (int64_t)lnic_read() * weight[1];
        int64_t c = (int64_t)lnic_read() * weight[2];
        int64_t d = (int64_t)lnic_read() * weight[3];
        sum += a + b + c + d;
    }
    for (; words; words--)
        sum += (int64_t)lnic_read() * *weight++;
#endif
    return sum;
}

int main(void)
{
    for (int64_t i = 0; i < MOST_WORDS; i++)
        weights[i] = i % 2 ? -i : i + 1;
    lnic_add_context(0, 0);
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read();
        int64_t sum = dot_product(lnic_words(lnic_header_bytes(header)));

        lnic_write_r(lnic_header(lnic_header_ip(header), lnic_header_context(header), 8));
        lnic_write_r(sum);
        lnic_msg_done();
    }
}
