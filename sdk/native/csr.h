/* Control registers and core registers on the native engine: a handler that touches a CSR is ended, as
 * in the NIC's user mode; of the core's registers only tp, the hart id, means something. */
#ifndef PINION_NATIVE_CSR_H
#define PINION_NATIVE_CSR_H

#include "worker.h"

#define read_csr(csr, value) (__builtin_trap(), (value) = 0)
#define write_csr(csr, value) ((void)(value), __builtin_trap())
#define clear_csr(csr, mask) ((void)(mask), __builtin_trap())

#define PINION_REGISTER_tp pinion_hart_id()
#define read_register(name, value) ((value) = PINION_REGISTER_##name)

#endif
