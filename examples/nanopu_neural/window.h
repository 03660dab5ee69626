/* How many inferences may be on their way through the layers at a time. */
#ifndef WINDOW_H
#define WINDOW_H

#include "fixed.h"

#define WINDOW 8

#endif
