/* Requests {service time, sent time} keep a hart busy for the service time, in cycles, and go back as
 * they are. The first argument says who serves what:
 *
 *   rss             hart h serves port h
 *   jbsq            all harts serve port 0
 *   jbsq-pre        all harts run two threads, port 0 at priority 0 and port 1 at priority 1
 *   priority        hart 0 alone runs these two threads
 *   priority-timer  the same, switched every 5 us by the timer
 *   bounded         hart 0 runs two threads, both at priority 0; port 1 misbehaves
 *   unbounded       the same at priority 1, where message time is not bounded
 *
 * The second says what a service time is: "clock" (default) waits until the cycle counter has gone
 * on by it, as the published evaluation does, so that time in which another thread ran counts too;
 * "work" executes as many cycles. A port that misbehaves takes `factor` times as long for every
 * `frequency`-th message: the third and fourth argument, 10 and 100.
 *
 * A thread tells the load generator that it is ready: {hart, port} to port 0 of 10.0.0.1, or of the
 * address in the fifth argument; 0 tells nobody. A service time of 0, or of all ones, ends the
 * program.
 */
#include <lnic.h>
#include <lnic-scheduler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOAD_GENERATOR 0x0a000001ul

bool is_single_core(void)
{
    return false;
}

/* The same on all harts. */
static bool by_clock = true;
static uint64_t misbehaving = -1ul, factor = 10, frequency = 100, generator = LOAD_GENERATOR;

static inline void busy(uint64_t cycles)
{
    if (by_clock) {
        uint64_t start = read_csr(mcycle);
        while (read_csr(mcycle) - start < cycles)
            ;
    } else {
        for (uint64_t n = cycles / 2; n; n--)
            __asm__ volatile("");
    }
}

static void announce(uint64_t hart, uint64_t port)
{
    csr_write(LNIC_CSR_CUR_CONTEXT, port);
    if (generator == 0)
        return;
    lnic_write_r(lnic_header(generator, 0, 16));
    lnic_write_r(hart);
    lnic_write_r(port);
}

static int serve(int argc, char **argv, int cid, int nc, uint64_t port, uint64_t priority)
{
    uint64_t messages = 0;

    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read(), service_time = lnic_read(), sent_time = lnic_read();

        if (service_time == 0 || service_time == -1ul)
            exit(0);
        bool is_slow = port == misbehaving && ++messages == frequency;
        if (is_slow)
            messages = 0;
        busy(is_slow ? service_time * factor : service_time);
        lnic_write_r(header);
        lnic_write_r(service_time);
        lnic_write_r(sent_time);
        lnic_msg_done();
    }
    return 0;
}

static int serve_alone(int hart, int nc, uint64_t port)
{
    lnic_add_context(port, 0);
    announce(hart, port);
    return serve(0, NULL, hart, nc, port, 0);
}

static void __attribute__((noreturn)) serve_in_threads(int hart, uint64_t priority_0, uint64_t priority_1, bool by_timer)
{
    scheduler_init();
    /* The bound on message time counts from the last restart: none of this is a message. */
    lnic_start_timer();
    start_thread(serve, 0, priority_0);
    lnic_start_timer();
    start_thread(serve, 1, priority_1);
    lnic_start_timer();
    announce(hart, 0);
    announce(hart, 1);
    lnic_start_timer();
    if (by_timer)
        scheduler_run_timer();
    else
        scheduler_run();
}

int core_main(int argc, char **argv, int cid, int nc)
{
    const char *variant = argc > 1 ? argv[1] : "jbsq";

    /* pinion: intended: the same on all harts */
    by_clock = argc < 3 || strcmp(argv[2], "work") != 0;
    factor = argc > 3 ? strtoul(argv[3], NULL, 0) : 10; /* pinion: intended: likewise */
    frequency = argc > 4 ? strtoul(argv[4], NULL, 0) : 100; /* pinion: intended: likewise */
    generator = argc > 5 ? strtoul(argv[5], NULL, 0) : LOAD_GENERATOR; /* pinion: intended: likewise */
    if (!strcmp(variant, "rss"))
        return serve_alone(cid, nc, (uint64_t)cid);
    if (!strcmp(variant, "jbsq"))
        return serve_alone(cid, nc, 0);
    if (!strcmp(variant, "jbsq-pre"))
        serve_in_threads(cid, 0, 1, false);
    if (cid != 0)
        return 0; /* the others are for hart 0 alone */
    if (!strcmp(variant, "priority"))
        serve_in_threads(cid, 0, 1, false);
    if (!strcmp(variant, "priority-timer"))
        serve_in_threads(cid, 0, 1, true);
    misbehaving = 1;
    if (!strcmp(variant, "bounded"))
        serve_in_threads(cid, 0, 0, false);
    if (!strcmp(variant, "unbounded"))
        serve_in_threads(cid, 1, 1, false);
    printf("nanopu_service: there is no variant `%s`\n", variant);
    return EXIT_FAILURE;
}
