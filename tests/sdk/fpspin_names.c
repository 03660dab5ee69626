/* Uses every name of the FPsPIN handler interface the way existing sources do; it must compile
 * without change. */
#include "pspin.h"
#include <handler.h>
#include <packets.h>
#include <spin_dma.h>
#include <spin_host.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWAP(a, b, type) \
    do {                 \
        type tmp = a;    \
        a = b;           \
        b = tmp;         \
    } while (0)

typedef struct {
    uint8_t type;
    uint8_t code;
    uint16_t checksum;
    uint32_t rest_of_header;
} icmp_hdr_t;

typedef struct {
    eth_hdr_t eth_hdr;
    ip_hdr_t ip_hdr;
    icmp_hdr_t icmp_hdr;
} __attribute__((__packed__)) hdr_t;

static void turn(slmp_pkt_hdr_t *hdrs, uint16_t flags)
{
    SWAP(hdrs->udp_hdr.dst_port, hdrs->udp_hdr.src_port, uint16_t);
    SWAP(hdrs->ip_hdr.dest_id, hdrs->ip_hdr.source_id, uint32_t);
    SWAP(hdrs->eth_hdr.dest, hdrs->eth_hdr.src, mac_addr_t);
    hdrs->ip_hdr.length = htons(sizeof(ip_hdr_t) + sizeof(udp_hdr_t) + sizeof(slmp_hdr_t));
    hdrs->ip_hdr.checksum = 0;
    hdrs->ip_hdr.checksum = ip_checksum((uint8_t *)&hdrs->ip_hdr, sizeof(ip_hdr_t));
    hdrs->slmp_hdr.flags = htons(flags);
    hdrs->slmp_hdr.msg_id = htonl(ntohl(hdrs->slmp_hdr.msg_id));
}

__handler__ void names_hh(handler_args_t *args)
{
    slmp_pkt_hdr_t *hdrs = (slmp_pkt_hdr_t *)(args->task->pkt_mem);
    uint16_t flags = ntohs(hdrs->slmp_hdr.flags);

    if (!SYN(flags) || ACK(flags))
        printf("flags %#x, offset %d, %d bytes\n", flags, ntohl(hdrs->slmp_hdr.pkt_off),
               SLMP_PAYLOAD_LEN(hdrs));
}

__handler__ void names_ph(handler_args_t *args)
{
    uint32_t start = cycles();
    task_t *task = args->task;
    slmp_pkt_hdr_t *hdrs = (slmp_pkt_hdr_t *)(task->pkt_mem);
    uint8_t *payload = (uint8_t *)task->pkt_mem + sizeof(slmp_pkt_hdr_t);
    uint64_t host = HOST_ADDR(args) + CORE_COUNT * PAGE_SIZE;
    spin_cmd_t cmd;

    spin_dma_to_host(host + ntohl(hdrs->slmp_hdr.pkt_off), (uint32_t)payload,
                     SLMP_PAYLOAD_LEN(hdrs), 0, &cmd);
    if (fpspin_check_host_mem(args)) {
        spin_dma_to_host(HOST_PLD_ADDR(args), (uint32_t)payload, 64, 1, &cmd);
        spin_cmd_wait(cmd);
        fpspin_flag_t flag = fpspin_host_req(args, 64);
        uint16_t len = flag.len;
        spin_dma_from_host(HOST_PLD_ADDR(args), (uint32_t)payload, len, 1, &cmd);
        spin_cmd_wait(cmd);
    }
    if (SYN(ntohs(hdrs->slmp_hdr.flags))) {
        turn(hdrs, MKACK);
        spin_send_packet(task->pkt_mem, sizeof(slmp_pkt_hdr_t), &cmd);
    }
    push_counter(&__host_data.counters[0], cycles() - start);
}

__handler__ void names_th(handler_args_t *args)
{
    slmp_pkt_hdr_t *hdrs = (slmp_pkt_hdr_t *)(args->task->pkt_mem);
    pkt_hdr_t *udp = (pkt_hdr_t *)hdrs;
    hdr_t *icmp = (hdr_t *)hdrs;

    if (EOM(ntohs(hdrs->slmp_hdr.flags)))
        fpspin_host_req(args, ntohl(hdrs->slmp_hdr.pkt_off) + ntohs(udp->udp_hdr.length) +
                                  icmp->icmp_hdr.type);
    printf("%u %d %d\n", HPU_ID(args), MAX_COUNTERS, DMA_ALIGN);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr)
{
    volatile handler_fn handlers[] = { names_hh, names_ph, names_th };
    *hh = handlers[0];
    *ph = handlers[1];
    *th = handlers[2];
}
