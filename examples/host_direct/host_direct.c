/* The shortest way to the host: the first eight bytes behind the UDP header, in a HostDirect command,
 * to the u64 whose number is the source port modulo 512. No DMA engine reads anything.
 */
#include <handler.h>
#include <packets.h>

#define WORDS 512u

typedef struct {
    pkt_hdr_t headers;
    uint64_t word;
} __attribute__((packed)) frame_t;

__handler__ void host_direct_ph(handler_args_t *args)
{
    task_t *task = args->task;
    const frame_t *frame = task->pkt_mem;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t command;

    if (task->pkt_mem_size >= sizeof(*frame))
        spin_write_to_host(host + ntohs(frame->headers.udp_hdr.src_port) % WORDS * 8, frame->word,
                           &command);
}
