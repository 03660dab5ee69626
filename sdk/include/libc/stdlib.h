/* No heap: NIC memory is what the task says it is. */
#ifndef PINION_STDLIB_H
#define PINION_STDLIB_H

#include <stddef.h>

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 0x7fffffff

#ifdef __cplusplus
extern "C" {
#endif

int abs(int value);
long labs(long value);
long long llabs(long long value);
int atoi(const char *text);
long atol(const char *text);
long long atoll(const char *text);
long strtol(const char *text, char **end, int base);
unsigned long strtoul(const char *text, char **end, int base);
long long strtoll(const char *text, char **end, int base);
unsigned long long strtoull(const char *text, char **end, int base);

/* A sequence per HPU, the same in every run. */
int rand(void);
void srand(unsigned seed);

/* Both end this handler, reported with cause 3; the HPU goes on. */
void abort(void) __attribute__((noreturn));
void exit(int status) __attribute__((noreturn));

/* There is no heap; who calls these is told so by the compiler. A program that brings its own
 * functions of these names compiles with -DPINION_OWN_HEAP. */
#ifdef PINION_OWN_HEAP
#define PINION_NO_HEAP
#else
#define PINION_NO_HEAP_WORDS \
    "handlers have no heap: keep data in static variables, handler memory or scratchpads"
#ifdef __clang__
/* It knows these functions already, and takes an `error` only where it first sees one. */
#define PINION_NO_HEAP __attribute__((unavailable(PINION_NO_HEAP_WORDS)))
#else
#define PINION_NO_HEAP __attribute__((error(PINION_NO_HEAP_WORDS)))
#endif
#endif
void *malloc(size_t bytes) PINION_NO_HEAP;
void *calloc(size_t count, size_t bytes) PINION_NO_HEAP;
void *realloc(void *block, size_t bytes) PINION_NO_HEAP;
void free(void *block) PINION_NO_HEAP;

#ifdef __cplusplus
}
#endif

#endif
