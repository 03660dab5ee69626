/* Nothing: what remains is the cost of the machine. */
#include <handler.h>

__handler__ void empty_hh(handler_args_t *args)
{
    (void)args;
}

__handler__ void empty_ph(handler_args_t *args)
{
    (void)args;
}

__handler__ void empty_th(handler_args_t *args)
{
    (void)args;
}
