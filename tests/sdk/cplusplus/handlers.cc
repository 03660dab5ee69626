/* What handlers in C++ may count on: objects exist, once, before init_handlers and any packet; virtual
 * functions, templates and placement new work; every header of the C++ library is taken. */
#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cctype>
#include <cinttypes>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <handler.h>
#include <initializer_list>
#include <limits>
#include <new>
#include <packets.h>
#include <spin_crypto.h>
#include <spin_host.h>
#include <type_traits>
#include <utility>

namespace {

int constructed;

class Counter {
    std::atomic<uint32_t> count_;
    int place_;

public:
    Counter() : place_(++constructed) {}
    ~Counter() { count_ = 0; }
    uint32_t next() { return ++count_; }
    int place() const { return place_; }
};

Counter first, second;
int before_handlers;

struct Step {
    virtual ~Step() = default;
    virtual uint32_t operator()(uint32_t value) const = 0;
};

template <uint32_t By> struct Add : Step {
    uint32_t operator()(uint32_t value) const override { return value + By; }
};

template <typename T> struct Scale : Step {
    T by;
    explicit Scale(T factor) : by(factor) {}
    uint32_t operator()(uint32_t value) const override
    {
        return static_cast<uint32_t>(static_cast<T>(value) * by);
    }
};

Add<3> add;
std::array<const Step *, 2> steps{ &add, nullptr };

}

extern "C" void init_handlers(handler_fn *, handler_fn *, handler_fn *, void **)
{
    static Scale<uint64_t> scale(2);
    steps[1] = &scale;
    before_handlers = constructed;
}

/* Prints "good N" with N the number of the first promise that is broken, 0 for none. */
__handler__ void classes_ph(handler_args_t *args)
{
    alignas(Scale<uint32_t>) unsigned char place[sizeof(Scale<uint32_t>)];
    Step *here = new (place) Scale<uint32_t>(7);
    uint32_t value = args->hpu_gid, expected = (value + 3) * 2;
    int broken = 0;

    for (const Step *step : steps)
        value = (*step)(value);
    if (first.place() != 1 || second.place() != 2 || before_handlers != 2 || constructed != 2)
        broken = 1;
    else if (value != expected || (*here)(6) != 42)
        broken = 2;
    else if (first.next() > 256 || std::max({ 1, 5, 2 }) != 5)
        broken = 3;
    here->~Step();
    std::printf("good %d\n", broken);
}
