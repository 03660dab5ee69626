/* Port 0 is served by a thread of priority 0, port 1 by one of priority 1. A request {n} keeps its
 * thread busy for 2 * n cycles; the answer {port, k} says that it was this thread's k-th. */
#include <lnic.h>
#include <lnic-scheduler.h>

static int serve(int argc, char **argv, int cid, int nc, uint64_t id, uint64_t priority)
{
    uint64_t count = 0;

    while (true) {
        lnic_wait();
        uint64_t header = lnic_read(), n = lnic_read();

        for (; n; n--)
            __asm__ volatile("");
        lnic_write_r(lnic_header(lnic_header_ip(header), lnic_header_context(header), 16));
        lnic_write_r(id);
        lnic_write_r(++count);
        lnic_msg_done();
    }
    return 0;
}

int main(void)
{
    scheduler_init();
    start_thread(serve, 0, 0);
    start_thread(serve, 1, 1);
    scheduler_run();
}
