/* Objects exist before any packet where the application has no init_handlers: it need not have one. */
#include <cstdint>
#include <cstdio>
#include <handler.h>

namespace {

class Number {
    uint32_t value_;

public:
    explicit Number(uint32_t value) : value_(value) {}
    uint32_t value() const { return value_; }
};

/* Is not known before the program runs, so that something must be called. */
volatile uint32_t five = 5;
Number number(five);

}

/* Prints "good 0" if the object was constructed. */
__handler__ void objects_ph(handler_args_t *)
{
    std::printf("good %d\n", number.value() == 5 ? 0 : 1);
}
