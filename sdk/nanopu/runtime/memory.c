/* memcpy and its kin: eight bytes at a time where both sides allow it, since the cores trap on
 * misaligned words. */
#include <stdint.h>
#include <string.h>

typedef uint64_t __attribute__((may_alias)) word_t;

/* Keeps the compiler from turning these loops into calls of the functions they implement. */
#ifdef __clang__
#define PLAIN __attribute__((no_builtin))
#else
#define PLAIN __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

static inline int is_even(const void *a, const void *b)
{
    return (((uintptr_t)a | (uintptr_t)b) & 7) == 0;
}

PLAIN void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    uint8_t *out = to;
    const uint8_t *in = from;

    if ((((uintptr_t)out ^ (uintptr_t)in) & 7) == 0) {
        for (; bytes && !is_even(out, in); bytes--)
            *out++ = *in++;
        for (; bytes >= 32; bytes -= 32, in += 32, out += 32) {
            const word_t *w = (const word_t *)in;
            word_t a = w[0], b = w[1], c = w[2], d = w[3];
            word_t *o = (word_t *)out;
            o[0] = a;
            o[1] = b;
            o[2] = c;
            o[3] = d;
        }
        for (; bytes >= 8; bytes -= 8, in += 8, out += 8)
            *(word_t *)out = *(const word_t *)in;
    }
    while (bytes--)
        *out++ = *in++;
    return to;
}

PLAIN void *memmove(void *to, const void *from, size_t bytes)
{
    uint8_t *out = to;
    const uint8_t *in = from;

    if ((uintptr_t)out - (uintptr_t)in >= bytes)
        return memcpy(to, from, bytes);
    while (bytes--)
        out[bytes] = in[bytes];
    return to;
}

PLAIN void *memset(void *to, int byte, size_t bytes)
{
    uint8_t *out = to;
    word_t word = (uint8_t)byte * 0x0101010101010101u;

    for (; bytes && ((uintptr_t)out & 7); bytes--)
        *out++ = (uint8_t)byte;
    for (; bytes >= 8; bytes -= 8, out += 8)
        *(word_t *)out = word;
    while (bytes--)
        *out++ = (uint8_t)byte;
    return to;
}

PLAIN int memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *p = a, *q = b;

    if (is_even(p, q))
        for (; bytes >= 8; bytes -= 8, p += 8, q += 8)
            if (*(const word_t *)p != *(const word_t *)q)
                break;
    for (; bytes; bytes--, p++, q++)
        if (*p != *q)
            return *p - *q;
    return 0;
}
