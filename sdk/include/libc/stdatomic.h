/* Atomic objects of up to 32 bits, which are instructions of the cores; in the own cluster's L1 and, but
 * on `--faithful` machines, in L2 handler memory. */
#ifndef PINION_STDATOMIC_H
#define PINION_STDATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    memory_order_relaxed = __ATOMIC_RELAXED,
    memory_order_consume = __ATOMIC_CONSUME,
    memory_order_acquire = __ATOMIC_ACQUIRE,
    memory_order_release = __ATOMIC_RELEASE,
    memory_order_acq_rel = __ATOMIC_ACQ_REL,
    memory_order_seq_cst = __ATOMIC_SEQ_CST
} memory_order;

typedef _Atomic(int) atomic_int;
typedef _Atomic(unsigned) atomic_uint;
typedef _Atomic(long) atomic_long;
typedef _Atomic(unsigned long) atomic_ulong;
typedef _Atomic(int32_t) atomic_int_least32_t;
typedef _Atomic(uint32_t) atomic_uint_least32_t;
typedef _Atomic(size_t) atomic_size_t;
typedef _Atomic(intptr_t) atomic_intptr_t;
typedef _Atomic(uintptr_t) atomic_uintptr_t;

#define ATOMIC_VAR_INIT(value) (value)
#define atomic_init(object, value) atomic_store_explicit(object, value, memory_order_relaxed)
#define atomic_thread_fence(order) __atomic_thread_fence(order)
#define atomic_signal_fence(order) __atomic_signal_fence(order)

#define atomic_store_explicit(object, value, order)                              \
    __extension__({                                                              \
        __auto_type pinion_object = (object);                                    \
        __typeof__((void)0, *pinion_object) pinion_value = (value);              \
        __atomic_store(pinion_object, &pinion_value, order);                     \
    })
#define atomic_load_explicit(object, order)                                      \
    __extension__({                                                              \
        __auto_type pinion_object = (object);                                    \
        __typeof__((void)0, *pinion_object) pinion_value;                        \
        __atomic_load(pinion_object, &pinion_value, order);                      \
        pinion_value;                                                            \
    })
#define atomic_exchange_explicit(object, value, order)                           \
    __extension__({                                                              \
        __auto_type pinion_object = (object);                                    \
        __typeof__((void)0, *pinion_object) pinion_value = (value), pinion_old;  \
        __atomic_exchange(pinion_object, &pinion_value, &pinion_old, order);     \
        pinion_old;                                                              \
    })
#define atomic_compare_exchange_strong_explicit(object, expected, value, success, failure) \
    __extension__({                                                              \
        __auto_type pinion_object = (object);                                    \
        __typeof__((void)0, *pinion_object) pinion_value = (value);              \
        __atomic_compare_exchange(pinion_object, expected, &pinion_value, 0, success, failure); \
    })
#define atomic_fetch_add_explicit(object, value, order) __atomic_fetch_add(object, value, order)
#define atomic_fetch_sub_explicit(object, value, order) __atomic_fetch_sub(object, value, order)
#define atomic_fetch_and_explicit(object, value, order) __atomic_fetch_and(object, value, order)
#define atomic_fetch_or_explicit(object, value, order) __atomic_fetch_or(object, value, order)
#define atomic_fetch_xor_explicit(object, value, order) __atomic_fetch_xor(object, value, order)

#define atomic_store(object, value) atomic_store_explicit(object, value, memory_order_seq_cst)
#define atomic_load(object) atomic_load_explicit(object, memory_order_seq_cst)
#define atomic_exchange(object, value) \
    atomic_exchange_explicit(object, value, memory_order_seq_cst)
#define atomic_compare_exchange_strong(object, expected, value)                        \
    atomic_compare_exchange_strong_explicit(object, expected, value, memory_order_seq_cst, \
                                            memory_order_seq_cst)
#define atomic_fetch_add(object, value) __atomic_fetch_add(object, value, __ATOMIC_SEQ_CST)
#define atomic_fetch_sub(object, value) __atomic_fetch_sub(object, value, __ATOMIC_SEQ_CST)
#define atomic_fetch_and(object, value) __atomic_fetch_and(object, value, __ATOMIC_SEQ_CST)
#define atomic_fetch_or(object, value) __atomic_fetch_or(object, value, __ATOMIC_SEQ_CST)
#define atomic_fetch_xor(object, value) __atomic_fetch_xor(object, value, __ATOMIC_SEQ_CST)

#endif
