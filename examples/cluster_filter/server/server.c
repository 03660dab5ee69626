/* Answers requests {key, number} with {key, result}. What the filter should have kept back ends it with
 * an error. */
#include <lnic.h>
#include <stdio.h>
#include <stdlib.h>

#include "rules.h"

bool is_single_core(void)
{
    return false;
}

int core_main(int argc, char **argv, int cid, int nc)
{
    lnic_add_context(0, 0);
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read(), key = lnic_read();

        lnic_read();
        if (key >> 32 == 0xdeadbeef || (key >> 52 == 0xbad && key >> 40 != 0xbad0c0)) {
            printf("hart %d: key %lx was to be kept back\n", cid, key);
            exit(EXIT_FAILURE);
        }
        lnic_write_r(header);
        lnic_write_r(key);
        lnic_write_r(result_of(key));
        lnic_msg_done();
    }
}
