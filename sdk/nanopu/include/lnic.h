/* The network as a nanoPU program sees it: two registers and a few CSRs.
 *
 * Reading x30 takes the next word of the running context's receive queue, writing x31 appends one to
 * its transmit queue. The first word of every message, both ways, is a header: the peer's IP address
 * (bits 63:32), its context (31:16) and the message's length in bytes without this word (15:0). Words
 * are in the byte order of the core: the NIC swaps them. Reading an empty queue gives an undefined
 * value. Names as in the nanoPU's own header; what is ours alone stands at the end.
 */
#ifndef PINION_LNIC_H
#define PINION_LNIC_H

#include <stdbool.h>
#include <stdint.h>
#include "encoding.h"

#define LNIC_WORD_SIZE 8

#define LREAD "x30"
#define LWRITE "x31"

/* Parts of the header word. */
#define IP_MASK 0xffffffff00000000
#define CONTEXT_MASK 0x00000000ffff0000
#define LEN_MASK 0x000000000000ffff

/* CSRs: status, what the running thread is, commands to the NIC and the thread scheduler. */
#define LNIC_CSR_MSGS_READY 0x052
#define LNIC_CSR_CUR_CONTEXT 0x053
#define LNIC_CSR_NIC_CMD 0x054
#define LNIC_CSR_CUR_PRIORITY 0x055
#define LNIC_CSR_THREAD_CMD 0x056
#define LNIC_CSR_NIC_READY 0x057
#define LNIC_CSR_TARGET_CONTEXT 0x058
#define LNIC_CSR_TARGET_PRIORITY 0x059
#define LNIC_CSR_MSG_CYCLES 0x060
#define LNIC_CSR_IDLE_CYCLES 0x061

/* Binds the running thread to a context (port), priority 0 first. */
#define lnic_add_context(context, priority)               \
    __extension__({                                       \
        write_csr(LNIC_CSR_CUR_CONTEXT, context);         \
        write_csr(LNIC_CSR_CUR_PRIORITY, priority);       \
        write_csr(LNIC_CSR_NIC_CMD, 1);                   \
    })

/* Tells the scheduler: this message is done; nothing to do; start my timers again. */
#define lnic_msg_done() write_csr(LNIC_CSR_THREAD_CMD, 1)
#define lnic_idle() write_csr(LNIC_CSR_THREAD_CMD, 2)
#define lnic_start_timer() write_csr(LNIC_CSR_NIC_CMD, 4)

/* Whether there are words to read, and waiting until there are. */
#define lnic_ready() (read_csr(LNIC_CSR_MSGS_READY) != 0)
#define lnic_wait()         \
    while (!lnic_ready()) { \
        lnic_idle();        \
    }

/* Takes a word. */
#define lnic_read()                                          \
    __extension__({                                          \
        uint64_t lnic_word_;                                 \
        __asm__ volatile("mv %0, " LREAD : "=r"(lnic_word_)); \
        lnic_word_;                                          \
    })

/* Sends the next received word as it is, or with a constant added. */
#define lnic_copy() __asm__ volatile("mv " LWRITE ", " LREAD)
#define lnic_add_int_i(number) \
    __asm__ volatile("add%i0 " LWRITE ", " LREAD ", %0" : : "rI"((int64_t)(number)))

/* Sends a value, a constant, a word of memory: one instruction writes x31, once. */
#define lnic_write_r(value) __asm__ volatile("mv " LWRITE ", %0" : : "r"((uint64_t)(value)))
#define lnic_write_i(number) \
    __asm__ volatile("add%i0 " LWRITE ", zero, %0" : : "rI"((int64_t)(number)))
#define lnic_write_m(place) __asm__ volatile("ld " LWRITE ", %0" : : "m"(place))

/* Branches to a label when `value` compares (`instruction`: "beq", "bltu" …) with the next word. */
#define lnic_branch(instruction, value, label) \
    __asm__ goto(instruction " %0, " LREAD ", %l1" : : "r"((uint64_t)(value)) : : label)

/* Tells whoever runs the program, with an 8-byte message to address 0, that it is up. */
#define lnic_boot_msg() \
    do {                \
        lnic_write_i(8); \
        lnic_write_i(0); \
    } while (0)

#ifdef __cplusplus
extern "C" {
/* Declared here, so that a C++ program's own are found by these names. */
int core_main(int argc, char **argv, int cid, int nc);
bool is_single_core(void);
int inet_pton4(const char *text, const char *end, unsigned char *to);
#else
/* Address in text to four bytes in network order; 1 when it is one. Declared without parameters,
 * since sources pass a pointer to any type. */
int inet_pton4();
#endif
uint32_t swap32(uint32_t value);
/* Sends what is printed to the UART instead of the host, where a machine has one. */
void enable_uart_print(int enable);
#ifdef __cplusplus
}
#endif

/* ---- Ours alone ---- */

/* Makes a header word, and takes one apart. */
#define lnic_header(ip, context, bytes) \
    ((uint64_t)(ip) << 32 | (uint64_t)(uint16_t)(context) << 16 | (uint16_t)(bytes))
#define lnic_header_ip(header) ((uint32_t)((header) >> 32))
#define lnic_header_context(header) ((uint16_t)((header) >> 16))
#define lnic_header_bytes(header) ((uint16_t)(header))
#define lnic_words(bytes) (((uint64_t)(bytes) + LNIC_WORD_SIZE - 1) / LNIC_WORD_SIZE)

/* A word as floating point, straight between the network and an FP register (paper, section 5). */
#define lnic_read_double()                                           \
    __extension__({                                                  \
        double lnic_double_;                                         \
        __asm__ volatile("fmv.d.x %0, " LREAD : "=f"(lnic_double_)); \
        lnic_double_;                                                \
    })
#define lnic_write_double(value) \
    __asm__ volatile("fmv.x.d " LWRITE ", %0" : : "f"((double)(value)))

/* How long a priority-0 message may take before its thread is demoted, and how long an idle thread
 * keeps the core; both 3000 cycles after reset. */
#define lnic_set_message_limit(cycles) write_csr(LNIC_CSR_MSG_CYCLES, cycles)
#define lnic_set_idle_limit(cycles) write_csr(LNIC_CSR_IDLE_CYCLES, cycles)

#endif
