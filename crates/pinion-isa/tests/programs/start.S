/* Start of a bare-metal test program: one hart runs main and ends with its result, all registers
 * left in memory. A trap ends it with code 99. */
#if __riscv_xlen == 64
#define SAVE    sd
#define BYTES   8
#else
#define SAVE    sw
#define BYTES   4
#endif

    .section .text.start, "ax"
    .globl _start
_start:
    csrr    t0, mhartid
    bnez    t0, park
    la      t0, trap
    csrw    mtvec, t0
    .irp    register, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, \
                      22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    li      x\register, 0
    .endr
#ifdef __riscv_flen
    li      t0, 0x2000              /* mstatus.FS: floating point on, initial */
    csrs    mstatus, t0
    csrw    fcsr, zero
#endif
    la      sp, stack_top
    call    main
finish:
    csrw    mscratch, x31
    la      x31, registers
    .irp    register, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, \
                      22, 23, 24, 25, 26, 27, 28, 29, 30
    SAVE    x\register, BYTES * \register(x31)
    .endr
    csrr    t0, mscratch
    SAVE    t0, BYTES * 31(x31)
    slli    a0, a0, 16
    li      t0, 0x3333              /* the finisher: fail with this code, or ... */
    or      t0, t0, a0
    bnez    a0, 1f
    li      t0, 0x5555              /* ... pass */
1:  li      t1, 0x100000
    sw      t0, 0(t1)
park:
    wfi
    j       park
    .balign 4
trap:
    li      a0, 99
    j       finish

    .section .data.registers, "aw"
    .balign BYTES
registers:
    .fill   32, BYTES
