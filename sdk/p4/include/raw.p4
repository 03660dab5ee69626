// Raw messages: NDP's headers with the protocol number for experiments (RFC 3692).
#ifndef RAW_P4
#define RAW_P4

#include "ndp.p4"

#define RAW_PROTO 0xfd

#endif
