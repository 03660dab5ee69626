/* The tenant that misbehaves: the first word of a packet's payload (little-endian) says how. What it
 * gets hold of it would write to its own host memory, and it prints "not reached" wherever it should
 * have been stopped. Commands that ask for too much stop nobody: they are refused and reported.
 */
#include <handler.h>
#include <packets.h>

#define LEDGER_BYTES 4096u /* of the other's handler memory and scratchpad, which lie before its own */

enum {
    READ_HANDLER_MEMORY,
    WRITE_HANDLER_MEMORY,
    READ_SCRATCHPAD,
    WRITE_SCRATCHPAD,
    WRITE_OTHER_CLUSTER,
    COPY_SCRATCHPAD,
    READ_PACKET,
    WRITE_PROGRAM,
    LOOP,
    HOST_BEYOND,
    HOST_BEFORE,
    SEND_OTHERS,
    COPY_TO_OTHERS,
    SEND_TOO_MUCH,
    NO_INSTRUCTION,
    NOWHERE,
};

typedef struct {
    pkt_hdr_t headers;
    uint32_t deed;
} __attribute__((packed)) frame_t;

/* Gives the host what was found. */
static void keep(task_t *task, uint32_t loot)
{
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;

    spin_write_to_host(host, (uint64_t)loot << 32 | loot, NULL);
}

static void touch_memory(handler_args_t *args, uint32_t deed)
{
    task_t *task = args->task;
    uint8_t *theirs = (uint8_t *)task->handler_mem - LEDGER_BYTES;
    uint8_t *scratchpad = (uint8_t *)task->scratchpad[args->cluster_id] - LEDGER_BYTES;
    uint8_t *remote =
        (uint8_t *)task->scratchpad[(args->cluster_id + 1) % NB_CLUSTERS] - LEDGER_BYTES;

    switch (deed) {
    case READ_HANDLER_MEMORY:
        keep(task, *(volatile uint32_t *)theirs);
        break;
    case WRITE_HANDLER_MEMORY:
        *(volatile uint32_t *)theirs = 0xbadbad;
        break;
    case READ_SCRATCHPAD:
        keep(task, *(volatile uint32_t *)scratchpad);
        break;
    case WRITE_SCRATCHPAD:
        *(volatile uint32_t *)scratchpad = 0xbadbad;
        break;
    case WRITE_OTHER_CLUSTER:
        *(volatile uint32_t *)remote = 0xbadbad;
        break;
    case READ_PACKET: /* the neighbour's, in L2 */
        keep(task, *(volatile uint32_t *)((uint8_t *)task->l2_pkt_mem - 8192));
        break;
    case WRITE_PROGRAM:
        *(volatile uint32_t *)0x1d000080 = 0;
        break;
    default:
        break;
    }
}

static void give_commands(handler_args_t *args, uint32_t deed)
{
    task_t *task = args->task;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint8_t *theirs = (uint8_t *)task->handler_mem - LEDGER_BYTES;
    uint32_t frame = (uint32_t)task->pkt_mem;
    spin_cmd_t command;

    switch (deed) {
    case HOST_BEYOND:
        spin_dma_to_host(host + task->host_mem_size - 4, frame, 64, 0, &command);
        break;
    case HOST_BEFORE: /* the other's host memory */
        spin_write_to_host(host - 4096, 0xbadbadbadbad, &command);
        break;
    case SEND_OTHERS:
        spin_send_packet(theirs, 64, &command);
        break;
    case COPY_TO_OTHERS:
        spin_dma_from_host(host, (uint32_t)theirs, 64, 0, &command);
        break;
    default:
        spin_send_packet(task->pkt_mem, 0x7fffffff, &command);
        break;
    }
    spin_cmd_wait(command);
}

__handler__ void rogue_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t deed = ((const frame_t *)task->pkt_mem)->deed;
    uint8_t *own = task->scratchpad[args->cluster_id];
    spin_dma_t copy;

    switch (deed) {
    case COPY_SCRATCHPAD: /* by the cluster's DMA engine, past the HPU's own protection */
        spin_dma(own - LEDGER_BYTES, own, 64, SPIN_DMA_EXT2LOC, 0, &copy);
        spin_dma_wait(copy);
        keep(task, *(volatile uint32_t *)own);
        return;
    case LOOP:
        for (;;)
            asm_mem_fence();
    case HOST_BEYOND:
    case HOST_BEFORE:
    case SEND_OTHERS:
    case COPY_TO_OTHERS:
    case SEND_TOO_MUCH:
        give_commands(args, deed);
        return;
    case NO_INSTRUCTION:
        __asm__ volatile(".word 0");
        break;
    case NOWHERE:
        ((void (*)(void))0x20000000)();
        break;
    default:
        touch_memory(args, deed);
        break;
    }
    printf("not reached: %u\n", (unsigned)deed);
}
