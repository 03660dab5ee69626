/* Reads host memory for the network: a request's payload begins with a u32 (little-endian), the
 * offset to read from, modulo what the memory has; the packet goes back with the bytes from there in
 * the rest of its payload.
 */
#include <handler.h>
#include <packets.h>

typedef struct {
    pkt_hdr_t headers;
    uint32_t offset;
    uint8_t data[];
} __attribute__((packed)) frame_t;

/* Exchanges source and destination; without a UDP checksum, as IPv4 allows, because the data
 * change. */
static inline void turn_around(pkt_hdr_t *headers)
{
    mac_addr_t mac = headers->eth_hdr.src;
    uint32_t address = headers->ip_hdr.source_id;
    uint16_t port = headers->udp_hdr.src_port;

    headers->eth_hdr.src = headers->eth_hdr.dest;
    headers->eth_hdr.dest = mac;
    headers->ip_hdr.source_id = headers->ip_hdr.dest_id;
    headers->ip_hdr.dest_id = address;
    headers->udp_hdr.src_port = headers->udp_hdr.dst_port;
    headers->udp_hdr.dst_port = port;
    headers->udp_hdr.checksum = 0;
}

__handler__ void copy_from_host_ph(handler_args_t *args)
{
    task_t *task = args->task;
    frame_t *frame = task->pkt_mem;
    uint32_t bytes = sizeof(eth_hdr_t) + ntohs(frame->headers.ip_hdr.length);
    uint32_t data_bytes = MIN(bytes, task->pkt_mem_size) - sizeof(*frame);
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t command;

    if (bytes < sizeof(*frame))
        return;
    if (data_bytes > 0) {
        uint32_t offset = frame->offset % (task->host_mem_size - data_bytes + 1);

        spin_dma_from_host(host + offset, (uint32_t)frame->data, data_bytes, 0, &command);
        turn_around(&frame->headers); /* meanwhile */
        spin_cmd_wait(command);
    } else {
        turn_around(&frame->headers);
    }
    spin_send_packet(frame, task->pkt_mem_size, &command);
}
