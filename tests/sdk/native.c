/* Tests the parts of the SDK that need no NIC, on the host, against the host's own C library and
 * operators. The runtime's objects come with every symbol prefixed by rt_. Prints the seed of a
 * failing case; argument 1 is the seed. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <packets.h> /* the SDK's, for ip_checksum */
#include <spin_crypto.h>

int rt_snprintf(char *to, size_t bytes, const char *format, ...);
void *rt_memcpy(void *to, const void *from, size_t bytes);
void *rt_memmove(void *to, const void *from, size_t bytes);
void *rt_memset(void *to, int byte, size_t bytes);
int rt_memcmp(const void *a, const void *b, size_t bytes);
void *rt_memchr(const void *in, int byte, size_t bytes);
size_t rt_strlen(const char *s);
size_t rt_strnlen(const char *s, size_t most);
int rt_strcmp(const char *a, const char *b);
int rt_strncmp(const char *a, const char *b, size_t most);
char *rt_strncpy(char *to, const char *from, size_t bytes);
char *rt_strchr(const char *s, int c);
char *rt_strrchr(const char *s, int c);
char *rt_strstr(const char *s, const char *what);
uint64_t rt___muldi3(uint64_t a, uint64_t b);
uint64_t rt___udivdi3(uint64_t a, uint64_t b);
uint64_t rt___umoddi3(uint64_t a, uint64_t b);
int64_t rt___divdi3(int64_t a, int64_t b);
int64_t rt___moddi3(int64_t a, int64_t b);
uint64_t rt___ashldi3(uint64_t value, int by);
uint64_t rt___lshrdi3(uint64_t value, int by);
int64_t rt___ashrdi3(int64_t value, int by);
int rt___clzsi2(uint32_t value);
int rt___clzdi2(uint64_t value);
int rt___ctzsi2(uint32_t value);
int rt___ctzdi2(uint64_t value);
int rt___popcountdi2(uint64_t value);
uint64_t rt___bswapdi2(uint64_t value);
long rt_strtol(const char *text, char **end, int base);
unsigned long rt_strtoul(const char *text, char **end, int base);
long long rt_strtoll(const char *text, char **end, int base);
unsigned long long rt_strtoull(const char *text, char **end, int base);
void rt_spin_aes128_init(spin_aes128_t *cipher, const uint8_t *key);
void rt_spin_aes128_encrypt(const spin_aes128_t *cipher, const uint8_t *from, uint8_t *to);
void rt_spin_aes128_ctr(const spin_aes128_t *cipher, const uint8_t *counter, uint32_t offset,
                        uint8_t *data, uint32_t bytes);

static uint64_t seed, state;
static unsigned long checks;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Often an edge: few bits, all ones, around a power of two. */
static uint64_t draw_edgy(void)
{
    uint64_t value = draw();

    switch (draw() % 6) {
    case 0:
        return value & 0xff;
    case 1:
        return (uint64_t)1 << (value & 63);
    case 2:
        return ((uint64_t)1 << (value & 63)) - 1;
    case 3:
        return value & 0xffffffff;
    case 4:
        return ~(value & 0xff);
    default:
        return value;
    }
}

static void check(int good, const char *what)
{
    checks++;
    if (good)
        return;
    fprintf(stderr, "%s differs; replay with seed %" PRIu64 "\n", what, seed);
    exit(1);
}

