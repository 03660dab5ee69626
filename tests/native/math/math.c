/* Prints what math.h's functions give, numbers in 1/1000 (printf has no %f for handlers). */
#include <handler.h>
#include <math.h>
#include <stdio.h>

/* Values that the compiler does not know. */
static volatile double two = 2.0, below = -1.5;
static volatile float two_f = 2.0f, below_f = -1.5f;

static void print(const char *name, double wide, double narrow)
{
    printf("%s %d %d\n", name, isnan(wide) ? 9999 : (int)(wide * 1000),
           isnan(narrow) ? 9999 : (int)(narrow * 1000));
}

__handler__ void math_ph(handler_args_t *args)
{
    (void)args;
    print("floor", floor(below), floorf(below_f));
    print("ceil", ceil(below), ceilf(below_f));
    print("trunc", trunc(below), truncf(below_f));
    print("round", round(below), roundf(below_f));
    print("fmod", fmod(two, below), fmodf(two_f, below_f));
    print("sqrt", sqrt(two), sqrtf(two_f));
    print("sqrt of less", sqrt(below), sqrtf(below_f));
    print("fabs", fabs(below), fabsf(below_f));
    print("copysign", copysign(two, below), copysignf(two_f, below_f));
    print("fmin", fmin(two, below), fminf(two_f, below_f));
    print("fmax", fmax(two, below), fmaxf(two_f, below_f));
}
