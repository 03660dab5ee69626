/* Sends messages by SLMP: the published interface, and what a message's transfer consists of. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "slmp_transfer.h"

#define RETRIES 10
#define TIMEOUT_US 200000
#define SOCKET_BUFFER_BYTES (4 << 20)

static int fail_with(int error)
{
    errno = error;
    return -1;
}

uint64_t slmp_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int slmp_socket(slmp_sock_t *sock, int wnd_sz, int align, int fc_us, int num_threads)
{
    struct slmp_state *state;

    if (wnd_sz < 0 || wnd_sz > SLMP_MAX_WINDOW || align < 0 || align > SLMP_PAYLOAD_SIZE ||
        fc_us < 0 || num_threads < 0 || num_threads > SLMP_MAX_THREADS)
        return fail_with(EINVAL);
    state = calloc(1, sizeof(*state));
    if (!state)
        return fail_with(ENOMEM);
    pthread_mutex_init(&state->lock, NULL);
    memset(sock, 0, sizeof(*sock));
    sock->wnd_sz = wnd_sz;
    sock->align = align == 0 ? 1 : align;
    sock->fc_us = fc_us;
    sock->num_threads = num_threads == 0 ? 1 : num_threads;
    sock->parallel = sock->num_threads > 1;
    sock->state = state;
    return 0;
}

int slmp_set_options(slmp_sock_t *sock, const slmp_options_t *options)
{
    struct slmp_state *state = sock->state;

    if (!state || options->mode > SLMP_SYN_ALL || options->retries < -1 ||
        options->retries > UINT16_MAX - 1 || options->timeout_us < 0 ||
        (options->mode == SLMP_SYN_ALL && sock->wnd_sz == 0))
        return fail_with(EINVAL);
    pthread_mutex_lock(&state->lock);
    state->options = *options;
    pthread_mutex_unlock(&state->lock);
    return 0;
}

void slmp_get_stats(slmp_sock_t *sock, slmp_stats_t *stats)
{
    struct slmp_state *state = sock->state;

    memset(stats, 0, sizeof(*stats));
    if (!state)
        return;
    pthread_mutex_lock(&state->lock);
    *stats = state->stats;
    pthread_mutex_unlock(&state->lock);
}

int slmp_close(slmp_sock_t *sock)
{
    struct slmp_state *state = sock->state;

    if (!state)
        return fail_with(EBADF);
    pthread_mutex_destroy(&state->lock);
    free(state);
    sock->state = NULL;
    return 0;
}

static int open_socket(in_addr_t server, uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
    int bytes = SOCKET_BUFFER_BYTES;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = server;
    if (fd < 0)
        return -1;
    /* As much as the system allows; less is no error. */
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        int error = errno;

        close(fd);
        return fail_with(error);
    }
    return fd;
}

/* Gives a thread its packets and the memory to remember them. */
static int prepare(struct slmp_transfer *transfer, struct slmp_thread *thread, uint32_t first,
                   uint32_t end)
{
    uint32_t window = transfer->window > 0 ? (uint32_t)transfer->window : 1;

    thread->transfer = transfer;
    thread->next = first;
    thread->end = end;
    thread->unacked = 0;
    thread->head = thread->length = 0;
    for (uint32_t at = first; at < end; at++)
        transfer->packets[at].thread = (uint8_t)(thread - transfer->threads);
    if (thread->order)
        return 0;
    thread->room = 2 * window;
    thread->order = malloc(thread->room * sizeof(*thread->order));
    return thread->order ? 0 : ENOMEM;
}

static void *run_thread(void *argument)
{
    slmp_send_range(argument);
    return NULL;
}

/* Sends packets first to end - 1 by `threads` threads; this one is the first of them. */
static void send_packets(struct slmp_transfer *transfer, uint32_t first, uint32_t end, int threads)
{
    uint32_t count = end - first, from = first;
    int started = 1, error = 0;

    if (count == 0 || transfer->error)
        return;
    if ((uint32_t)threads > count)
        threads = (int)count;
    pthread_mutex_lock(&transfer->lock);
    for (int i = 0; i < threads && !error; i++) {
        uint32_t to = first + (uint32_t)((uint64_t)count * (uint32_t)(i + 1) / (uint32_t)threads);

        error = prepare(transfer, &transfer->threads[i], from, to);
        from = to;
    }
    pthread_mutex_unlock(&transfer->lock);
    for (; started < threads && !error; started++)
        error = pthread_create(&transfer->threads[started].id, NULL, run_thread,
                               &transfer->threads[started]);
    if (error) {
        pthread_mutex_lock(&transfer->lock);
        slmp_fail(transfer, error);
        pthread_mutex_unlock(&transfer->lock);
        started -= started > 1;
    } else {
        slmp_send_range(&transfer->threads[0]);
    }
    for (int i = 1; i < started; i++)
        pthread_join(transfer->threads[i].id, NULL);
}

