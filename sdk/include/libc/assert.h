/* A failed assertion prints its text and place and ends the handler with a breakpoint exception
 * (cause 3). Included again it follows NDEBUG again, as the standard says. */
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __assert_fail(#condition, __FILE__, __LINE__))
#endif

#ifndef PINION_ASSERT_H
#define PINION_ASSERT_H
#ifdef __cplusplus
extern "C" {
#else
#define static_assert _Static_assert
#endif
void __assert_fail(const char *condition, const char *file, int line)
    __attribute__((noreturn, cold));
void __assert(const char *condition, const char *file, int line) __attribute__((noreturn, cold));
#ifdef __cplusplus
}
#endif
#endif
