/* Boot, handler loop and trap handler of one HPU.
 *
 * In:    every core at _start in machine mode, nothing else set up; sections placed by the loader.
 * Out:   user mode in hpu_loop, for ever.
 * Holds: s1 = HPU driver, sp = this HPU's handler_args_t at the top of its stack, tp = hart id,
 *        mscratch = sp.
 * Waits: cores other than 0 sleep in the event unit until core 0 of their cluster has turned the
 *        instruction cache on; core 0 of the other clusters polls boot_done in L2 while core 0 of
 *        cluster 0 runs init_handlers.
 */
#include "pinion_map.h"
    .file __FILE__ /* or the linker names it for a file that is gone */
#define MHARTID 0xf14
#define MCOUNTINHIBIT 0x320
#define MSTATUS_MPP 0x1800
#define CAUSE_ECALL_U 8

/* ---- The 32 vectors. No interrupt is ever enabled; all lead to the trap handler. ---- */
    .section .vectors, "ax"
    .option push
    .option norvc
    .option norelax
    .globl vectors
vectors:
    .rept 32
    j       trap
    .endr
    .option pop

/* ---- Reset entry: origin of program memory + 0x80. ---- */
    .section .boot, "ax"
    .globl _start
    .type _start, @function
_start:
    csrr    tp, MHARTID
    csrw    mscratch, zero               /* tells the trap handler that there is no stack yet */
    la      t0, vectors
    csrw    mtvec, t0
    csrw    MCOUNTINHIBIT, zero          /* count cycles; without this register: trap, skip */
    call    set_up_stack
    csrw    mscratch, sp
    li      s0, PINION_EVENT_UNIT
    li      t0, 1 << PINION_EVENT_DISPATCH_BIT
    sw      t0, PINION_EVENT_MASK(s0)
    andi    t1, tp, 0x1f
    bnez    t1, sleep

    li      t0, 200                      /* core 0: give the others time to fall asleep, */
1:  addi    t0, t0, -1
    bnez    t0, 1b
    li      t0, PINION_ICACHE_CONTROL    /* turn the instruction cache on, */
    li      t1, -1
    sw      t1, 0(t0)
    la      a0, __l1_data_start          /* give this cluster its copy of .data_tiny_l1, */
    la      a1, __l1_data_image
    la      a2, __l1_data_end
2:  bgeu    a0, a2, 3f
    lw      t0, 0(a1)
    sw      t0, 0(a0)
    addi    a0, a0, 4
    addi    a1, a1, 4
    j       2b
3:  .weak   pinion_initialise
    lui     t2, %hi(pinion_initialise)   /* let the application initialise itself, once, */
    addi    t2, t2, %lo(pinion_initialise)
    beqz    t2, release
    srli    t0, tp, 5
    bnez    t0, await_init
    addi    sp, sp, -16
    addi    a0, sp, 0                    /* &hh, &ph, &th, &handler_mem, for nobody: the host
                                          * finds handlers by name */
    addi    a1, sp, 4
    addi    a2, sp, 8
    addi    a3, sp, 12
    sw      zero, 0(a0)
    sw      zero, 0(a1)
    sw      zero, 0(a2)
    sw      zero, 0(a3)
    jalr    t2
init_returned:
    la      t0, boot_done
    li      t1, 1
    sw      t1, 0(t0)
    j       release
await_init:
    la      t0, boot_done
4:  lw      t1, 0(t0)
    beqz    t1, 4b
release:                                 /* and wake the others. */
    li      s0, PINION_EVENT_UNIT
    li      t1, -1
    sw      t1, PINION_EVENT_TEAM(s0)
    sw      zero, PINION_EVENT_DISPATCH(s0)
    j       enter_user
sleep:
    .insn i 0x03, 0x6, t0, s0, PINION_EVENT_DISPATCH /* event load: until the dispatch */

/* Drops to user mode in the loop, with a fresh stack. */
enter_user:
    call    set_up_stack
    li      s1, PINION_DRIVER
    li      t0, MSTATUS_MPP
    csrc    mstatus, t0
    la      t0, hpu_loop
    csrw    mepc, t0
    mret

