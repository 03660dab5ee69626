/* Numbers between the layers: 16 bits in 1/1024, four to a word of a message. */
#ifndef FIXED_H
#define FIXED_H

#include "network.h"

#define VALUE_BITS 10
#define VALUES_PER_WORD 4
#define MOST_VALUES 64 /* of a layer */

/* The first word of a message: the inference, the first of its values, how many follow. */
#define slice_word(inference, first, count) \
    ((uint64_t)(inference) | (uint64_t)(first) << 32 | (uint64_t)(count) << 48)
#define slice_inference(word) ((uint32_t)(word))
#define slice_first(word) ((uint16_t)((word) >> 32))
#define slice_count(word) ((uint16_t)((word) >> 48))
#define slice_bytes(count) (8 + 8 * (((count) + VALUES_PER_WORD - 1) / VALUES_PER_WORD))

/* The words behind it. */
static inline uint64_t pack(const int16_t *values, uint64_t count)
{
    uint64_t word = 0;

    for (uint64_t i = 0; i < count; i++)
        word |= (uint64_t)(uint16_t)values[i] << 16 * i;
    return word;
}

static inline void unpack(uint64_t word, int16_t *values)
{
    for (int i = 0; i < VALUES_PER_WORD; i++)
        values[i] = (int16_t)(word >> 16 * i);
}

/* Sums of products are exact, in 1/4096 of 1/1024. */
static inline int64_t products(const int16_t *weights, const int16_t *values, uint64_t count)
{
    int64_t sum = 0;

    for (; count >= 4; count -= 4, weights += 4, values += 4) {
        int64_t a = weights[0] * values[0], b = weights[1] * values[1];
        int64_t c = weights[2] * values[2], d = weights[3] * values[3];
        sum += a + b + c + d;
    }
    while (count--)
        sum += *weights++ * *values++;
    return sum;
}

/* What a neuron gives for its sum: rounded, within 16 bits, and in hidden layers not below zero. */
static inline int16_t activation(int64_t sum, int is_hidden)
{
    int64_t value = (sum + (1 << (WEIGHT_BITS - 1))) >> WEIGHT_BITS;

    if (value < (is_hidden ? 0 : INT16_MIN))
        value = is_hidden ? 0 : INT16_MIN;
    return (int16_t)(value > INT16_MAX ? INT16_MAX : value);
}

#endif
