/* What C++ handlers expect, by the names of the C++ ABI; linked with programs that have C++. Objects are
 * constructed once, where init_handlers runs and before it, and never destroyed: handlers do not end. */
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <handler.h>

extern "C" {

typedef void constructor_t();
extern constructor_t *__init_array_start[], *__init_array_end[];

/* The application's init_handlers, if it has one: the linker script says. */
void pinion_own_initialise(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem)
    __attribute__((weak));

__handler__ void pinion_construct(handler_fn *hh, handler_fn *ph, handler_fn *th,
                                  void **handler_mem)
{
    constructor_t **next = __init_array_start;

    /* The table may be empty, which compilers do not believe of two arrays. */
    __asm__("" : "+r"(next));
    for (; next != __init_array_end; next++)
        (*next)();
    if (pinion_own_initialise)
        pinion_own_initialise(hh, ph, th, handler_mem);
}

void *__dso_handle;

int __cxa_atexit(void (*)(void *), void *, void *)
{
    return 0;
}

/* Where calls of functions lead that no class has defined. */
__attribute__((noreturn)) void __cxa_pure_virtual()
{
    std::printf("a pure virtual function was called\n");
    std::abort();
}
}

/* There is no heap: a handler that says `new` is not linked. A class with a virtual destructor refers
 * to delete all the same. */
__attribute__((noreturn)) static void refuse()
{
    std::printf("delete: handlers have no heap\n");
    std::abort();
}

void operator delete(void *) noexcept { refuse(); }
void operator delete[](void *) noexcept { refuse(); }
void operator delete(void *, std::size_t) noexcept { refuse(); }
void operator delete[](void *, std::size_t) noexcept { refuse(); }
