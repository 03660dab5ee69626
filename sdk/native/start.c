/* Lets the application initialise itself: called once, by the first worker, before any packet. */
#include <handler.h>

/* Constructors of C++, or init_handlers, or nothing: the linker script says which. */
void pinion_initialise(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem)
    __attribute__((weak));

static_assert(sizeof(handler_args_t) == 16 && offsetof(task_t, l2_pkt_mem) ==
              4 * (7 + 2 * PINION_SCRATCHPADS), "the task has the NIC's layout");

/* What init_handlers writes is for nobody, as on the NIC: handlers are found by name. */
__handler__ void pinion_native_start(handler_args_t *args)
{
    handler_fn hh = NULL, ph = NULL, th = NULL;
    void *handler_mem = NULL;

    (void)args;
    if (pinion_initialise)
        pinion_initialise(&hh, &ph, &th, &handler_mem);
}
