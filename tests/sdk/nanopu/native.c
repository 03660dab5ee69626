/* The nanoservices' library on this computer, under names with rt_ in front, against its own: 128-bit
 * arithmetic, bits, memory, formatted floating point, addresses, sorting, the heap. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 u128;
typedef __int128 s128;

u128 rt___udivmodti4(u128, u128, u128 *);
s128 rt___divti3(s128, s128), rt___modti3(s128, s128), rt___muloti4(s128, s128, int *);
u128 rt___multi3(u128, u128), rt___ashlti3(u128, int), rt___lshrti3(u128, int);
s128 rt___ashrti3(s128, int), rt___fixdfti(double);
double rt___floatuntidf(u128), rt___floattidf(s128);
u128 rt___fixunsdfti(double);
int rt___clzdi2(uint64_t), rt___ctzdi2(uint64_t), rt___popcountdi2(uint64_t), rt___ffsdi2(uint64_t);
int rt___clzti2(u128), rt___ctzti2(u128), rt___paritydi2(uint64_t), rt___clrsbdi2(int64_t);
uint64_t rt___bswapdi2(uint64_t);
void *rt_memcpy(void *, const void *, size_t), *rt_memmove(void *, const void *, size_t);
void *rt_memset(void *, int, size_t);
int rt_memcmp(const void *, const void *, size_t);
int rt_snprintf(char *, size_t, const char *, ...);

/* What the formatter needs to link; nothing is written. */
void rt_pinion_write(const char *text, size_t bytes)
{
    (void)text;
    (void)bytes;
}

static unsigned long checks;

