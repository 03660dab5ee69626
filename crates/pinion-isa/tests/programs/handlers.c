/* Runs an application's handlers, one after the other, in QEMU's `virt` machine: the steps and the
 * memory to run them in are prepared at PLAN. Commands and DMA copies are carried out in memory.
 * Prints what was done and a digest. */
#include <handler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAN ((const plan_t *)0x80020000)
#define L1_PACKET_BYTES 4096u

typedef struct {
    handler_fn handler;
    uint8_t *packet; /* L2 */
    uint32_t bytes, l1_bytes;
    uint32_t flow, hpu;
} step_t;

typedef struct {
    uint8_t *handler_mem;
    uint32_t handler_mem_bytes;
    uint8_t *scratchpads; /* one per cluster, one behind the other */
    uint32_t scratchpad_bytes;
    uint32_t host, host_bytes;
    uint8_t *l1_packets; /* one per HPU */
    uint8_t *sent;       /* packets for the network, each behind a word with its length */
    uint32_t steps;
    step_t step[];
} plan_t;

volatile uint32_t stand_in_driver[64];
static pinion_dma_port_t dma = { .launch = 1 };
static uint8_t *sent;
static uint32_t commands, copies;

static void *pointer(uint32_t address)
{
    return (void *)(uintptr_t)address;
}

uint32_t stand_in_dma(void)
{
    if (dma.bytes) {
        memcpy(pointer(dma.destination), pointer(dma.source), dma.bytes);
        dma.bytes = 0;
        dma.done = dma.launch++;
        copies++;
    }
    return (uint32_t)&dma;
}

static void send(const void *packet, uint32_t bytes)
{
    memcpy(sent, &bytes, sizeof(bytes));
    memcpy(sent + sizeof(bytes), packet, bytes);
    sent += sizeof(bytes) + bytes;
}

uint32_t stand_in_issue(void)
{
    uint32_t type = MMIO_READ(CMD_INFO) & 6, host = MMIO_READ(CMD_WORD0);
    void *nic = pointer(MMIO_READ(CMD_WORD2));
    uint32_t length = MMIO_READ(CMD_WORD3), last = MMIO_READ(CMD_WORD4);

    if (type == CMD_TYPE_NIC_SEND)
        send(nic, last);
    else if (type == CMD_TYPE_HOST_DIRECT)
        memcpy(pointer(host), (void *)(CMD_WORD3), MMIO_READ(CMD_WORD2) >> 1);
    else if (last)
        memcpy(pointer(host), nic, length);
    else
        memcpy(nic, pointer(host), length);
    commands++;
    stand_in_driver[0x80 / 4] = 1; /* as id: CMD_TEST gives back what is written, 1 means done */
    return (uint32_t)&stand_in_driver[0x80 / 4];
}

/* Calls the runtime's functions on a packet; returns a hash of what they did. */
static uint32_t use_runtime(const uint8_t *packet, uint32_t bytes)
{
    static uint8_t room[L1_PACKET_BYTES + 64];
    char text[80], *end;
    uint64_t wide, hash = 0xcbf29ce484222325u;

    memcpy(room + 1, packet, bytes);
    memmove(room + 6, room + 1, bytes);
    memmove(room + 3, room + 6, bytes);
    memset(room + 3 + bytes, rand(), 13);
    hash += (uint32_t)memcmp(room + 3, packet, bytes) + (uint32_t)memchr(room, 0x11, bytes);
    memcpy(&wide, packet + bytes - sizeof(wide), sizeof(wide));
    snprintf(text, sizeof(text), "%#lx %-7d|%+05d|%llu %s", (unsigned long)(wide >> 20),
             (int)(wide >> 9), (int16_t)wide, (unsigned long long)wide, "end");
    hash ^= strtoul(text, &end, 16) + strtol(end, NULL, 10) + (uint32_t)strstr(text, "end");
    hash ^= wide / (packet[20] + 1u) + wide % ((wide >> 30) + 1) + (uint64_t)((int64_t)wide / -77);
    for (uint32_t i = 0; i < bytes; i++)
        hash = (hash ^ room[i]) * 0x100000001b3u;
    return (uint32_t)(hash >> 32) ^ (uint32_t)hash ^ strlen(text);
}

static void fill_task(task_t *task, const step_t *step)
{
    const plan_t *plan = PLAN;

    task->handler_mem = plan->handler_mem;
    task->handler_mem_size = plan->handler_mem_bytes;
    task->pkt_mem = plan->l1_packets + step->hpu * L1_PACKET_BYTES;
    task->pkt_mem_size = step->l1_bytes;
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        task->scratchpad[cluster] = plan->scratchpads + cluster * plan->scratchpad_bytes;
        task->scratchpad_size[cluster] = plan->scratchpad_bytes;
    }
    task->host_mem_high = 0;
    task->host_mem_low = plan->host;
    task->host_mem_size = plan->host_bytes;
    task->l2_pkt_mem = step->packet;
    task->home_cluster_id = step->flow % NB_CLUSTERS;
    task->flow_id = step->flow;
}

int main(void)
{
    const plan_t *plan = PLAN;
    task_t *task = (task_t *)PINION_TASK;
    uint32_t digest = 0;

    sent = plan->sent;
    for (const step_t *step = plan->step; step < plan->step + plan->steps; step++) {
        handler_args_t args = {
            .task = task,
            .hpu_gid = step->hpu,
            .cluster_id = step->hpu / NB_CORES,
            .hpu_id = step->hpu % NB_CORES,
        };
        fill_task(task, step);
        memcpy(task->pkt_mem, step->packet, step->l1_bytes);
        step->handler(&args);
        stand_in_dma();
        digest = digest * 31 + use_runtime(task->pkt_mem, step->l1_bytes);
    }
    printf("%u handlers, %u commands, %u copies, %u bytes sent, digest %08x\n",
           (unsigned)plan->steps, (unsigned)commands, (unsigned)copies,
           (unsigned)(sent - plan->sent), (unsigned)digest);
    return 0;
}