#define SAME_TEXT(...)                                                                         \
    do {                                                                                       \
        char ours[80], theirs[80];                                                             \
        size_t room = draw() % sizeof(ours);                                                   \
        memset(ours, 'x', sizeof(ours));                                                       \
        memset(theirs, 'x', sizeof(theirs));                                                   \
        int a = rt_snprintf(ours, room, __VA_ARGS__), b = snprintf(theirs, room, __VA_ARGS__); \
        if (a != b || memcmp(ours, theirs, sizeof(ours)))                                      \
            fprintf(stderr, "\"%.*s\" (%d) for \"%.*s\" (%d)\n", 79, ours, a, 79, theirs, b);  \
        check(a == b && !memcmp(ours, theirs, sizeof(ours)), "snprintf " #__VA_ARGS__);        \
    } while (0)

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-truncation"

/* A random conversion: flags, width, precision, length. */
static void test_one_number(void)
{
    static const char *const lengths[] = { "hh", "h", "", "l", "ll", "z", "j" };
    char format[32] = "<%";
    const char letter = "diuxXo"[draw() % 6];
    const int length = (int)(draw() % 7);
    uint64_t value = draw_edgy();

    for (const char *flag = "-0+ #"; *flag; flag++)
        if (draw() % 3 == 0 && !(*flag == '#' && strchr("diu", letter)) &&
            !(strchr("+ ", *flag) && strchr("uxXo", letter)))
            strncat(format, flag, 1);
    if (draw() % 2)
        sprintf(format + strlen(format), "%d", (int)(draw() % 30));
    if (draw() % 3 == 0)
        sprintf(format + strlen(format), ".%d", (int)(draw() % 25));
    strcat(format, lengths[length]);
    sprintf(format + strlen(format), "%c>", letter);
    if (length < 3)
        SAME_TEXT(format, (int)value);
    else
        SAME_TEXT(format, value);
}

static void test_formats(void)
{
    char text[] = "a string";

    for (int i = 0; i < 200000; i++)
        test_one_number();
    for (int i = 0; i < 2000; i++) {
        int width = (int)(draw() % 20) - 10, precision = (int)(draw() % 12);
        void *address = (void *)(draw() % 100000 + 1);
        SAME_TEXT("%*s|%.*s|%-*.*s", width, text, precision, text, width, precision, text);
        SAME_TEXT("%c%5c%-5c%%", 'a', 'b', 'c');
        SAME_TEXT("%p %p", (void *)text, address);
        SAME_TEXT("plain text %s", "");
    }
}

static void test_arithmetic(void)
{
    for (int i = 0; i < 300000; i++) {
        uint64_t a = draw_edgy(), b = draw_edgy();
        int by = (int)(draw() % 64);
        check(rt___muldi3(a, b) == a * b, "__muldi3");
        check(rt___ashldi3(a, by) == a << by, "__ashldi3");
        check(rt___lshrdi3(a, by) == a >> by, "__lshrdi3");
        check(rt___ashrdi3((int64_t)a, by) == (int64_t)a >> by, "__ashrdi3");
        check(rt___popcountdi2(a) == __builtin_popcountll(a), "__popcountdi2");
        check(rt___bswapdi2(a) == __builtin_bswap64(a), "__bswapdi2");
        if (a)
            check(rt___clzdi2(a) == __builtin_clzll(a) && rt___ctzdi2(a) == __builtin_ctzll(a),
                  "__clzdi2, __ctzdi2");
        if ((uint32_t)a)
            check(rt___clzsi2((uint32_t)a) == __builtin_clz((uint32_t)a) &&
                      rt___ctzsi2((uint32_t)a) == __builtin_ctz((uint32_t)a),
                  "__clzsi2, __ctzsi2");
        if (!b)
            continue;
        check(rt___udivdi3(a, b) == a / b && rt___umoddi3(a, b) == a % b, "__udivdi3, __umoddi3");
        if ((int64_t)a == INT64_MIN && (int64_t)b == -1)
            continue;
        check(rt___divdi3((int64_t)a, (int64_t)b) == (int64_t)a / (int64_t)b &&
                  rt___moddi3((int64_t)a, (int64_t)b) == (int64_t)a % (int64_t)b,
              "__divdi3, __moddi3");
    }
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

static void test_memory(void)
{
    unsigned char ours[160], theirs[160], from[160];

    for (int i = 0; i < 100000; i++) {
        for (size_t k = 0; k < sizeof(ours); k++)
            ours[k] = theirs[k] = from[k] = (unsigned char)(draw() % 3 + 'a');
        size_t a = draw() % 40, b = draw() % 40, bytes = draw() % 100;
        rt_memcpy(ours + a, from + b, bytes);
        memcpy(theirs + a, from + b, bytes);
        check(!memcmp(ours, theirs, sizeof(ours)), "memcpy");
        rt_memmove(ours + a, ours + b, bytes);
        memmove(theirs + a, theirs + b, bytes);
        check(!memcmp(ours, theirs, sizeof(ours)), "memmove");
        check(sign(rt_memcmp(ours + a, from + b, bytes)) == sign(memcmp(ours + a, from + b, bytes)),
              "memcmp");
        check(rt_memchr(ours + a, 'b', bytes) == memchr(ours + a, 'b', bytes), "memchr");
        rt_memset(ours + b, (int)a, bytes);
        memset(theirs + b, (int)a, bytes);
        check(!memcmp(ours, theirs, sizeof(ours)), "memset");
    }
}

static void test_strings(void)
{
    char a[24], b[24], ours[32], theirs[32];

    for (int i = 0; i < 100000; i++) {
        size_t length = draw() % 12, other = draw() % 6, most = draw() % 14;
        for (size_t k = 0; k < sizeof(a); k++) {
            a[k] = (char)(draw() % 3 + 'a');
            b[k] = (char)(draw() % 3 + 'a');
        }
        a[length] = b[other] = 0;
        check(rt_strlen(a) == length && rt_strnlen(a, most) == strnlen(a, most), "strlen, strnlen");
        check(sign(rt_strcmp(a, b)) == sign(strcmp(a, b)), "strcmp");
        check(sign(rt_strncmp(a, b, most)) == sign(strncmp(a, b, most)), "strncmp");
        check(rt_strchr(a, 'b') == strchr(a, 'b') && rt_strchr(a, 0) == strchr(a, 0), "strchr");
        check(rt_strrchr(a, 'b') == strrchr(a, 'b'), "strrchr");
        check(rt_strstr(a, b) == strstr(a, b), "strstr");
        memset(ours, 'x', sizeof(ours));
        memset(theirs, 'x', sizeof(theirs));
        rt_strncpy(ours, a, most);
        strncpy(theirs, a, most);
        check(!memcmp(ours, theirs, sizeof(ours)), "strncpy");
    }
}

static void test_numbers_in_text(void)
{
    static const char *const texts[] = {
        "0", " 12", "-7x", "0x1F", "0x", "077", "08", "", "+", "zz", "1010",
        "99999999999999999999", "-99999999999999999999", "-9223372036854775808",
        "9223372036854775808", "18446744073709551615", "-18446744073709551615",
    };
    static const int bases[] = { 0, 2, 8, 10, 16, 36 };

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        for (size_t k = 0; k < sizeof(bases) / sizeof(*bases); k++) {
            char *ours, *theirs;
            check(rt_strtol(texts[i], &ours, bases[k]) == strtol(texts[i], &theirs, bases[k]) &&
                      ours == theirs,
                  "strtol");
            check(rt_strtoul(texts[i], &ours, bases[k]) == strtoul(texts[i], &theirs, bases[k]) &&
                      ours == theirs,
                  "strtoul");
            check(rt_strtoll(texts[i], &ours, bases[k]) == strtoll(texts[i], &theirs, bases[k]) &&
                      ours == theirs,
                  "strtoll");
            check(rt_strtoull(texts[i], &ours, bases[k]) == strtoull(texts[i], &theirs, bases[k]) &&
                      ours == theirs,
                  "strtoull");
        }
    }
}

/* RFC 1071, as it is written down. */
static uint16_t plain_checksum(const uint8_t *data, size_t length)
{
    uint32_t sum = 0xffff;

    for (size_t i = 0; i + 1 < length; i += 2)
        sum += (uint32_t)data[i] << 8 | data[i + 1];
    if (length & 1)
        sum += (uint32_t)data[length - 1] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return htons((uint16_t)~sum);
}

static void test_checksum(void)
{
    uint8_t data[1600] __attribute__((aligned(4)));

    for (int i = 0; i < 20000; i++) {
        size_t offset = draw() % 8, length = draw() % 4 ? draw() % 64 : draw() % 1500;
        uint64_t kind = draw() % 4;
        for (size_t k = 0; k < sizeof(data); k++)
            data[k] = kind == 0 ? 0 : kind == 1 ? 0xff : (uint8_t)draw();
        check(ip_checksum(data + offset, length) == plain_checksum(data + offset, length),
              "ip_checksum");
    }
    check(htons(0x1234) == 0x3412 && ntohl(0x12345678) == 0x78563412, "htons, ntohl");
    check(sizeof(slmp_pkt_hdr_t) == 52 && sizeof(pkt_hdr_t) == 42 && sizeof(eth_hdr_t) == 14,
          "header sizes");
}

static void from_hex(const char *hex, uint8_t *to)
{
    for (; hex[0] && hex[1]; hex += 2) {
        const char digits[3] = { hex[0], hex[1], 0 };
        *to++ = (uint8_t)strtoul(digits, NULL, 16);
    }
}

/* FIPS 197, appendices B and C.1. */
static void test_aes_blocks(void)
{
    static const char *const examples[][3] = {
        { "2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734",
          "3925841d02dc09fbdc118597196a0b32" },
        { "000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff",
          "69c4e0d86a7b0430d8cdb78070b4c55a" },
    };
    static spin_aes128_t cipher;

    for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
        uint8_t key[16], block[16], wanted[16];
        from_hex(examples[i][0], key);
        from_hex(examples[i][1], block);
        from_hex(examples[i][2], wanted);
        rt_spin_aes128_init(&cipher, key);
        rt_spin_aes128_encrypt(&cipher, block, block);
        check(memcmp(block, wanted, 16) == 0, "AES-128, FIPS 197");
    }
}

