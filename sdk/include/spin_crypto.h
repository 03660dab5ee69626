/* Cryptography for handlers, in software: AES-128 (FIPS 197) and its counter mode (NIST SP 800-38A).
 *
 *     spin_aes128_t *cipher = ...;           4.2 KiB, best in L1: each byte is looked up in it
 *     spin_aes128_init(cipher, key);
 *     spin_aes128_ctr(cipher, counter, offset, data, bytes);
 *
 * Look-ups depend on key and data, so how long they take may too when several HPUs share a memory.
 */
#ifndef PINION_SPIN_CRYPTO_H
#define PINION_SPIN_CRYPTO_H

#include <stdint.h>

#define SPIN_AES_BLOCK_BYTES 16
#define SPIN_AES128_ROUNDS 10

/* A key that is ready for use. */
typedef struct {
    uint32_t round_key[4 * (SPIN_AES128_ROUNDS + 1)];
    uint32_t table[4][256]; /* SubBytes and MixColumns of a byte in row 0 to 3 of a column */
} spin_aes128_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Prepares a key of 16 bytes. */
void spin_aes128_init(spin_aes128_t *cipher, const uint8_t *key);

/* Encrypts a block of 16 bytes; `to` may be `from`. */
void spin_aes128_encrypt(const spin_aes128_t *cipher, const uint8_t *from, uint8_t *to);

/* Encrypts or decrypts, which is the same, `bytes` bytes that lie `offset` bytes behind the start of
 * a text. `counter` is the counter block of the text's start; it counts as a 128-bit big-endian
 * number. */
void spin_aes128_ctr(const spin_aes128_t *cipher, const uint8_t *counter, uint32_t offset,
                     uint8_t *data, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
