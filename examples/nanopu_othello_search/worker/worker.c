/* Counts the leaves below the positions it gets. All harts serve port 0: the NIC gives a task to
 * the hart that has the fewest. */
#include <stdbool.h>
#include <stdlib.h>
#include "cluster.h"
#include "tree.h"

bool is_single_core(void)
{
    return false;
}

int core_main(void)
{
    open_port(0);
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read(), own = lnic_read(), other = lnic_read();
        uint64_t steps = lnic_read(), number = lnic_read();
        uint64_t count = leaves(own, other, steps);

        lnic_write_r(lnic_header(lnic_header_ip(header), lnic_header_context(header), COUNT_BYTES));
        lnic_write_r(number);
        lnic_write_r(count);
        lnic_msg_done();
    }
}
