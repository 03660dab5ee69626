/* Adds one to each word of a message of any length while it passes from netRX to netTX: one
 * instruction a word, eight words an iteration. */
#include <lnic.h>

int main(void)
{
    lnic_add_context(0, 0);
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read();
        uint64_t words = lnic_words(lnic_header_bytes(header));

        lnic_write_r(header);
        for (; words >= 8; words -= 8) {
            lnic_add_int_i(1);
            lnic_add_int_i(1);
            lnic_add_int_i(1);
            lnic_add_int_i(1);
            lnic_add_int_i(1);
            lnic_add_int_i(1);
            lnic_add_int_i(1);
            lnic_add_int_i(1);
        }
        for (; words; words--)
            lnic_add_int_i(1);
        lnic_msg_done();
    }
}
