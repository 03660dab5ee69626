/* Sends every message back to where it came from, unchanged. With WORDS, the number of 64-bit words
 * of all messages, there is no loop over them; else the length comes from the header. */
#include <lnic.h>

int main(void)
{
    lnic_add_context(0, 0);
    for (;;) {
        lnic_wait();
#ifdef WORDS
        lnic_copy(); /* the header: what was the source becomes the destination */
        __asm__ volatile(".rept " PINION_TEXT(WORDS) "\n\tmv " LWRITE ", " LREAD "\n\t.endr");
#else
        uint64_t header = lnic_read();
        uint64_t words = lnic_words(lnic_header_bytes(header));

        lnic_write_r(header);
        for (; words >= 8; words -= 8) {
            lnic_copy();
            lnic_copy();
            lnic_copy();
            lnic_copy();
            lnic_copy();
            lnic_copy();
            lnic_copy();
            lnic_copy();
        }
        for (; words; words--)
            lnic_copy();
#endif
        lnic_msg_done();
    }
}
