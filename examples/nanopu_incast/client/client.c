/* Sends one message to the server in a given cycle; all nodes count the same cycles from reset.
 *
 * Arguments: the server's address, this client's number, the cycle. The NIC sends when it has the last
 * word, and every client writes that in the same cycle; the others, with which the NIC's timer for the
 * message begins, shortly before. A loop that reads the counter ends some cycles late, so a row of
 * instructions follows that is entered as much later.
 */
#include <lnic.h>
#include <stdlib.h>

#include "incast.h"

/* Instructions of one cycle each, more than the loop has cycles. */
#define ROW 64
/* Cycles that are enough to write all words but the last. */
#define AHEAD 1000

/* Writes a word to the NIC a row of instructions after `cycle`; `skipped` is set in how many of the row
 * are skipped. There is one copy of the code and no branch behind the loop: the second call finds it in
 * the cache, and what was predicted before makes no difference between clients. */
static void __attribute__((noinline)) write_in(uint64_t cycle, uint64_t skipped, uint64_t word)
{
    uint64_t now;

    do
        now = read_csr(mcycle);
    while (now < cycle);
    uint64_t late = (now - cycle) | skipped;
    __asm__ volatile(".option push\n"
                     ".option norvc\n"
                     "la t1, 1f\n"
                     "slli t2, %0, 2\n"
                     "add t1, t1, t2\n"
                     "jr t1\n"
                     ".balign 64\n"
                     "1: .rept %1\n"
                     "nop\n"
                     ".endr\n"
                     "mv x31, %2\n"
                     ".option pop\n"
                     :
                     : "r"(late), "i"(ROW), "r"(word)
                     : "t1", "t2");
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return EXIT_FAILURE;
    uint64_t server = strtoul(argv[1], NULL, 0), client = strtoul(argv[2], NULL, 0);
    uint64_t cycle = strtoul(argv[3], NULL, 0), word = first_word(client);

    lnic_add_context(0, 0);
    if (read_csr(mcycle) + 2 * AHEAD > cycle)
        return EXIT_FAILURE; /* too late: give a later cycle */
    /* The header is a rehearsal, which enters the row where the last word never does: both jumps are
     * mispredicted. */
    write_in(cycle - ROW - AHEAD, ROW - 1, lnic_header(server, 0, MESSAGE_BYTES));
    lnic_write_r(client);
    for (int i = 1; i < MESSAGE_WORDS - 1; i++) {
        lnic_write_r(word);
        word += STEP;
    }
    write_in(cycle - ROW, 0, word);
    /* The NIC goes on until the message is acknowledged; nothing is expected in return. */
    lnic_wait();
    return EXIT_FAILURE;
}
