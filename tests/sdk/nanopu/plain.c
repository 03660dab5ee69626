/* Never touches the network, and pulls in what the library and the compiler's helpers have: nothing
 * of that may mention x30 or x31. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lnic.h"
#include "util.h"

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
    uint64_t seed = (uint64_t)argc * rdcycle();
    unsigned __int128 wide = (unsigned __int128)seed * seed;
    __int128 narrow = -(__int128)wide;
    int *numbers = calloc(100, sizeof(int));
    char text[64];
    double x = (double)seed;

    for (int i = 0; i < 100; i++)
        numbers[i] = rand();
    qsort(numbers, 100, sizeof(int), ascending);
    numbers = realloc(numbers, 200 * sizeof(int));
    free(numbers);
    setStats(1);
    snprintf(text, sizeof(text), "%f %e %g %" PRIx64, x, sqrt(x), fabs(floor(x)), seed);
    printf("%s %d\n", text, strncmp(text, "a", 1));
    wide = wide / (seed | 3) % ((wide >> (seed & 127)) | 1);
    narrow = narrow / ((int64_t)seed | 5) % 1000003;
    printf("%d %d %d\n", __builtin_popcountll(seed), __builtin_ctzll(seed | 1),
           __builtin_clzll(seed | 1));
    printf("%g %g %lx\n", (double)wide, (double)narrow, (uint64_t)(unsigned __int128)(x * x));
    printf("%lx %d\n", __builtin_bswap64(seed), __builtin_parityll(seed));
    setStats(0);
    stats(barrier(1), 1);
    printhex(lfsr(seed));
    printstr("\n");
    assert(verify(0, NULL, NULL) == 0);
    return memcmp(text, &wide, 8) == 0 ? (int)strtol(text, NULL, 0) : abs((int)round(x));
}
