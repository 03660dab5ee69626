#ifndef PINION_STDNORETURN_H
#define PINION_STDNORETURN_H

#define noreturn _Noreturn

#endif
