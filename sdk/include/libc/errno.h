#ifndef PINION_ERRNO_H
#define PINION_ERRNO_H

/* Nothing in this library sets it; a plain variable in L2 for sources that do. */
extern int errno;
#define ENOMEM 12
#define EINVAL 22
#define ERANGE 34

#endif
