// Takes longer, the longer the packet is.
#include <handler.h>

__handler__ void busy_ph(handler_args_t *args)
{
    for (uint32_t left = args->task->pkt_mem_size; left != 0; left -= 4)
        asm volatile("" ::: "memory");
}