#define CHECK(condition, ...)                             \
    do {                                                  \
        checks++;                                         \
        if (!(condition)) {                               \
            printf("native.c:%d: %s: ", __LINE__, #condition); \
            printf(__VA_ARGS__);                          \
            printf("\n");                                 \
            exit(1);                                      \
        }                                                 \
    } while (0)

static uint64_t state;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Numbers of every size, edges included. */
static u128 any(void)
{
    u128 value = (u128)next() << 64 | next();
    int by = (int)(next() % 128);

    switch (next() % 8) {
    case 0:
        return (u128)1 << by;
    case 1:
        return ~(u128)0 >> by;
    case 2:
        return 0 - ((u128)1 << by);
    default:
        return value >> by;
    }
}

static void check_arithmetic(void)
{
    u128 a = any(), b = any(), rest;
    s128 product;
    int by = (int)(next() % 128), overflow;

    if (b) {
        CHECK(rt___udivmodti4(a, b, &rest) == a / b, "quotient");
        CHECK(rest == a % b, "remainder");
        if (!((s128)b == -1 && a == (u128)1 << 127)) {
            CHECK(rt___divti3((s128)a, (s128)b) == (s128)a / (s128)b, "signed quotient");
            CHECK(rt___modti3((s128)a, (s128)b) == (s128)a % (s128)b, "signed remainder");
        }
    }
    CHECK(rt___multi3(a, b) == a * b, "product");
    int is_too_large = __builtin_mul_overflow((s128)a, (s128)b, &product);
    CHECK(rt___muloti4((s128)a, (s128)b, &overflow) == product, "checked product");
    CHECK(overflow == is_too_large, "overflow of a product");
    CHECK(rt___ashlti3(a, by) == a << by, "shift by %d", by);
    CHECK(rt___lshrti3(a, by) == a >> by, "shift by %d", by);
    CHECK(rt___ashrti3((s128)a, by) == (s128)a >> by, "shift by %d", by);
    CHECK(rt___floatuntidf(a) == (double)a, "to double");
    CHECK(rt___floattidf((s128)a) == (double)(s128)a, "to double");
    double x = (double)a;
    if (x < ldexp(1, 128))
        CHECK(rt___fixunsdfti(x) == (u128)x, "from %g", x);
    if (x < ldexp(1, 127))
        CHECK(rt___fixdfti(-x / 3) == (s128)(-x / 3), "from %g", -x / 3);
}

static void check_bits(void)
{
    u128 wide = any();
    uint64_t value = (uint64_t)wide;

    CHECK(rt___popcountdi2(value) == __builtin_popcountll(value), "%lx", value);
    CHECK(rt___paritydi2(value) == __builtin_parityll(value), "%lx", value);
    CHECK(rt___ffsdi2(value) == __builtin_ffsll((long long)value), "%lx", value);
    CHECK(rt___clrsbdi2((int64_t)value) == __builtin_clrsbll((long long)value), "%lx", value);
    CHECK(rt___bswapdi2(value) == __builtin_bswap64(value), "%lx", value);
    if (value) {
        CHECK(rt___clzdi2(value) == __builtin_clzll(value), "%lx", value);
        CHECK(rt___ctzdi2(value) == __builtin_ctzll(value), "%lx", value);
    }
    if (wide) {
        int zeros = wide >> 64 ? __builtin_clzll((uint64_t)(wide >> 64)) : 64 + __builtin_clzll(value);
        CHECK(rt___clzti2(wide) == zeros, "%lx", value);
        zeros = value ? __builtin_ctzll(value) : 64 + __builtin_ctzll((uint64_t)(wide >> 64));
        CHECK(rt___ctzti2(wide) == zeros, "%lx", value);
    }
}

static void check_memory(void)
{
    unsigned char a[200], b[200];
    size_t from = next() % 40, to = next() % 40, bytes = next() % 120;

    for (size_t i = 0; i < sizeof(a); i++)
        a[i] = b[i] = (unsigned char)next();
    rt_memmove(a + to, a + from, bytes);
    memmove(b + to, b + from, bytes);
    CHECK(!memcmp(a, b, sizeof(a)), "memmove %zu to %zu, %zu bytes", from, to, bytes);
    rt_memset(a + to, (int)from, bytes);
    memset(b + to, (int)from, bytes);
    CHECK(!memcmp(a, b, sizeof(a)), "memset at %zu, %zu bytes", to, bytes);
    rt_memcpy(a + from, b + to, bytes);
    memcpy(b + from, b + to, 0);
    CHECK(!memcmp(a + from, b + to, bytes), "memcpy %zu to %zu, %zu bytes", to, from, bytes);
    if (bytes)
        b[to + next() % bytes] ^= 1;
    int wanted = memcmp(a + from, b + to, bytes), found = rt_memcmp(a + from, b + to, bytes);
    CHECK((wanted > 0) - (wanted < 0) == (found > 0) - (found < 0), "memcmp, %zu bytes", bytes);
}

static double any_double(void)
{
    uint64_t bits = next();
    double x;

    if (next() % 2)
        return (double)(int64_t)(next() % 2000001 - 1000000) / 64;
    memcpy(&x, &bits, sizeof(x));
    return x != x || fabs(x) > 1e200 || fabs(x) < 1e-200 ? (double)(bits % 1000) : x;
}

/* Text must be the same up to 12 digits; the formatter promises 15, of which rounding may take one. */
static void check_double(void)
{
    static const char *const formats[] = {
        "%.3f", "%f", "%12.4f", "%-14.2f|", "%+09.1f", "%e", "%.2e", "%.10g", "%g", "%G", "%#.3g",
    };
    const char *format = formats[next() % (sizeof(formats) / sizeof(*formats))];
    double x = any_double();
    char found[400], wanted[400];

    if (strchr(format, 'f') && fabs(x) > 1e9)
        x = fmod(x, 1e9);
    rt_snprintf(found, sizeof(found), format, x);
    snprintf(wanted, sizeof(wanted), format, x);
    if (!strcmp(found, wanted)) {
        checks++;
        return;
    }
    double a = strtod(found, NULL), b = strtod(wanted, NULL);
    /* A tie, or a last digit beyond what a double holds, may go either way. */
    CHECK(strlen(found) == strlen(wanted) || strchr(format, 'g') || strchr(format, 'G'),
          "%s: `%s`, expected `%s`", format, found, wanted);
    CHECK(fabs(a - b) <= fabs(b) * 1e-2 + 1e-3 && fabs(a - x) <= fabs(b - x) + fabs(x) * 1e-12,
          "%s: `%s`, expected `%s`", format, found, wanted);
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    if (!state)
        state = 1;
    for (int i = 0; i < 100000; i++) {
        check_arithmetic();
        check_bits();
    }
    for (int i = 0; i < 50000; i++) {
        check_memory();
        check_double();
    }
    printf("nanoservices, native: %lu checks\n", checks);
    return 0;
}
