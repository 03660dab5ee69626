#ifndef PINION_STRINGS_H
#define PINION_STRINGS_H

#include <string.h>

#define bzero(to, bytes) ((void)memset((to), 0, (bytes)))
#define bcopy(from, to, bytes) ((void)memmove((to), (from), (bytes)))

#endif
