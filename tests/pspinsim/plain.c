/* Handlers that need nothing beyond RV32IM: a sum over the packet to host memory, and an instruction
 * of Xpulp (p.max a0, a1, a2, by its word). */
#include <handler.h>

__handler__ void sum_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t *words = task->pkt_mem, sum = 0;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t cmd;

    for (uint32_t i = 0; i < task->pkt_mem_size / 4; i++)
        sum = sum * 31 + words[i] / 7;
    spin_write_to_host(host, sum, &cmd);
}

__handler__ void xpulp_ph(handler_args_t *args)
{
    task_t *task = args->task;
    register uint32_t larger __asm__("a0");
    register uint32_t a __asm__("a1") = 12;
    register uint32_t b __asm__("a2") = 30;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t cmd;

    __asm__ volatile(".word 0x04c5e533" : "=r"(larger) : "r"(a), "r"(b));
    spin_write_to_host(host, larger, &cmd);
}
