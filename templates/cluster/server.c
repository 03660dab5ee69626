// The server: adds up the words of each message and answers with the sum.
#include <lnic.h>

int core_main(int argc, char **argv, int cid, int nc) {
    // Bind this hart to port 0, priority 0. The NIC gives each message to one of the harts bound.
    lnic_add_context(0, 0);

    for (;;) {
        lnic_wait();

        // The first word of a message is its header: who sent it, and how many bytes follow.
        uint64_t header = lnic_read();
        uint64_t sum = 0;
        for (uint64_t words = lnic_words(lnic_header_bytes(header)); words; words--)
            sum += lnic_read();

        // The answer goes where the message came from: 8 bytes.
        lnic_write_r(lnic_header(lnic_header_ip(header), lnic_header_context(header), 8));
        lnic_write_r(sum);
        lnic_msg_done();
    }
}
