/* What the seeded bugs share. Each is a handler NAME_ph (NAME_hh, NAME_th), after a line
 *
 *     // case NAME: SPEC; KEYS
 *
 * SPEC are the packets, KEYS go into the context and may be left out. A line that ends with
 * `// finds KIND` must be named by a finding of that kind, and nothing else may be found. With FIXED
 * defined the bug is not there, and nothing may be found; a case that ends with `unfixed` has no such
 * twin.
 */
#include <handler.h>
#include <packets.h>
#include <stdio.h>
#include <string.h>

#define HOST(task) ((uint64_t)(task)->host_mem_high << 32 | (task)->host_mem_low)
/* Uses a value: a branch that no compiler leaves out. */
#define USE(value)             \
    if ((value) == 0x5a5a5a5a) \
    __asm__ volatile("nop")
/* Hides from the compiler where a pointer comes from. */
#define HIDDEN(pointer)                                         \
    ({                                                          \
        __typeof__(pointer) hidden_ = (pointer);                \
        __asm__ volatile("" : "+r"(hidden_) : : "memory");      \
        hidden_;                                                \
    })
