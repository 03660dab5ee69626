/* Four threads poll all HPUs of one context; each request is to be taken by one of them.
 *
 *     threads DEVICE IMAGE PORT
 *
 * Ends when a line comes on standard input.
 */
#include "fpspin/fpspin.h"

#include <pthread.h>

#define THREADS 4

static fpspin_ctx_t ctx;
static int is_over;
static unsigned taken[THREADS];

static void *serve(void *count)
{
    fpspin_flag_t flag;

    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        for (int hpu = 0; hpu < NUM_HPUS; hpu++) {
            if (!fpspin_pop_req(&ctx, hpu, &flag))
                continue;
            ++*(unsigned *)count;
            if (!fpspin_push_resp(&ctx, hpu, (fpspin_flag_t){ .len = flag.len }))
                return NULL;
        }
        (void)fpspin_get_counter(&ctx, 0);
    }
    return NULL;
}

int main(int argc, char *argv[])
{
    pthread_t threads[THREADS];
    fpspin_ruleset_t rs;
    unsigned all = 0, busy = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 4)
        return 2;
    fpspin_ruleset_udp(&rs);
    rs.r[2] = FPSPIN_RULE_UDP_DPORT(atoi(argv[3]));
    if (!fpspin_init(&ctx, argv[1], argv[2], 0, &rs, 1, FPSPIN_HOSTDMA_PAGES_DEFAULT))
        return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, serve, &taken[i]);
    printf("attached\n");
    (void)getchar();
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all += taken[i];
        busy += taken[i] > 0;
    }
    printf("answered %u in %u threads\n", all, busy);
    fpspin_exit(&ctx);
    return 0;
}
