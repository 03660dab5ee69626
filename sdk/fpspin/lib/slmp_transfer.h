/* A message on its way; shared by the sender's files. */
#ifndef PINION_SLMP_TRANSFER_H
#define PINION_SLMP_TRANSFER_H

#include <pthread.h>

#include "fpspin/slmp.h"

#define SLMP_MAX_THREADS 64
#define SLMP_MAX_WINDOW 65536

/* What slmp_sock_t.state points to. */
struct slmp_state {
    pthread_mutex_t lock;
    slmp_options_t options;
    slmp_stats_t stats;
};

/* A packet's state. */
struct slmp_packet {
    uint64_t sent_us; /* when it was sent last */
    uint16_t tries;
    uint8_t is_acked;
    uint8_t thread; /* whose it is */
};

/* A sending thread: the packets first to end - 1 are its own. */
struct slmp_thread {
    struct slmp_transfer *transfer;
    pthread_t id;
    pthread_cond_t moved; /* a packet was acknowledged, or the transfer failed */
    uint32_t next, end;
    uint32_t unacked;
    uint32_t *order; /* a ring of packets in the order they were sent last, acknowledged ones too */
    uint32_t head, length, room;
    uint64_t free_us; /* when the gap is over */
};

struct slmp_transfer {
    pthread_mutex_t lock; /* for everything below that changes */
    int fd;
    const uint8_t *data;
    size_t bytes;
    uint32_t piece, count, id;
    slmp_mode_t mode;
    int window, gap_us, retries;
    struct slmp_packet *packets;
    struct slmp_thread *threads;
    int thread_count;
    uint64_t timeout_us; /* for the next packet's first try */
    uint64_t mean_us, deviation_us; /* of the time an ACK takes; 0: no ACK yet */
    int error;
    int stop_pipe[2];
    pthread_t listener;
    slmp_stats_t stats;
};

uint64_t slmp_now_us(void);

/* Sends the thread's packets; returns when they are done or the transfer has failed. */
void slmp_send_range(struct slmp_thread *thread);

/* Starts and ends the thread that takes acknowledgements; 0 or an errno. */
int slmp_start_listener(struct slmp_transfer *transfer);
void slmp_stop_listener(struct slmp_transfer *transfer);

/* Notes that the transfer has failed, the first time, and wakes everybody; with the lock held. */
void slmp_fail(struct slmp_transfer *transfer, int error);

#endif