/* NIST SP 800-38A, F.5.1 and F.5.2, whole and in parts; and a counter that carries over. */
static void test_aes_counter_mode(void)
{
    static spin_aes128_t cipher;
    uint8_t key[16], counter[16], plain[64], wanted[64], data[64];

    from_hex("2b7e151628aed2a6abf7158809cf4f3c", key);
    from_hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", counter);
    from_hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
             "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
             plain);
    from_hex("874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
             "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
             wanted);
    rt_spin_aes128_init(&cipher, key);
    memcpy(data, plain, sizeof(data));
    rt_spin_aes128_ctr(&cipher, counter, 0, data, sizeof(data));
    check(memcmp(data, wanted, sizeof(data)) == 0, "AES-128 counter mode, SP 800-38A");
    for (int i = 0; i < 2000; i++) {
        uint32_t from = (uint32_t)(draw() % 65), bytes = (uint32_t)(draw() % (65 - from));
        memcpy(data, wanted, sizeof(data));
        rt_spin_aes128_ctr(&cipher, counter, from, data + from, bytes);
        check(memcmp(data + from, plain + from, bytes) == 0 &&
                  memcmp(data, wanted, from) == 0 &&
                  memcmp(data + from + bytes, wanted + from + bytes, 64 - from - bytes) == 0,
              "AES-128 counter mode, a part");
    }
    memset(counter, 0xff, sizeof(counter));
    memset(data, 0, sizeof(data));
    memset(wanted, 0, sizeof(wanted));
    rt_spin_aes128_ctr(&cipher, counter, 16, data, 16); /* the block after the last one is 0 */
    rt_spin_aes128_encrypt(&cipher, wanted, wanted);
    check(memcmp(data, wanted, 16) == 0, "AES-128 counter mode, carry");
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20210614;
    state = seed * 2 + 1;
    test_formats();
    test_arithmetic();
    test_memory();
    test_strings();
    test_numbers_in_text();
    test_checksum();
    test_aes_blocks();
    test_aes_counter_mode();
    printf("sdk, native: %lu checks\n", checks);
    return 0;
}
