/* Xpulp v2 as RI5CY encodes it, for compilers that do not know it. Needs `core.xpulp = true`.
 *
 * Functions for single instructions, which are plain C where the compiler's target is not RISC-V; and
 * texts for whole loops in one asm statement: a compiler must not move code into or out of a
 * hardware loop, so the loop and its body stand in the same statement.
 *
 *     asm volatile(XPULP_BEGIN
 *                  XPULP_SETUP(0, "%[count]", 2)            // the two instructions that follow
 *                  XPULP_LW("%[word]", "%[at]", 4)
 *                  XPULP_SDOTSP_B("%[sum]", "%[word]", "%[word]")
 *                  XPULP_END
 *                  : [sum] "+r"(sum), [at] "+r"(at), [word] "=&r"(word)
 *                  : [count] "r"(count) : "memory");
 *
 * A body runs once even with a count of 0. What stands in it takes four bytes an instruction, and is
 * neither a branch nor a jump at its end.
 */
#ifndef XPULP_H
#define XPULP_H

#include <stdint.h>

/* ---- Texts ---- */

/* Around the statement's instructions: none of them is compressed. */
#define XPULP_BEGIN ".option push\n.option norvc\n"
#define XPULP_END ".option pop\n"

/* lp.setup: runs the next `instructions` instructions as often as the register says. */
#define XPULP_SETUP(loop, count, instructions) \
    ".insn i 0x7b, 4, x" #loop ", " count ", 2 * " #instructions "\n"

/* p.lb and so on: loads from `base`, then moves it by `bytes`. */
#define XPULP_LB(rd, base, bytes) ".insn i 0x0b, 0, " rd ", " base ", " #bytes "\n"
#define XPULP_LH(rd, base, bytes) ".insn i 0x0b, 1, " rd ", " base ", " #bytes "\n"
#define XPULP_LW(rd, base, bytes) ".insn i 0x0b, 2, " rd ", " base ", " #bytes "\n"
#define XPULP_LBU(rd, base, bytes) ".insn i 0x0b, 4, " rd ", " base ", " #bytes "\n"
#define XPULP_LHU(rd, base, bytes) ".insn i 0x0b, 5, " rd ", " base ", " #bytes "\n"

/* p.sb and so on: stores to `base`, then moves it by `bytes`. */
#define XPULP_SB(value, base, bytes) ".insn s 0x2b, 0, " value ", " #bytes "(" base ")\n"
#define XPULP_SH(value, base, bytes) ".insn s 0x2b, 1, " value ", " #bytes "(" base ")\n"
#define XPULP_SW(value, base, bytes) ".insn s 0x2b, 2, " value ", " #bytes "(" base ")\n"

/* Products: rd += rs1 * rs2 of whole registers, half words or bytes. */
#define XPULP_MAC(rd, rs1, rs2) ".insn r 0x33, 0, 0x21, " rd ", " rs1 ", " rs2 "\n"
#define XPULP_SDOTUP_H(rd, rs1, rs2) ".insn r 0x57, 0, 0x50, " rd ", " rs1 ", " rs2 "\n"
#define XPULP_SDOTUP_B(rd, rs1, rs2) ".insn r 0x57, 1, 0x50, " rd ", " rs1 ", " rs2 "\n"
#define XPULP_SDOTUSP_H(rd, rs1, rs2) ".insn r 0x57, 0, 0x54, " rd ", " rs1 ", " rs2 "\n"
#define XPULP_SDOTUSP_B(rd, rs1, rs2) ".insn r 0x57, 1, 0x54, " rd ", " rs1 ", " rs2 "\n"
#define XPULP_SDOTSP_H(rd, rs1, rs2) ".insn r 0x57, 0, 0x5c, " rd ", " rs1 ", " rs2 "\n"
#define XPULP_SDOTSP_B(rd, rs1, rs2) ".insn r 0x57, 1, 0x5c, " rd ", " rs1 ", " rs2 "\n"

/* ---- Functions ---- */

#ifdef __riscv
#define XPULP_TWO(name, type, text, plain)           \
    static inline type name(type a, type b)          \
    {                                                \
        type result;                                 \
        __asm__(text : "=r"(result) : "r"(a), "r"(b)); \
        return result;                               \
    }
#define XPULP_ONE(name, type, text, plain)      \
    static inline type name(type a)             \
    {                                           \
        type result;                            \
        __asm__(text : "=r"(result) : "r"(a));  \
        return result;                          \
    }
#else
#define XPULP_TWO(name, type, text, plain)  \
    static inline type name(type a, type b) \
    {                                       \
        return plain;                       \
    }
#define XPULP_ONE(name, type, text, plain) \
    static inline type name(type a)        \
    {                                      \
        return plain;                      \
    }
#endif

XPULP_TWO(xpulp_min, int32_t, ".insn r 0x33, 4, 0x02, %0, %1, %2", a < b ? a : b)
XPULP_TWO(xpulp_minu, uint32_t, ".insn r 0x33, 5, 0x02, %0, %1, %2", a < b ? a : b)
XPULP_TWO(xpulp_max, int32_t, ".insn r 0x33, 6, 0x02, %0, %1, %2", a > b ? a : b)
XPULP_TWO(xpulp_maxu, uint32_t, ".insn r 0x33, 7, 0x02, %0, %1, %2", a > b ? a : b)
XPULP_TWO(xpulp_ror, uint32_t, ".insn r 0x33, 5, 0x04, %0, %1, %2",
          a >> (b & 31) | a << (-b & 31))
XPULP_ONE(xpulp_abs, int32_t, ".insn r 0x33, 0, 0x02, %0, %1, x0", a < 0 ? -a : a)
XPULP_ONE(xpulp_cnt, uint32_t, ".insn r 0x33, 3, 0x08, %0, %1, x0",
          (uint32_t)__builtin_popcount(a))
/* Place of the lowest and of the highest one, 32 if there is none. */
XPULP_ONE(xpulp_ff1, uint32_t, ".insn r 0x33, 0, 0x08, %0, %1, x0",
          a ? (uint32_t)__builtin_ctz(a) : 32)
XPULP_ONE(xpulp_fl1, uint32_t, ".insn r 0x33, 1, 0x08, %0, %1, x0",
          a ? 31 - (uint32_t)__builtin_clz(a) : 32)

#undef XPULP_TWO
#undef XPULP_ONE

#endif
