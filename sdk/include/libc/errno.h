#ifndef PINION_ERRNO_H
#define PINION_ERRNO_H

/* Nothing in this library sets it; a plain variable in L2 for sources that do. */
#ifdef __cplusplus
extern "C" int errno;
#else
extern int errno;
#endif
#define ENOMEM 12
#define EINVAL 22
#define ERANGE 34

#endif
