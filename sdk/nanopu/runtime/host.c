/* Calls to the host through tohost and fromhost (HTIF): the address of a block of eight words goes
 * out, the host does what the block says, writes the result to its first word and something other
 * than zero to fromhost. */
#include <string.h>
#include "kernel.h"
#include "mmio.h"

#define SYS_write 64
#define SYS_getmainvars 2011
#define STDOUT 1
#define ARGUMENT_BYTES 1024

/* A SiFive UART, where there is one. */
#define UART_BASE 0x54000000
#define UART_TXDATA (UART_BASE + 0x00)
#define UART_TXCTRL (UART_BASE + 0x08)

extern volatile uint64_t tohost, fromhost;

static lock_t host;
static volatile uint64_t block[8] __attribute__((aligned(64)));
static volatile int to_uart;

/* Call with the host's lock. */
static uint64_t call(uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
    block[0] = number;
    block[1] = a;
    block[2] = b;
    block[3] = c;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    tohost = (uintptr_t)block;
    while (fromhost == 0)
        ;
    fromhost = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return block[0];
}

void enable_uart_print(int enable)
{
    if (enable)
        reg_write32(UART_TXCTRL, 1);
    to_uart = enable;
}

void pinion_write(const char *text, size_t bytes)
{
    uint64_t before = lock(&host);

    if (to_uart) {
        for (; bytes; bytes--, text++) {
            while (reg_read32(UART_TXDATA) >> 31)
                ;
            reg_write32(UART_TXDATA, (uint8_t)*text);
        }
    } else {
        call(SYS_write, STDOUT, (uintptr_t)text, bytes);
    }
    unlock(&host, before);
}

/* The host writes argc, then the addresses of the arguments and their text behind. */
int pinion_arguments(char ***argv)
{
    static uint64_t vector[ARGUMENT_BYTES / 8] __attribute__((aligned(64)));
    static bool known;
    uint64_t before = lock(&host);

    if (!known) {
        if (call(SYS_getmainvars, (uintptr_t)vector, sizeof(vector), 0) != 0)
            memset(vector, 0, sizeof(vector));
        known = true;
    }
    unlock(&host, before);
    *argv = (char **)&vector[1];
    return (int)vector[0];
}
