/* AES-128 by tables, see spin_crypto.h. Columns of the state are little-endian words: row 0 is the
 * lowest byte. The tables are computed, so that they take no place in the program. */
#include <spin_crypto.h>

typedef uint32_t __attribute__((aligned(1), may_alias)) word_t;

#define BYTE(word, index) ((uint8_t)((word) >> 8 * (index)))

/* Multiplies by x in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1. */
static uint8_t twice(uint8_t a)
{
    return (uint8_t)(a << 1 ^ (a >> 7) * 0x1b);
}

/* The S-box's affine step: the byte and its rotations by 1 to 4, and a constant. */
static uint8_t affine(uint8_t a)
{
    uint32_t pair = a * 0x101u;

    return (uint8_t)(a ^ pair >> 7 ^ pair >> 6 ^ pair >> 5 ^ pair >> 4 ^ 0x63);
}

/* Enters the substitute of a byte, multiplied by MixColumns' coefficients. */
static void enter(spin_aes128_t *cipher, uint8_t byte, uint8_t substitute)
{
    uint32_t two = twice(substitute), three = two ^ substitute;
    uint32_t column = two | (uint32_t)substitute << 8 | (uint32_t)substitute << 16 | three << 24;

    for (int row = 0; row < 4; row++) {
        cipher->table[row][byte] = column;
        column = column << 8 | column >> 24;
    }
}

static uint8_t substitute(const spin_aes128_t *cipher, uint8_t byte)
{
    return BYTE(cipher->table[0][byte], 1);
}

/* Powers of 3 are all elements but 0: the inverse of the i-th is the (255 - i)-th. */
static void fill_tables(spin_aes128_t *cipher)
{
    uint8_t power[256];

    power[0] = 1;
    for (int i = 1; i < 256; i++)
        power[i] = (uint8_t)(power[i - 1] ^ twice(power[i - 1]));
    enter(cipher, 0, affine(0));
    for (int i = 0; i < 255; i++)
        enter(cipher, power[i], affine(power[255 - i]));
}

void spin_aes128_init(spin_aes128_t *cipher, const uint8_t *key)
{
    uint32_t *words = cipher->round_key;
    uint8_t constant = 1;

    fill_tables(cipher);
    for (int i = 0; i < 4; i++)
        words[i] = ((const word_t *)key)[i];
    for (int i = 4; i < 4 * (SPIN_AES128_ROUNDS + 1); i++) {
        uint32_t word = words[i - 1];

        if (i % 4 == 0) {
            word = (uint32_t)substitute(cipher, BYTE(word, 1)) |
                   (uint32_t)substitute(cipher, BYTE(word, 2)) << 8 |
                   (uint32_t)substitute(cipher, BYTE(word, 3)) << 16 |
                   (uint32_t)substitute(cipher, BYTE(word, 0)) << 24;
            word ^= constant;
            constant = twice(constant);
        }
        words[i] = words[i - 4] ^ word;
    }
}

/* Looks a byte up in a table, by its place in bytes: four instructions, since all tables are within
 * reach of a load from the middle of them. `quadruple` holds the byte times four in bits 2 to 9. */
static inline uint32_t look_up(const uint8_t *middle, int table, uint32_t quadruple)
{
    return *(const uint32_t *)(middle + (quadruple & 0x3fc) + (table - 2) * 1024);
}

/* A column after ShiftRows, SubBytes and MixColumns. */
static inline uint32_t mixed(const uint8_t *middle, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return look_up(middle, 0, a << 2) ^ look_up(middle, 1, b >> 6) ^
           look_up(middle, 2, c >> 14) ^ look_up(middle, 3, d >> 22);
}

/* The same without MixColumns: each table has the plain substitute in one of its bytes in place. */
static inline uint32_t unmixed(const spin_aes128_t *cipher, uint32_t a, uint32_t b, uint32_t c,
                               uint32_t d)
{
    return (cipher->table[2][BYTE(a, 0)] & 0xff) | (cipher->table[0][BYTE(b, 1)] & 0xff00) |
           (cipher->table[0][BYTE(c, 2)] & 0xff0000) |
           (cipher->table[2][BYTE(d, 3)] & 0xff000000);
}

static inline void encrypt(const spin_aes128_t *cipher, const uint32_t *from, uint32_t *to)
{
    const uint32_t *key = cipher->round_key;
    const uint8_t *middle = (const uint8_t *)cipher->table[2];
    uint32_t a = from[0] ^ key[0], b = from[1] ^ key[1];
    uint32_t c = from[2] ^ key[2], d = from[3] ^ key[3];

    for (int round = 1; round < SPIN_AES128_ROUNDS; round++) {
        uint32_t e, f, g, h;

        key += 4;
        e = mixed(middle, a, b, c, d) ^ key[0];
        f = mixed(middle, b, c, d, a) ^ key[1];
        g = mixed(middle, c, d, a, b) ^ key[2];
        h = mixed(middle, d, a, b, c) ^ key[3];
        a = e, b = f, c = g, d = h;
    }
    key += 4;
    to[0] = unmixed(cipher, a, b, c, d) ^ key[0];
    to[1] = unmixed(cipher, b, c, d, a) ^ key[1];
    to[2] = unmixed(cipher, c, d, a, b) ^ key[2];
    to[3] = unmixed(cipher, d, a, b, c) ^ key[3];
}

void spin_aes128_encrypt(const spin_aes128_t *cipher, const uint8_t *from, uint8_t *to)
{
    const word_t *in = (const word_t *)from;
    word_t *out = (word_t *)to;
    uint32_t block[4] = {in[0], in[1], in[2], in[3]};

    encrypt(cipher, block, block);
    for (int i = 0; i < 4; i++)
        out[i] = block[i];
}

static uint32_t swapped(uint32_t word)
{
    return word << 24 | (word & 0xff00) << 8 | (word >> 8 & 0xff00) | word >> 24;
}

/* Adds to a counter block, whose words are big-endian, the last one the lowest. */
static inline void count(uint32_t *block, uint32_t more)
{
    for (int i = 3; i >= 0 && more > 0; i--) {
        uint32_t sum = swapped(block[i]) + more;

        more = sum < more;
        block[i] = swapped(sum);
    }
}

void spin_aes128_ctr(const spin_aes128_t *cipher, const uint8_t *counter, uint32_t offset,
                     uint8_t *data, uint32_t bytes)
{
    const word_t *in = (const word_t *)counter;
    uint32_t block[4] = {in[0], in[1], in[2], in[3]}, stream[4];
    uint32_t skip = offset % SPIN_AES_BLOCK_BYTES;

    count(block, offset / SPIN_AES_BLOCK_BYTES);
    while (bytes > 0) {
        uint32_t here = SPIN_AES_BLOCK_BYTES - skip;

        encrypt(cipher, block, stream);
        count(block, 1);
        if (skip == 0 && bytes >= SPIN_AES_BLOCK_BYTES) {
            for (int i = 0; i < 4; i++)
                ((word_t *)data)[i] ^= stream[i];
        } else {
            here = here < bytes ? here : bytes;
            for (uint32_t i = 0; i < here; i++)
                data[i] ^= ((const uint8_t *)stream)[skip + i];
        }
        data += here;
        bytes -= here;
        skip = 0;
    }
}
