/* Handlers that call the kernel, each for something that would touch this computer: what the native engine
 * must keep them from. What each is reported with stands in ../run.py. */
#include <handler.h>
#include <packets.h>

/* Calls the kernel of an x86-64; on other processors there is nothing to call. */
static int call(int number, const void *first, unsigned second, unsigned third)
{
    int answer = -1;
#ifdef __x86_64__
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
#else
    (void)number;
    (void)first;
    (void)second;
    (void)third;
#endif
    return answer;
}

static const char touched[] = "touched";

__handler__ void open_ph(handler_args_t *args)
{
    (void)args;
    call(2, touched, 0101, 0644); /* open, to create it */
    printf("not reached\n");
}

__handler__ void write_ph(handler_args_t *args)
{
    (void)args;
    call(1, (const void *)1, (unsigned)(uintptr_t)touched, 7); /* write */
    printf("not reached\n");
}

__handler__ void socket_ph(handler_args_t *args)
{
    (void)args;
    call(41, (const void *)2, 1, 0); /* socket */
    printf("not reached\n");
}

__handler__ void fork_ph(handler_args_t *args)
{
    (void)args;
    call(57, 0, 0, 0); /* fork */
    printf("not reached\n");
}

__handler__ void exit_ph(handler_args_t *args)
{
    (void)args;
    call(231, 0, 0, 0); /* exit_group */
    printf("not reached\n");
}

/* By the door for programs of 32 bits, where numbers mean something else: 5 is open. */
__handler__ void old_door_ph(handler_args_t *args)
{
    (void)args;
#ifdef __x86_64__
    __asm__ volatile("int $0x80" : : "a"(5), "b"(touched), "c"(0101), "d"(0644) : "memory");
#endif
    printf("not reached\n");
}

/* Destroys what its worker works with: the engine must not take this computer's `pinion` along. */
__handler__ void wreck_ph(handler_args_t *args)
{
    spin_cmd_t command;
    unsigned at;

    for (at = 0; at < 4096 / sizeof(uint64_t); at++)
        ((volatile uint64_t *)0x20000000)[at] = 0x4141414141414141;
    spin_send_packet(args->task->pkt_mem, args->task->pkt_mem_size, &command);
}
