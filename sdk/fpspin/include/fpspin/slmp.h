/* What the sender of SLMP messages offers beyond slmp_socket, slmp_sendmsg and slmp_close of
 * fpspin.h: the reliability mode, time-outs, retries, and what became of the packets.
 *
 * slmp_sendmsg cuts a message into packets of SLMP_PAYLOAD_SIZE bytes, or the most below it that is
 * a multiple of `align`. The first packet goes alone, and the last one when all others are done.
 * The packets between them are shared out among `num_threads` threads, each of which has `wnd_sz`
 * packets unacknowledged at most and lets `fc_us` microseconds pass between two. A packet whose
 * acknowledgement does not come in time is sent again, alone; the time adapts to how long
 * acknowledgements take and doubles with each try.
 *
 * It returns 0, or -1 with errno: EMSGSIZE, the message has 4 GiB or more; ECONNREFUSED, nobody has
 * the port; ETIMEDOUT, a packet was not acknowledged by the last try; or what the system says.
 * Several threads may send messages by one slmp_sock_t. Every message has a socket, and so a port,
 * of its own: a receiver can tell a message's repeated packets from another message with its id.
 */
#ifndef FPSPIN_SLMP_H
#define FPSPIN_SLMP_H

#include "fpspin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which packets ask for an acknowledgement. */
typedef enum {
    SLMP_SYN_DEFAULT, /* all with a window, none without */
    SLMP_SYN_NONE,    /* no guarantee */
    SLMP_SYN_ENDS,    /* the receiver is there at the message's begin and end */
    SLMP_SYN_ALL      /* every packet arrives */
} slmp_mode_t;

/* Zeros mean defaults. */
typedef struct {
    slmp_mode_t mode;
    int retries;    /* how often a packet is sent again; default 10; -1: never */
    int timeout_us; /* how long the first acknowledgement may take; default 200,000 */
    uint16_t port;  /* the receiver's; default SLMP_PORT */
} slmp_options_t;

/* What a socket's messages did, all together. */
typedef struct {
    uint64_t messages;        /* sent to their end */
    uint64_t failures;        /* given up */
    uint64_t packets;         /* sent, repeated ones included */
    uint64_t retransmissions; /* repeated ones */
    uint64_t acks;            /* that acknowledged something new */
    uint64_t stray;           /* datagrams that acknowledged nothing new, or were no ACK */
} slmp_stats_t;

/* Sets the options of messages sent from now on; -1 with EINVAL when they make no sense. */
int slmp_set_options(slmp_sock_t *sock, const slmp_options_t *options);

/* Gives the numbers so far. */
void slmp_get_stats(slmp_sock_t *sock, slmp_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
