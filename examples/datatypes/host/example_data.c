#include <stddef.h>
#include <stdint.h>

/* The packed data of message `id` in the examples: xorshift32, a byte of each number. */
void example_data(uint32_t id, uint8_t *data, size_t bytes)
{
    uint32_t state = id * 2654435761u | 1;

    for (size_t i = 0; i < bytes; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        data[i] = (uint8_t)(state >> 11);
    }
}
