/* A mix of what compilers make of C: sorting, hashing, 64-bit arithmetic, calls through tables,
 * recursion, packed structures, atomics. Prints a hash after each part. */
#include <stdint.h>

static void put(char c) { *(volatile uint8_t *)0x10000000 = (uint8_t)c; }

static void show(const char *name, uint64_t value)
{
    while (*name) put(*name++);
    put(' ');
    for (int shift = 60; shift >= 0; shift -= 4) put("0123456789abcdef"[value >> shift & 15]);
    put('\n');
}

static uint32_t state = 12345;
static uint32_t next(void) { return state = state * 1664525u + 1013904223u; }

static int32_t numbers[500];

static void sort(int32_t *a, int low, int high)
{
    if (low >= high) return;
    int32_t pivot = a[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) { int32_t t = a[i]; a[i++] = a[j]; a[j--] = t; }
    }
    sort(a, low, j);
    sort(a, i, high);
}

static uint32_t crc(const uint8_t *data, unsigned bytes)
{
    uint32_t sum = ~0u;
    while (bytes--) {
        sum ^= *data++;
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (0xedb88320u & -(sum & 1));
    }
    return ~sum;
}

struct __attribute__((packed)) packed { uint8_t a; uint32_t b; uint16_t c; uint64_t d; };

static int64_t add(int64_t a, int64_t b) { return a + b; }
static int64_t multiply(int64_t a, int64_t b) { return a * b; }
static int64_t divide(int64_t a, int64_t b) { return b ? a / b : -1; }
static int64_t shift(int64_t a, int64_t b) { return a >> (b & 63); }
static int64_t (*const operations[])(int64_t, int64_t) = { add, multiply, divide, shift };

static uint64_t wide(void)
{
    int64_t value = 1;
    for (int i = 0; i < 2000; i++) {
        int64_t other = (int64_t)((uint64_t)next() << 32 | next()) >> (next() & 31);
        value = operations[next() >> 30](value ^ other, other);
    }
    return (uint64_t)value;
}

static uint64_t unaligned(void)
{
    static struct packed items[40];
    uint64_t sum = 0;
    for (int i = 0; i < 40; i++) {
        items[i] = (struct packed){ (uint8_t)next(), next(), (uint16_t)next(), next() };
        sum = sum * 31 + items[i].b + items[i].c + items[i].d;
    }
    return sum + crc((const uint8_t *)items, sizeof items);
}

static uint32_t atomics(void)
{
    static uint32_t cell;
    for (int i = 0; i < 300; i++) {
        __atomic_fetch_add(&cell, next(), __ATOMIC_SEQ_CST);
        __atomic_fetch_xor(&cell, next(), __ATOMIC_RELAXED);
        uint32_t expected = cell & (next() | 0xfffffff0u);
        __atomic_compare_exchange_n(&cell, &expected, next(), 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED);
    }
    return cell;
}

int main(void)
{
    for (int i = 0; i < 500; i++) numbers[i] = (int32_t)next();
    sort(numbers, 0, 499);
    show("sort", crc((const uint8_t *)numbers, sizeof numbers));
    show("wide", wide());
    show("unaligned", unaligned());
    show("atomics", atomics());
    return (int)(state & 0x3f);
}
