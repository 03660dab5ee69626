/* Traps: the switch between threads, the timer's variant of it, floating point on first use.
 *
 * In:    an interrupt of the NIC's thread scheduler (16), of the timer (7), or an exception.
 * Out:   the thread that the scheduler wants, where it stopped; or the same one.
 * Holds: mscratch = save area of the running thread. tp and gp are the hart's and never change, so
 *        they are neither saved nor restored; x30 and x31 are the network and never touched.
 * Waits: for nothing; interrupts stay off until mret. The scheduler's choice is read as late as
 *        possible, since its pulses are lost meanwhile.
 *
 * FP registers stay with the thread that used them last: another one finds FP off, traps once and
 * has them exchanged. A switch costs a comparison for that; a mstatus write only when the owner
 * comes or goes.
 */
#include "kernel.h"
    .file __FILE__ /* or the linker names it for a file that is gone */
#define LMSGSRDY 0x052
#define LCURCONTEXT 0x053
#define LNICCMD 0x054
#define LCURPRIORITY 0x055
#define LTARGETCONTEXT 0x058
#define LTARGETPRIORITY 0x059

    .section .text.trap, "ax"

/* Registers that a switch moves, beside x5. */
    .macro  for_registers instruction
    .irp    n, 1, 2, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
    \instruction x\n, 8*\n(x5)
    .endr
    .endm

/* Saves the running thread; leaves x5 = its save area, x7 = its pc. */
    .macro  save
    csrrw   x5, mscratch, x5
    for_registers sd
    csrr    x6, mscratch
    csrr    x7, mepc
    .endm

/* Interrupts go to pinion_vectors + 4 * cause, exceptions to pinion_vectors. The scheduler's cause is
 * the last: its handler begins right there, on a cache line of its own. */
    .balign 256
    .globl  pinion_vectors
pinion_vectors:
    .option push
    .option norvc
    .option norelax
    j       exception
    .rept   6
    j       unexpected
    .endr
    j       timer_interrupt              /* 7 */
    .rept   8
    j       unexpected
    .endr
    .option pop

    .globl  pinion_thread_switch
    .type   pinion_thread_switch, @function
pinion_thread_switch:                    /* 16 */
    save
    csrwi   LNICCMD, 4                   /* start the message timer anew */
    csrr    x10, LTARGETCONTEXT
    csrr    x11, LTARGETPRIORITY
    ld      x12, CONTROL_CONTEXTS(tp)
    ld      x13, AREA_OWNS_FP(x5)
    sd      x6, 8*5(x5)
    sd      x7, AREA_PC(x5)
select:
    li      x14, MAX_THREADS
    bgeu    x10, x14, resume             /* nobody: go on with the running one */
    csrw    LCURCONTEXT, x10
    slli    x10, x10, AREA_SHIFT
    csrw    LCURPRIORITY, x11
    add     x5, x12, x10
    ld      x7, AREA_PC(x5)
    ld      x14, AREA_OWNS_FP(x5)
    csrw    mscratch, x5
    bne     x13, x14, change_fp
resume:
    csrw    mepc, x7
    for_registers ld
    ld      x5, 8*5(x5)
    mret
    .size   pinion_thread_switch, . - pinion_thread_switch

change_fp:                               /* FP is on for its owner alone */
    li      x13, FS_BITS
    bnez    x14, 1f
    csrc    mstatus, x13
    j       resume
1:  csrs    mstatus, x13
    j       resume

/* The same, after the next interrupt has been set. */
timer_interrupt:
    save
    ld      x8, CONTROL_MTIMECMP(tp)
    li      x9, CLINT_MTIME
    ld      x9, 0(x9)
    addi    x9, x9, TIME_SLICE_RTC_TICKS
    sd      x9, 0(x8)
    csrwi   LNICCMD, 4
    csrr    x10, LTARGETCONTEXT
    csrr    x11, LTARGETPRIORITY
    ld      x12, CONTROL_CONTEXTS(tp)
    ld      x13, AREA_OWNS_FP(x5)
    sd      x6, 8*5(x5)
    sd      x7, AREA_PC(x5)
    j       select

/* void pinion_dispatch(area, context, priority): leaves for a thread that has never run, with
 * interrupts off until it runs. */
    .globl  pinion_dispatch
    .type   pinion_dispatch, @function
pinion_dispatch:
    csrwi   LNICCMD, 4
    csrw    LCURCONTEXT, a1
    csrw    LCURPRIORITY, a2
    csrw    mscratch, a0
    li      t1, 0x1880                   /* back to machine mode, with interrupts on */
    csrs    mstatus, t1
    mv      x5, a0
    ld      x7, AREA_PC(x5)
    j       resume

/* An exception: floating point while it is off, or the program's end. */
exception:
    csrrw   x5, mscratch, x5
    sd      x6, 8*6(x5)
    sd      x7, 8*7(x5)
    csrr    x6, mcause
    addi    x6, x6, -2                   /* illegal instruction? */
    bnez    x6, fatal
    csrr    x6, mstatus
    li      x7, FS_BITS
    and     x6, x6, x7
    bnez    x6, fatal                    /* FP is on: really illegal */
    csrs    mstatus, x7
    sd      x8, 8*8(x5)
    la      x8, pinion_fp_areas          /* the FP area of a save area lies at the same offset */
    la      x7, threads
    sub     x8, x8, x7
    ld      x6, CONTROL_FP_OWNER(tp)
    beqz    x6, 1f
    sd      zero, AREA_OWNS_FP(x6)
    add     x7, x6, x8
    .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    fsd     f\n, 8*\n(x7)
    .endr
    frcsr   x7
    sd      x7, 0(x6)
1:  add     x7, x5, x8
    .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    fld     f\n, 8*\n(x7)
    .endr
    ld      x7, 0(x5)
    fscsr   x7
    li      x7, 1
    sd      x7, AREA_OWNS_FP(x5)
    sd      x5, CONTROL_FP_OWNER(tp)
    ld      x6, 8*6(x5)
    ld      x7, 8*7(x5)
    ld      x8, 8*8(x5)
    csrrw   x5, mscratch, x5
    mret                                 /* once more, with FP */

/* Tells what happened and ends the program, on the hart's own stack. */
unexpected:
fatal:
    la      t0, give_up                  /* whatever is broken may break this too */
    csrw    mtvec, t0
    csrr    a0, mcause
    csrr    a1, mepc
    csrr    a2, mtval
#ifdef PINION_NO_LNIC
    li      a3, NANOKERNEL_CONTEXT
#else
    csrr    a3, LCURCONTEXT
#endif
    li      sp, HART_BLOCK_BYTES - CONTROL_BYTES
    add     sp, sp, tp
    tail    pinion_unexpected

/* A trap while a trap was being told of: ends the program without a word. */
    .balign 4
give_up:
    li      t1, ERR_UNKNOWN_EXCEPTION << 1 | 1
    la      t0, tohost
1:  sd      t1, 0(t0)
    j       1b
