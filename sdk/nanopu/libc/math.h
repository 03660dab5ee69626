/* The functions that are an instruction or a few; nothing transcendental. A program may define any of
 * them itself. */
#ifndef PINION_MATH_H
#define PINION_MATH_H

#define HUGE_VAL __builtin_huge_val()
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf_sign(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)

#ifdef __cplusplus
extern "C" {
#endif

double sqrt(double x);
float sqrtf(float x);
double fabs(double x);
float fabsf(float x);
double fma(double x, double y, double z);
float fmaf(float x, float y, float z);
double fmin(double x, double y);
double fmax(double x, double y);
double copysign(double x, double y);
double floor(double x);
double ceil(double x);
double trunc(double x);
double round(double x);

#ifdef __cplusplus
}
#endif

#endif
