/* CSR access by name or number, and the CSR bits that nanoPU programs use. Names as in the RISC-V
 * project's header of the same name. */
#ifndef PINION_ENCODING_H
#define PINION_ENCODING_H

#include <stdint.h>

#define MSTATUS_SIE 0x00000002
#define MSTATUS_MIE 0x00000008
#define MSTATUS_SPIE 0x00000020
#define MSTATUS_MPIE 0x00000080
#define MSTATUS_SPP 0x00000100
#define MSTATUS_MPP 0x00001800
#define MSTATUS_FS 0x00006000
#define MSTATUS_XS 0x00018000
#define MSTATUS_MPRV 0x00020000

#define MIP_SSIP 0x00000002
#define MIP_MSIP 0x00000008
#define MIP_STIP 0x00000020
#define MIP_MTIP 0x00000080
#define MIP_SEIP 0x00000200
#define MIP_MEIP 0x00000800

#define PRV_U 0
#define PRV_S 1
#define PRV_M 3

#define IRQ_M_SOFT 3
#define IRQ_M_TIMER 7
#define IRQ_M_EXT 11

#define CAUSE_MISALIGNED_FETCH 0x0
#define CAUSE_FETCH_ACCESS 0x1
#define CAUSE_ILLEGAL_INSTRUCTION 0x2
#define CAUSE_BREAKPOINT 0x3
#define CAUSE_MISALIGNED_LOAD 0x4
#define CAUSE_LOAD_ACCESS 0x5
#define CAUSE_MISALIGNED_STORE 0x6
#define CAUSE_STORE_ACCESS 0x7
#define CAUSE_USER_ECALL 0x8
#define CAUSE_MACHINE_ECALL 0xb

#define PINION_TEXT_(text) #text
#define PINION_TEXT(text) PINION_TEXT_(text)

/* `csr` is a name the assembler knows, a number, or a macro for either. */
#define read_csr(csr)                                                       \
    __extension__({                                                         \
        unsigned long csr_value_;                                           \
        __asm__ volatile("csrr %0, " PINION_TEXT(csr) : "=r"(csr_value_));  \
        csr_value_;                                                         \
    })
#define write_csr(csr, value)                                               \
    __extension__({                                                         \
        __asm__ volatile("csrw " PINION_TEXT(csr) ", %0"                    \
                         : : "rK"((unsigned long)(value)));                 \
    })
#define swap_csr(csr, value)                                                \
    __extension__({                                                         \
        unsigned long csr_value_;                                           \
        __asm__ volatile("csrrw %0, " PINION_TEXT(csr) ", %1"               \
                         : "=r"(csr_value_) : "rK"((unsigned long)(value))); \
        csr_value_;                                                         \
    })
#define set_csr(csr, bits)                                                  \
    __extension__({                                                         \
        unsigned long csr_value_;                                           \
        __asm__ volatile("csrrs %0, " PINION_TEXT(csr) ", %1"               \
                         : "=r"(csr_value_) : "rK"((unsigned long)(bits))); \
        csr_value_;                                                         \
    })
#define clear_csr(csr, bits)                                                \
    __extension__({                                                         \
        unsigned long csr_value_;                                           \
        __asm__ volatile("csrrc %0, " PINION_TEXT(csr) ", %1"               \
                         : "=r"(csr_value_) : "rK"((unsigned long)(bits))); \
        csr_value_;                                                         \
    })

#define rdtime() read_csr(time)
#define rdcycle() read_csr(cycle)
#define rdinstret() read_csr(instret)

#endif
