#ifndef PINION_STRING_H
#define PINION_STRING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *memcpy(void *__restrict to, const void *__restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
void *memchr(const void *in, int byte, size_t bytes);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t most);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t most);
char *strcpy(char *__restrict to, const char *__restrict from);
char *strncpy(char *__restrict to, const char *__restrict from, size_t bytes);
char *strcat(char *__restrict to, const char *__restrict from);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
char *strstr(const char *s, const char *what);

#ifdef __cplusplus
}
#endif

#endif
