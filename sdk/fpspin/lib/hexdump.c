/* Prints bytes. */
#include "fpspin/fpspin.h"

void hexdump(const volatile void *data, size_t size)
{
    const volatile uint8_t *bytes = data;

    for (size_t line = 0; line < size; line += 16) {
        printf("%08zx ", line);
        for (size_t i = line; i < line + 16; i++) {
            if (i < size)
                printf(" %02x", bytes[i]);
            else
                printf("   ");
        }
        printf("  ");
        for (size_t i = line; i < line + 16 && i < size; i++)
            putchar(bytes[i] >= 0x20 && bytes[i] < 0x7f ? bytes[i] : '.');
        putchar('\n');
    }
}
