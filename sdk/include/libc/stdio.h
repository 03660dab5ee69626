/* Formatted output to the machine's standard-output device, one stream per HPU.
 * Understood: %d i u x X o c s p; flags - 0 + space #; width, precision, *; lengths hh h l ll z j.
 * A floating-point conversion takes its argument and prints "(float)". */
#ifndef PINION_STDIO_H
#define PINION_STDIO_H

#include <stdarg.h>
#include <stddef.h>

#define EOF (-1)
#define BUFSIZ 256

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pinion_stream FILE;
#define stdin ((FILE *)0)
#define stdout ((FILE *)1)
#define stderr ((FILE *)2)

int printf(const char *__restrict format, ...) __attribute__((format(printf, 1, 2)));
int vprintf(const char *__restrict format, va_list args);
int fprintf(FILE *stream, const char *__restrict format, ...) __attribute__((format(printf, 2, 3)));
int snprintf(char *__restrict to, size_t bytes, const char *__restrict format, ...)
    __attribute__((format(printf, 3, 4)));
int vsnprintf(char *__restrict to, size_t bytes, const char *__restrict format, va_list args);
int sprintf(char *__restrict to, const char *__restrict format, ...)
    __attribute__((format(printf, 2, 3)));
int putchar(int c);
int putc(int c, FILE *stream);
int fputc(int c, FILE *stream);
int puts(const char *s);
int fputs(const char *s, FILE *stream);
int fflush(FILE *stream);

#ifdef __cplusplus
}
#endif

#endif
