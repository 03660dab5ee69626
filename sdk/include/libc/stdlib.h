/* No heap: NIC memory is what the task says it is. */
#ifndef PINION_STDLIB_H
#define PINION_STDLIB_H

#include <stddef.h>

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 0x7fffffff

int abs(int value);
long labs(long value);
long long llabs(long long value);
int atoi(const char *text);
long atol(const char *text);
long strtol(const char *text, char **end, int base);
unsigned long strtoul(const char *text, char **end, int base);

/* A sequence per HPU, the same in every run. */
int rand(void);
void srand(unsigned seed);

/* Both end this handler, reported with cause 3; the HPU goes on. */
void abort(void) __attribute__((noreturn));
void exit(int status) __attribute__((noreturn));

#endif
