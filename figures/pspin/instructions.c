/* Handlers of so many integer instructions of one cycle each, in a straight line. */
#include <handler.h>

/* Two bytes each, so that the longest fits the clusters' instruction cache of 4 KiB. */
#define ADDITIONS(count) \
    __asm__ volatile(".rept " #count "\n\taddi t0, t0, 1\n\t.endr" ::: "t0")

/* A handler starts where a line of the instruction cache does: else it takes one more or one less,
 * depending on what stands before it. */
#define LINE __attribute__((aligned(16)))

#define ALU(count)                                                \
    __handler__ LINE void alu_##count(handler_args_t *args) \
    {                                                             \
        (void)args;                                               \
        ADDITIONS(count);                                         \
    }

/* An empty handler: what remains is the cost of the machine. */
__handler__ LINE void alu_0(handler_args_t *args)
{
    (void)args;
}

ALU(1)
ALU(2)
ALU(3)
ALU(4)
ALU(8)
ALU(16)
ALU(32)
ALU(64)
ALU(128)
ALU(256)
ALU(512)
ALU(1024)

/* Tells when its third instruction is performed: a store to standard output is seen outside. */
__handler__ void mark(handler_args_t *args)
{
    (void)args;
    __asm__ volatile("lui t0, %0\n\tsb zero, %1(t0)" ::"i"(PINION_STDOUT >> 12),
                     "i"(PINION_STDOUT & 0xfff)
                     : "t0", "memory");
}

#define SLED_ADDITIONS 1024
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* Performs as many additions as the packet's first word after its headers says: jumps into a
 * straight line of them, so far before its end, and then goes through the whole of it as often as
 * is left. */
__handler__ void sled(handler_args_t *args)
{
    const uint32_t *packet = args->task->pkt_mem;
    uint32_t additions = packet[7];
    uint32_t whole = additions / SLED_ADDITIONS, bytes = additions % SLED_ADDITIONS * 2;

    __asm__ volatile("la t1, 2f\n\t"
                     "sub t1, t1, %1\n\t"
                     "jr t1\n"
                     "1:\n\t"
                     ".rept " TEXT(SLED_ADDITIONS) "\n\t"
                     "c.addi t0, 1\n\t"
                     ".endr\n"
                     "2:\n\t"
                     "addi %0, %0, -1\n\t"
                     "bltz %0, 3f\n\t"
                     "j 1b\n"
                     "3:"
                     : "+r"(whole)
                     : "r"(bytes)
                     : "t0", "t1");
}
