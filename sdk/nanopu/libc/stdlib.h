/* Numbers from text, random numbers, a heap, the end of the program. */
#ifndef PINION_STDLIB_H
#define PINION_STDLIB_H

#include <stddef.h>
#include <stdint.h>

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

/* A sequence per hart, the same in every run. */
int rand(void);
void srand(unsigned seed);

/* One heap for all harts, behind their stacks; blocks are aligned to 16 bytes. */
void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *block, size_t bytes);
void free(void *block);

void qsort(void *base, size_t count, size_t bytes, int (*compare)(const void *, const void *));

/* All end the program on every hart; abort with code 134. exit calls first what atexit was given, the
 * last first. */
int atexit(void (*function)(void));
void exit(int status) __attribute__((noreturn));
void _Exit(int status) __attribute__((noreturn));
void abort(void) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#endif
