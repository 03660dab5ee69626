/* nanopu_othello with its first step in the packet pipeline: sdk/p4/othello puts a fourth word behind a
 * position, the set of its legal moves. What is left for the core is to make the moves. */
#include <lnic.h>
#include "rules.h"

int main(void)
{
    lnic_add_context(0, 0);
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read(), own = lnic_read(), other = lnic_read(), tag = lnic_read();
        uint64_t moves = lnic_read();
        uint64_t ip = lnic_header_ip(header), port = lnic_header_context(header), count = 0;

        for (uint64_t square = 0; moves; square++, moves >>= 1) {
            if (!(moves & 1))
                continue;
            uint64_t move = 1ul << square, flips = turned(move, own, other);
            lnic_write_r(lnic_header(ip, port + 1, 32));
            lnic_write_r(other & ~flips);
            lnic_write_r(own | move | flips);
            lnic_write_r(tag);
            lnic_write_r(square);
            count++;
        }
        lnic_write_r(lnic_header(ip, port, 16));
        lnic_write_r(tag);
        lnic_write_r(count);
        lnic_msg_done();
    }
}
