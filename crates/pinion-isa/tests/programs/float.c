/* What compilers make of floating point: sums, polynomials, a linear system, an orbit, conversions,
 * comparisons, rounding modes. Prints bits after each part, and the flags raised. */
#include <stdint.h>

static void put(char c) { *(volatile uint8_t *)0x10000000 = (uint8_t)c; }

static void show(const char *name, double value)
{
    union { double value; uint64_t bits; } all = { value };
    unsigned flags;
    __asm__ volatile("csrrw %0, fflags, zero" : "=r"(flags));
    while (*name) put(*name++);
    put(' ');
    for (int shift = 60; shift >= 0; shift -= 4) put("0123456789abcdef"[all.bits >> shift & 15]);
    put(' ');
    put("0123456789abcdef"[flags >> 4]);
    put("0123456789abcdef"[flags & 15]);
    put('\n');
}

static uint32_t state = 12345;
static uint32_t next(void) { return state = state * 1664525u + 1013904223u; }
static double uniform(void) { return next() * 0x1p-32; }

static double sine(double x)
{
    double term = x, sum = x;
    for (int n = 1; n < 12; n++) {
        term *= -x * x / ((2 * n) * (2 * n + 1));
        sum += term;
    }
    return sum;
}

#define N 12
static double solve(void)
{
    static double matrix[N][N + 1];
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= N; j++) matrix[i][j] = uniform() - 0.5;
    for (int i = 0; i < N; i++) {
        int best = i;
        for (int j = i + 1; j < N; j++)
            if (__builtin_fabs(matrix[j][i]) > __builtin_fabs(matrix[best][i])) best = j;
        for (int k = 0; k <= N; k++) {
            double t = matrix[i][k];
            matrix[i][k] = matrix[best][k];
            matrix[best][k] = t;
        }
        for (int j = 0; j < N; j++) {
            if (j == i) continue;
            double factor = matrix[j][i] / matrix[i][i];
            for (int k = i; k <= N; k++) matrix[j][k] -= factor * matrix[i][k];
        }
    }
    double sum = 0;
    for (int i = 0; i < N; i++) sum += matrix[i][N] / matrix[i][i];
    return sum;
}

static float orbit(void)
{
    float x = 1, y = 0, vx = 0, vy = 0.8f;
    for (int step = 0; step < 3000; step++) {
        float square = x * x + y * y;
        float pull = 1 / (square * __builtin_sqrtf(square));
        vx -= 0.01f * pull * x;
        vy -= 0.01f * pull * y;
        x += 0.01f * vx;
        y += 0.01f * vy;
    }
    return x + 2 * y;
}

static double conversions(void)
{
    double sum = 0;
    for (int i = 0; i < 2000; i++) {
        double value = (uniform() - 0.5) * (double)(1ull << (next() >> 26));
        sum += (int32_t)(value / 0x1p33) + (double)(int64_t)value;
        sum += (float)value + (double)(uint32_t)(int64_t)value + (double)(uint64_t)next();
        sum += (float)next() * 0x1p-30f + (float)(int64_t)((uint64_t)next() << 20);
    }
    return sum;
}

static double rounded(unsigned mode)
{
    volatile double sum = 0;
    __asm__ volatile("csrw frm, %0" : : "r"(mode));
    for (int i = 1; i < 1000; i++) sum += (float)(1.0 / i) * 0.1;
    __asm__ volatile("csrw frm, zero");
    return sum;
}

int main(void)
{
    double sum = 0;
    for (int i = 0; i < 500; i++) sum += sine(6 * uniform() - 3);
    show("sines", sum);
    show("system", solve());
    show("orbit", orbit());
    show("conversions", conversions());
    for (unsigned mode = 0; mode < 5; mode++) show("rounded", rounded(mode));
    volatile double zero = 0, huge = 1e308, tiny = 1e-308;
    show("infinite", 1 / zero);
    show("invalid", zero / zero);
    show("huge", huge * huge);
    show("tiny", tiny * tiny);
    show("exact", huge + zero);
    return (int)(state & 0x3f);
}
