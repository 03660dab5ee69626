// Handlers of @NAME@: they run on the NIC's cores, once per packet or once per message.
#include <handler.h>
#include <packets.h>
#include <pspin.h>

// Counters of this application, in the handler memory that all clusters share.
typedef struct {
    uint32_t messages;
} counters_t;

// Runs first, alone, on a message's first packet.
__handler__ void @SYMBOL@_hh(handler_args_t *args) {
    counters_t *counters = (counters_t *)args->task->handler_mem;
    amo_add(&counters->messages, 1);
}

// Runs on every packet, in parallel on all cores: counts it and sends it back to where it came from.
__handler__ void @SYMBOL@_ph(handler_args_t *args) {
    task_t *task = args->task;
    pkt_hdr_t *packet = (pkt_hdr_t *)task->pkt_mem;

    // The scratchpad of the own cluster is a cycle away; the memory all clusters share, twenty.
    uint32_t *packets = (uint32_t *)task->scratchpad[args->cluster_id];
    amo_add(packets, 1);

    // Swapped addresses and ports leave both checksums as they are.
    mac_addr_t mac = packet->eth_hdr.dest;
    packet->eth_hdr.dest = packet->eth_hdr.src;
    packet->eth_hdr.src = mac;
    uint32_t address = packet->ip_hdr.dest_id;
    packet->ip_hdr.dest_id = packet->ip_hdr.source_id;
    packet->ip_hdr.source_id = address;
    uint16_t port = packet->udp_hdr.dst_port;
    packet->udp_hdr.dst_port = packet->udp_hdr.src_port;
    packet->udp_hdr.src_port = port;

    spin_cmd_t send;
    spin_send_packet(task->pkt_mem, task->pkt_mem_size, &send);
}

// Runs last, alone, when all packets of the message are done: tells the host how many there were.
__handler__ void @SYMBOL@_th(handler_args_t *args) {
    task_t *task = args->task;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint32_t packets = 0;

    for (int cluster = 0; cluster < NB_CLUSTERS; cluster++)
        packets += *(volatile uint32_t *)task->scratchpad[cluster];

    spin_cmd_t write;
    spin_write_to_host(host, packets, &write);
}

// Tells the loader which handlers there are; the real machine's driver calls it once at start.
void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) {
    volatile handler_fn handlers[] = {@SYMBOL@_hh, @SYMBOL@_ph, @SYMBOL@_th};
    *hh = handlers[0];
    *ph = handlers[1];
    *th = handlers[2];
}
