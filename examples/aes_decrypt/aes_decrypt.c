/* Decrypts messages with AES-128 in counter mode and gives the host the plain text. Each packet is
 * decrypted on its own: its offset in the message says which part of the key stream it needs.
 *
 * Handler memory: 16 bytes of key, 16 bytes of initial counter block, whose bytes 8 to 11 are
 * replaced by the message number (big-endian), so that no two messages share a key stream.
 * Host memory: 64 KiB per message number (modulo 15) with the text; at FLAGS + 8 * message number,
 * once all is there, a u64 with its bytes.
 */
#include <handler.h>
#include <packets.h>
#include <spin_crypto.h>

#define MESSAGES 15u
#define MESSAGE_BYTES 0x10000u
#define FLAGS 0xf0000u
#define SCRATCHPAD (8 * 1024) /* as in app.toml */

typedef struct {
    uint8_t key[16];
    uint8_t counter[16];
} secret_t;

/* The same in each cluster. */
typedef struct {
    spin_aes128_t cipher;
    uint8_t counter[16];
    volatile uint32_t ready; /* in all clusters */
} scratchpad_t;

static_assert(sizeof(scratchpad_t) <= SCRATCHPAD, "the scratchpad is too small");

/* Expands the key in this cluster's L1, unless an earlier message has, and copies the tables to the
 * other clusters. Two messages that begin together both do, to the same effect. */
__handler__ void aes_decrypt_hh(handler_args_t *args)
{
    task_t *task = args->task;
    const secret_t *secret = task->handler_mem;
    scratchpad_t *own = task->scratchpad[args->cluster_id];
    spin_dma_t copy = 0;

    if (own->ready) /* pinion: synchronises */
        return;
    /* pinion: intended: what another message's handler may write meanwhile is the same */
    memcpy(own->counter, secret->counter, sizeof(own->counter));
    spin_aes128_init(&own->cipher, secret->key); /* pinion: intended */
    for (uint32_t other = 1; other < NB_CLUSTERS; other++)
        /* pinion: intended */
        spin_dma(own, task->scratchpad[(args->cluster_id + other) % NB_CLUSTERS],
                 offsetof(scratchpad_t, ready), SPIN_DMA_LOC2EXT, 0, &copy);
    if (copy)
        spin_dma_wait(copy);
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++)
        ((scratchpad_t *)task->scratchpad[cluster])->ready = 1; /* pinion: synchronises */
}

/* Bytes of the message in a packet: what its IP header says, as far as they are there. */
static inline uint32_t message_bytes(task_t *task, const slmp_pkt_hdr_t *headers)
{
    uint32_t bytes = MIN(sizeof(eth_hdr_t) + ntohs(headers->ip_hdr.length), task->pkt_mem_size);

    return bytes < sizeof(*headers) ? 0 : bytes - sizeof(*headers);
}

__handler__ void aes_decrypt_ph(handler_args_t *args)
{
    task_t *task = args->task;
    slmp_pkt_hdr_t *headers = task->pkt_mem;
    const scratchpad_t *own = task->scratchpad[args->cluster_id];
    uint32_t bytes = message_bytes(task, headers), offset = ntohl(headers->slmp_hdr.pkt_off);
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint8_t *text = (uint8_t *)(headers + 1), counter[16];
    spin_cmd_t command;

    if (bytes == 0 || offset + bytes > MESSAGE_BYTES)
        return;
    memcpy(counter, own->counter, sizeof(counter));
    memcpy(counter + 8, &headers->slmp_hdr.msg_id, 4);
    spin_aes128_ctr(&own->cipher, counter, offset, text, bytes);
    host += ntohl(headers->slmp_hdr.msg_id) % MESSAGES * MESSAGE_BYTES + offset;
    spin_dma_to_host(host, (uint32_t)text, bytes, 0, &command);
}

__handler__ void aes_decrypt_th(handler_args_t *args)
{
    task_t *task = args->task;
    const slmp_pkt_hdr_t *headers = task->pkt_mem;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t command;

    spin_write_to_host(host + FLAGS + ntohl(headers->slmp_hdr.msg_id) % MESSAGES * 8,
                       ntohl(headers->slmp_hdr.pkt_off) + message_bytes(task, headers), &command);
}