/* Points sp at this HPU's handler_args_t, freshly written, 16 bytes below the top of its stack.
 * Uses t0 to t3. */
set_up_stack:
    csrr    tp, MHARTID
    srli    t0, tp, 5
    andi    t0, t0, 0x3f                 /* cluster */
    andi    t1, tp, 0x1f                 /* core */
    li      t2, PINION_L1_STRIDE
    mul     t2, t2, t0
    li      t3, PINION_L1_BASE
    add     sp, t2, t3
    lui     t2, %hi(__stack_first)
    addi    t2, t2, %lo(__stack_first)
    add     sp, sp, t2
    lui     t2, %hi(__stack_bytes)
    addi    t2, t2, %lo(__stack_bytes)
    addi    t3, t1, 1
    mul     t2, t2, t3
    add     sp, sp, t2
    addi    sp, sp, -16
    li      t2, PINION_TASK
    sw      t2, 0(sp)                    /* task */
    li      t2, NB_CORES
    mul     t2, t2, t0
    add     t2, t2, t1
    sw      t2, 4(sp)                    /* hpu_gid */
    sw      t0, 8(sp)                    /* cluster_id */
    sw      t1, 12(sp)                   /* hpu_id */
#ifdef PINION_STACK_CHECK
    lui     t2, %hi(__stack_bytes)
    addi    t2, t2, %lo(__stack_bytes)
    sub     t2, sp, t2
    sw      zero, 16(t2)                 /* the stack's lowest word */
#endif
    ret

/* ---- The loop: ten bytes, one instruction-cache line. ---- */
    .balign 16
    .globl hpu_loop
    .type hpu_loop, @function
hpu_loop:
1:  lw      a5, 0(s1)                    /* handler's address; the load waits for a task */
    mv      a0, sp
    jalr    a5
#ifdef PINION_STACK_CHECK
    lui     t0, %hi(__stack_bytes)
    addi    t0, t0, %lo(__stack_bytes)
    sub     t0, sp, t0
    lw      t1, 16(t0)                   /* the stack's lowest word: still zero? */
    bnez    t1, stack_overrun
#endif
    lw      a5, PINION_DRIVER_DOORBELL(s1)
    j       1b
#ifdef PINION_STACK_CHECK
stack_overrun:
    sw      zero, 16(t0)
    li      t1, 24                       /* first cause number left to the implementation */
    sw      t1, PINION_DRIVER_ERROR(s1)
    lw      a5, PINION_DRIVER_DOORBELL(s1)
    j       1b
#endif

/* ---- Traps: serve cycles(); else report why, drop the handler, take the next task. ---- */
    .globl trap
    .type trap, @function
trap:
    csrr    t0, mcause
    li      t1, CAUSE_ECALL_U
    bne     t0, t1, drop
    li      t1, PSPIN_ECALL_CYCLES
    bne     a7, t1, drop
    csrr    a0, mcycle
    csrr    t0, mepc
    addi    t0, t0, 4
    csrw    mepc, t0
    mret
drop:
    csrr    t1, mstatus
    li      t2, MSTATUS_MPP
    and     t1, t1, t2
    bnez    t1, trap_while_booting
    li      s1, PINION_DRIVER
    sw      t0, PINION_DRIVER_ERROR(s1)
    lw      t0, PINION_DRIVER_DOORBELL(s1)
    j       enter_user
trap_while_booting:                      /* machine mode: an optional register, or init_handlers */
    csrr    sp, mscratch
    bnez    sp, init_failed
    csrr    t0, mepc
    addi    t0, t0, 4
    csrw    mepc, t0
    mret
init_failed:                             /* report; the handlers may still work */
    li      s1, PINION_DRIVER
    sw      t0, PINION_DRIVER_ERROR(s1)
    j       init_returned

/* ---- Set by core 0 of cluster 0 once init_handlers has returned; loaded as zero. ---- */
    .section .data.boot_done, "aw"
    .balign 4
boot_done:
    .word   0
