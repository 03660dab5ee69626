/* Memory by hand, and the end of the program. */
#ifndef PINION_UNISTD_H
#define PINION_UNISTD_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Moves the end of the heap; gives where it was, (void *)-1 when there is not so much memory. malloc
 * goes on behind what was taken. */
void *sbrk(ptrdiff_t bytes);
/* Ends the program without calling what atexit was given. */
void _exit(int status) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#endif
