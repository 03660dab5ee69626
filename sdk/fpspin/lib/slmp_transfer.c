/* A message's packets go out and their acknowledgements come in: window, gap, time-outs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "slmp_transfer.h"

#define LEAST_TIMEOUT_US 20000
#define MOST_TIMEOUT_US 2000000
#define SPIN_BELOW_US 60 /* the system sleeps longer than this anyway */

void slmp_fail(struct slmp_transfer *transfer, int error)
{
    if (!transfer->error)
        transfer->error = error;
    for (int i = 0; i < transfer->thread_count; i++)
        pthread_cond_signal(&transfer->threads[i].moved);
}

static bool is_asked(const struct slmp_transfer *transfer, uint32_t index)
{
    bool is_end = index == 0 || index == transfer->count - 1;

    return transfer->mode == SLMP_SYN_ALL || (transfer->mode == SLMP_SYN_ENDS && is_end);
}

/* Puts a packet on the wire; 0 or an errno. A full queue counts as a loss on the way. */
static int emit(struct slmp_transfer *transfer, uint32_t index)
{
    size_t offset = (size_t)index * transfer->piece;
    size_t left = transfer->bytes - offset;
    slmp_hdr_t header = { .msg_id = htonl(transfer->id), .pkt_off = htonl((uint32_t)offset) };
    struct iovec parts[2] = { { &header, sizeof(header) }, { NULL, 0 } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    uint16_t flags = is_asked(transfer, index) ? MKSYN : 0;

    if (index == transfer->count - 1)
        flags |= MKEOM;
    header.flags = htons(flags);
    parts[1].iov_base = (void *)(uintptr_t)(transfer->data + offset);
    parts[1].iov_len = left < transfer->piece ? left : transfer->piece;
    while (sendmsg(transfer->fd, &message, 0) < 0) {
        if (errno == ENOBUFS || errno == EAGAIN)
            return 0;
        if (errno != EINTR)
            return errno;
    }
    return 0;
}

/* Lets the gap since the last packet pass; with the lock held, which it gives back meanwhile. */
static void keep_gap(struct slmp_thread *thread)
{
    struct slmp_transfer *transfer = thread->transfer;
    uint64_t now = slmp_now_us(), until = thread->free_us;

    if (transfer->gap_us == 0)
        return;
    if (now < until) {
        pthread_mutex_unlock(&transfer->lock);
        if (until - now > SPIN_BELOW_US)
            usleep((useconds_t)(until - now - SPIN_BELOW_US));
        while (slmp_now_us() < until) {
        }
        pthread_mutex_lock(&transfer->lock);
        now = until;
    }
    thread->free_us = now + (uint64_t)transfer->gap_us;
}

/* Sends a packet, the first time or again; with the lock held, which it gives back meanwhile. */
static void send_one(struct slmp_thread *thread, uint32_t index)
{
    struct slmp_transfer *transfer = thread->transfer;
    struct slmp_packet *packet = &transfer->packets[index];
    int error;

    keep_gap(thread);
    transfer->stats.packets++;
    transfer->stats.retransmissions += packet->tries > 0;
    packet->tries++;
    packet->sent_us = slmp_now_us();
    if (is_asked(transfer, index)) {
        thread->order[(thread->head + thread->length++) % thread->room] = index;
        thread->unacked += packet->tries == 1;
    }
    pthread_mutex_unlock(&transfer->lock);
    error = emit(transfer, index);
    pthread_mutex_lock(&transfer->lock);
    if (error)
        slmp_fail(transfer, error);
}

/* Forgets acknowledged packets; says whether the oldest of the others is there. */
static bool oldest_unacked(struct slmp_thread *thread, uint32_t *index)
{
    while (thread->length > 0) {
        *index = thread->order[thread->head];
        if (!thread->transfer->packets[*index].is_acked)
            return true;
        thread->head = (thread->head + 1) % thread->room;
        thread->length--;
    }
    return false;
}

static uint64_t deadline_us(const struct slmp_transfer *transfer, uint32_t index)
{
    const struct slmp_packet *packet = &transfer->packets[index];
    uint64_t timeout = transfer->timeout_us;

    for (int again = 1; again < packet->tries && timeout < MOST_TIMEOUT_US; again++)
        timeout *= 2;
    return packet->sent_us + (timeout < MOST_TIMEOUT_US ? timeout : MOST_TIMEOUT_US);
}

static void wait_until(struct slmp_thread *thread, uint64_t until_us)
{
    struct timespec until = { .tv_sec = (time_t)(until_us / 1000000),
                              .tv_nsec = (long)(until_us % 1000000) * 1000 };

    pthread_cond_timedwait(&thread->moved, &thread->transfer->lock, &until);
}

void slmp_send_range(struct slmp_thread *thread)
{
    struct slmp_transfer *transfer = thread->transfer;

    pthread_mutex_lock(&transfer->lock);
    while (!transfer->error) {
        uint32_t oldest, window = transfer->window > 0 ? (uint32_t)transfer->window : 1;
        bool waits = oldest_unacked(thread, &oldest);
        uint64_t deadline = waits ? deadline_us(transfer, oldest) : 0;

        if (waits && slmp_now_us() >= deadline) {
            if (transfer->packets[oldest].tries > transfer->retries) {
                slmp_fail(transfer, ETIMEDOUT);
                break;
            }
            thread->head = (thread->head + 1) % thread->room;
            thread->length--;
            send_one(thread, oldest);
        } else if (thread->next < thread->end && thread->unacked < window &&
                   thread->length < thread->room) {
            send_one(thread, thread->next++);
        } else if (waits) {
            wait_until(thread, deadline);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&transfer->lock);
}

/* Adapts the time-out to how long an acknowledgement took (as RFC 6298 does for TCP). */
static void learn(struct slmp_transfer *transfer, uint64_t took_us)
{
    uint64_t off;

    if (transfer->mean_us == 0) {
        transfer->mean_us = took_us + 1;
        transfer->deviation_us = took_us / 2;
    } else {
        off = took_us > transfer->mean_us ? took_us - transfer->mean_us
                                          : transfer->mean_us - took_us;
        transfer->deviation_us = (3 * transfer->deviation_us + off) / 4;
        transfer->mean_us = (7 * transfer->mean_us + took_us) / 8 + 1;
    }
    transfer->timeout_us = transfer->mean_us + 4 * transfer->deviation_us;
    if (transfer->timeout_us < LEAST_TIMEOUT_US)
        transfer->timeout_us = LEAST_TIMEOUT_US;
}

static void take_ack(struct slmp_transfer *transfer, const uint8_t *datagram, ssize_t bytes)
{
    slmp_hdr_t header;
    struct slmp_packet *packet;
    uint32_t offset, index;

    pthread_mutex_lock(&transfer->lock);
    transfer->stats.stray++;
    if (bytes < (ssize_t)sizeof(header))
        goto done;
    memcpy(&header, datagram, sizeof(header));
    offset = ntohl(header.pkt_off);
    index = offset / transfer->piece;
    if (!ACK(ntohs(header.flags)) || ntohl(header.msg_id) != transfer->id ||
        offset % transfer->piece != 0 || index >= transfer->count)
        goto done;
    packet = &transfer->packets[index];
    if (packet->tries == 0 || packet->is_acked)
        goto done;
    transfer->stats.stray--;
    transfer->stats.acks++;
    packet->is_acked = 1;
    /* Of a packet sent twice nobody knows which one this answers. */
    if (packet->tries == 1)
        learn(transfer, slmp_now_us() - packet->sent_us);
    transfer->threads[packet->thread].unacked--;
    pthread_cond_signal(&transfer->threads[packet->thread].moved);
done:
    pthread_mutex_unlock(&transfer->lock);
}

static void *listen_for_acks(void *argument)
{
    struct slmp_transfer *transfer = argument;
    struct pollfd ready[2] = { { .fd = transfer->fd, .events = POLLIN },
                               { .fd = transfer->stop_pipe[0], .events = POLLIN } };
    uint8_t datagram[64];

    while (poll(ready, 2, -1) >= 0 || errno == EINTR) {
        ssize_t bytes;

        if (ready[1].revents)
            break;
        while ((bytes = recv(transfer->fd, datagram, sizeof(datagram), MSG_DONTWAIT)) >= 0)
            take_ack(transfer, datagram, bytes);
        if (errno != EAGAIN && errno != EINTR) {
            pthread_mutex_lock(&transfer->lock);
            slmp_fail(transfer, errno);
            pthread_mutex_unlock(&transfer->lock);
            break;
        }
    }
    return NULL;
}

int slmp_start_listener(struct slmp_transfer *transfer)
{
    int error;

    if (pipe2(transfer->stop_pipe, O_CLOEXEC) < 0)
        return errno;
    error = pthread_create(&transfer->listener, NULL, listen_for_acks, transfer);
    if (error) {
        close(transfer->stop_pipe[0]);
        close(transfer->stop_pipe[1]);
    }
    return error;
}

void slmp_stop_listener(struct slmp_transfer *transfer)
{
    close(transfer->stop_pipe[1]); /* its end is readable now */
    pthread_join(transfer->listener, NULL);
    close(transfer->stop_pipe[0]);
}
