/* memcpy family and strings. Words are moved at any alignment; the cores split a misaligned access
 * in two, which is still half the cost of bytes. */
#include <string.h>
#include "pinion_rt.h"

/* Keeps the compiler from turning these loops into calls of the functions they implement. */
#ifdef __clang__
#define PLAIN __attribute__((no_builtin))
#else
#define PLAIN __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

/* A nanoPU's cores trap on misaligned words: nanopu/runtime/memory.c. The native engine brings the
 * computer's own: native/services.S. */
#if !defined(PINION_NANOPU) && !defined(PINION_NATIVE)
PLAIN void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    uint8_t *out = to;
    const uint8_t *in = from;

    for (; bytes >= 16; bytes -= 16, in += 16, out += 16) {
        const any_word_t *w = (const any_word_t *)in;
        uint32_t a = w[0], b = w[1], c = w[2], d = w[3];
        any_word_t *o = (any_word_t *)out;
        o[0] = a;
        o[1] = b;
        o[2] = c;
        o[3] = d;
    }
    for (; bytes >= 4; bytes -= 4, in += 4, out += 4)
        *(any_word_t *)out = *(const any_word_t *)in;
    while (bytes--)
        *out++ = *in++;
    return to;
}

PLAIN void *memmove(void *to, const void *from, size_t bytes)
{
    uint8_t *out = to;
    const uint8_t *in = from;

    if ((uintptr_t)out - (uintptr_t)in >= bytes) {
        for (; bytes >= 4; bytes -= 4, in += 4, out += 4)
            *(any_word_t *)out = *(const any_word_t *)in;
        while (bytes--)
            *out++ = *in++;
        return to;
    }
    while (bytes & 3) {
        bytes--;
        out[bytes] = in[bytes];
    }
    while (bytes) {
        bytes -= 4;
        *(any_word_t *)(out + bytes) = *(const any_word_t *)(in + bytes);
    }
    return to;
}

PLAIN void *memset(void *to, int byte, size_t bytes)
{
    uint8_t *out = to;
    uint32_t word = (uint8_t)byte * 0x01010101u;

    for (; bytes >= 16; bytes -= 16, out += 16) {
        any_word_t *o = (any_word_t *)out;
        o[0] = o[1] = o[2] = o[3] = word;
    }
    for (; bytes >= 4; bytes -= 4, out += 4)
        *(any_word_t *)out = word;
    while (bytes--)
        *out++ = (uint8_t)byte;
    return to;
}

PLAIN int memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *p = a, *q = b;

    for (; bytes >= 4; bytes -= 4, p += 4, q += 4)
        if (*(const any_word_t *)p != *(const any_word_t *)q)
            break;
    for (; bytes; bytes--, p++, q++)
        if (*p != *q)
            return *p - *q;
    return 0;
}
#endif

PLAIN void *memchr(const void *in, int byte, size_t bytes)
{
    const uint8_t *p = in;

    for (; bytes; bytes--, p++)
        if (*p == (uint8_t)byte)
            return (void *)p;
    return NULL;
}

PLAIN size_t strlen(const char *s)
{
    const char *end = s;

    while (*end)
        end++;
    return (size_t)(end - s);
}

PLAIN size_t strnlen(const char *s, size_t most)
{
    size_t length = 0;

    while (length < most && s[length])
        length++;
    return length;
}

PLAIN int strncmp(const char *a, const char *b, size_t most)
{
    for (; most; most--, a++, b++) {
        if (*a != *b)
            return (uint8_t)*a - (uint8_t)*b;
        if (!*a)
            break;
    }
    return 0;
}

PLAIN int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, (size_t)-1);
}

PLAIN char *strcpy(char *restrict to, const char *restrict from)
{
    memcpy(to, from, strlen(from) + 1);
    return to;
}

PLAIN char *strncpy(char *restrict to, const char *restrict from, size_t bytes)
{
    size_t length = strnlen(from, bytes);

    memcpy(to, from, length);
    memset(to + length, 0, bytes - length);
    return to;
}

PLAIN char *strcat(char *restrict to, const char *restrict from)
{
    strcpy(to + strlen(to), from);
    return to;
}

PLAIN char *strchr(const char *s, int c)
{
    for (;; s++) {
        if (*s == (char)c)
            return (char *)s;
        if (!*s)
            return NULL;
    }
}

PLAIN char *strrchr(const char *s, int c)
{
    const char *found = NULL;

    for (;; s++) {
        if (*s == (char)c)
            found = s;
        if (!*s)
            return (char *)found;
    }
}

PLAIN char *strstr(const char *s, const char *what)
{
    size_t length = strlen(what);

    for (;; s++) {
        if (!strncmp(s, what, length))
            return (char *)s;
        if (!*s)
            return NULL;
    }
}