/* The first packet, those between, the last one. */
static int transfer_all(struct slmp_transfer *transfer)
{
    int error = 0;

    if (transfer->mode != SLMP_SYN_NONE)
        error = slmp_start_listener(transfer);
    if (error)
        return error;
    send_packets(transfer, 0, 1, 1);
    if (transfer->count > 1) {
        send_packets(transfer, 1, transfer->count - 1, transfer->thread_count);
        send_packets(transfer, transfer->count - 1, transfer->count, 1);
    }
    if (transfer->mode != SLMP_SYN_NONE)
        slmp_stop_listener(transfer);
    return transfer->error;
}

static int set_up(struct slmp_transfer *transfer, slmp_sock_t *sock, in_addr_t server,
                  const slmp_options_t *options)
{
    pthread_condattr_t monotonic;

    transfer->packets = calloc(transfer->count, sizeof(*transfer->packets));
    transfer->thread_count = sock->num_threads;
    transfer->threads = calloc((size_t)sock->num_threads, sizeof(*transfer->threads));
    if (!transfer->packets || !transfer->threads)
        return ENOMEM;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    for (int i = 0; i < sock->num_threads; i++)
        pthread_cond_init(&transfer->threads[i].moved, &monotonic);
    pthread_condattr_destroy(&monotonic);
    transfer->fd = open_socket(server, options->port ? options->port : SLMP_PORT);
    return transfer->fd < 0 ? errno : 0;
}

static void tear_down(struct slmp_transfer *transfer)
{
    for (int i = 0; transfer->threads && i < transfer->thread_count; i++) {
        pthread_cond_destroy(&transfer->threads[i].moved);
        free(transfer->threads[i].order);
    }
    free(transfer->threads);
    free(transfer->packets);
    if (transfer->fd >= 0)
        close(transfer->fd);
    pthread_mutex_destroy(&transfer->lock);
}

static void add_up(struct slmp_state *state, const slmp_stats_t *stats, int error)
{
    pthread_mutex_lock(&state->lock);
    state->stats.messages += !error;
    state->stats.failures += error != 0;
    state->stats.packets += stats->packets;
    state->stats.retransmissions += stats->retransmissions;
    state->stats.acks += stats->acks;
    state->stats.stray += stats->stray;
    pthread_mutex_unlock(&state->lock);
}

int slmp_sendmsg(slmp_sock_t *sock, in_addr_t server, int msgid, void *buf, size_t sz)
{
    struct slmp_state *state = sock->state;
    struct slmp_transfer transfer = { .fd = -1, .data = buf, .bytes = sz, .id = (uint32_t)msgid };
    slmp_options_t options;
    int error;

    if (!state)
        return fail_with(EBADF);
    if (sz > UINT32_MAX)
        return fail_with(EMSGSIZE);
    pthread_mutex_lock(&state->lock);
    options = state->options;
    pthread_mutex_unlock(&state->lock);
    transfer.piece = (uint32_t)(SLMP_PAYLOAD_SIZE / sock->align * sock->align);
    transfer.count = sz == 0 ? 1 : (uint32_t)((sz + transfer.piece - 1) / transfer.piece);
    transfer.mode = options.mode;
    if (options.mode == SLMP_SYN_DEFAULT)
        transfer.mode = sock->wnd_sz > 0 ? SLMP_SYN_ALL : SLMP_SYN_NONE;
    transfer.window = sock->wnd_sz;
    transfer.gap_us = sock->fc_us;
    transfer.retries = options.retries == 0 ? RETRIES : options.retries < 0 ? 0 : options.retries;
    transfer.timeout_us = options.timeout_us ? (uint64_t)options.timeout_us : TIMEOUT_US;
    pthread_mutex_init(&transfer.lock, NULL);
    error = set_up(&transfer, sock, server, &options);
    if (!error)
        error = transfer_all(&transfer);
    tear_down(&transfer);
    add_up(state, &transfer.stats, error);
    return error ? fail_with(error) : 0;
}
