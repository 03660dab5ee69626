/* Boot of one hart.
 *
 * In:    every hart at _start in machine mode, memory loaded, nothing else set up.
 * Out:   pinion_start(hart, harts) on a stack of the hart's own, FP on, traps handled, no interrupt
 *        source enabled; harts that the program has no use for sleep.
 * Holds: gp = the program's small data; tp = this hart's thread-local data, its control block below;
 *        mscratch = this hart's first save area.
 * Waits: until the NIC is ready, about 16,000 cycles: a context bound earlier would be demoted
 *        before its first message. -DPINION_NO_LNIC leaves this out, for machines without that NIC.
 */
#include "kernel.h"
    .file __FILE__ /* or the linker names it for a file that is gone */
    .section .text.init, "ax"
    .globl _start
    .type _start, @function
_start:
    csrw    mie, zero
    li      t0, FS_BITS
    csrs    mstatus, t0
    fscsr   zero
    la      t0, pinion_vectors
    ori     t0, t0, 1                    /* vectored */
    csrw    mtvec, t0
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop

    csrr    a0, mhartid
    li      a1, PINION_HARTS
    bgeu    a0, a1, pinion_park
    la      t0, _end
    slli    t1, a0, HART_BLOCK_SHIFT
    add     t0, t0, t1
    addi    tp, t0, CONTROL_BYTES
    li      t1, HART_BLOCK_BYTES
    add     sp, t0, t1

    la      t0, __tls_image              /* thread-local data: the initialised part, */
    mv      t1, tp
    la      t2, __tls_data_size
    ld      t2, 0(t2)
    add     t2, t2, tp
1:  bgeu    t1, t2, 2f
    lb      t3, 0(t0)
    sb      t3, 0(t1)
    addi    t0, t0, 1
    addi    t1, t1, 1
    j       1b
2:  la      t2, __tls_size               /* the zeroed part; */
    ld      t2, 0(t2)
    add     t2, t2, tp
3:  bgeu    t1, t2, 4f
    sb      zero, 0(t1)
    addi    t1, t1, 1
    j       3b

4:  la      t0, threads                  /* the control block. */
    li      t1, AREAS_PER_HART << AREA_SHIFT
    mul     t1, t1, a0
    add     t0, t0, t1
    csrw    mscratch, t0
    addi    t0, t0, 1 << AREA_SHIFT
    sd      t0, CONTROL_CONTEXTS(tp)
    li      t0, CLINT_MTIMECMP
    slli    t1, a0, 3
    add     t0, t0, t1
    sd      t0, CONTROL_MTIMECMP(tp)
    sd      zero, CONTROL_FP_OWNER(tp)
    sd      a0, CONTROL_HART(tp)
    sd      zero, CONTROL_BARRIER(tp)
    sd      zero, CONTROL_THREADS(tp)
    addi    t0, a0, 1
    sd      t0, CONTROL_RANDOM(tp)
    csrsi   mstatus, 8                   /* traps may come; mie says which */

#ifndef PINION_NO_LNIC
5:  csrr    t0, 0x057
    beqz    t0, 5b
#endif
    call    pinion_start

    .globl pinion_park
    .type pinion_park, @function
pinion_park:
    csrw    mie, zero
6:  wfi
    j       6b

    .section .rodata.boot, "a"
    .balign 8
__tls_data_size: .dword __tls_data_bytes
__tls_size:      .dword __tls_bytes

/* Where host and program meet: addresses that hosts know from the symbols, or by heart. */
    .section .tohost, "aw", @progbits
    .balign 64
    .globl tohost
    .type tohost, @object
    .size tohost, 8
tohost: .dword 0
    .balign 64
    .globl fromhost
    .type fromhost, @object
    .size fromhost, 8
fromhost: .dword 0
