/* What C++ programs use, checked as it runs: the program prints what is wrong and returns how much.
 * With an argument it ends otherwise: `virtual` by calling a pure virtual function, `again` by a
 * static object that needs itself, `new` by asking for more memory than there is, `threads` with what
 * the threads of context 1 return. */
#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cmath>
#include <cstdarg>
#include <cstdbool>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <new>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include "lnic-scheduler.h"
#include "lnic.h"
#include "mmio.h"
#include "util.h"

extern "C" {
#include <string.h>
/* As programs for the published kernel begin. */
extern int _end;
extern void sbrk_init(long int *init_addr);
extern void __libc_init_array();
extern void __libc_fini_array();
}

static std::atomic<int> wrong;

#define CHECK(what)                                                 \
    do {                                                            \
        if (!(what)) {                                              \
            std::printf("line %d: %s does not hold\n", __LINE__, #what); \
            wrong++;                                                \
        }                                                           \
    } while (0)

/* ---- Before and after main ---- */

static int constructed;

struct First {
    int place;
    First() : place(++constructed) {}
    ~First() { std::printf("destroyed %d\n", place); }
};

static First late __attribute__((init_priority(2000)));
static First early __attribute__((init_priority(1000)));
static First usual;
static char line[32];
__attribute__((constructor)) static void from_c() { std::strcpy(line, "constructed"); }
__attribute__((destructor)) static void to_c() { std::puts("destroyed c"); }

/* ---- Virtual functions ---- */

struct Shape {
    virtual ~Shape() { alive--; }
    virtual int area() const = 0;
    Shape() { alive++; }
    static int alive;
    int indirectly() const { return area(); }
};
int Shape::alive;

struct Named {
    virtual const char *name() const { return "named"; }
    virtual ~Named() = default;
};

struct Square : Shape, Named {
    int side;
    explicit Square(int s) : side(s) {}
    int area() const override { return side * side; }
    const char *name() const override { return "square"; }
};

/* A constructor that calls what its derived class defines, through a pointer. */
struct Base {
    explicit Base(bool call)
    {
        Base *volatile self = this;
        if (call)
            self->act();
    }
    virtual void act() = 0;
};

struct Derived : Base {
    using Base::Base;
    void act() override {}
};

/* ---- Local statics ---- */

static std::atomic<int> made;

struct Slow {
    int value;
    Slow() : value(0)
    {
        for (int i = 0; i < 1000; i++)
            asm volatile("nop");
        value = 42;
        made++;
    }
};

static Slow &slow()
{
    static Slow it;
    return it;
}

struct Needs {
    Needs();
};

__attribute__((noinline)) static Needs &needs()
{
    static Needs it;
    return it;
}

Needs::Needs() { needs(); }

/* ---- Templates ---- */

template <typename T, std::size_t Count> class Pool {
    std::aligned_storage_t<sizeof(T), alignof(T)> places_[Count];
    std::size_t used_ = 0;

public:
    template <typename... Arguments> T *make(Arguments &&...arguments)
    {
        return new (&places_[used_++]) T(std::forward<Arguments>(arguments)...);
    }
};

template <typename... T> constexpr auto sum(T... values) { return (values + ... + 0); }

struct alignas(256) Wide {
    unsigned char bytes[300];
};

template <typename T> using bound = std::numeric_limits<T>;

static_assert(bound<int8_t>::max() == INT8_MAX && bound<int8_t>::min() == INT8_MIN);
static_assert(bound<uint64_t>::max() == UINT64_MAX && bound<int64_t>::min() == INT64_MIN);
static_assert(bound<bool>::max() && !bound<double>::is_integer);
static_assert(std::is_same_v<std::remove_cvref_t<const int &>, int>);
static_assert(std::is_base_of_v<Shape, Square> && !std::is_pointer_v<int> && std::is_unsigned_v<bool>);
static_assert(std::is_same_v<std::enable_if_t<true, int>, std::conditional_t<false, char, int>>);
static_assert(std::min({ 3, 1, 2 }) == 1 && std::max(1, 2) == 2 && std::clamp(9, 0, 5) == 5);
static_assert(sum(1, 2, 3) == 6);

static void check_memory()
{
    std::nothrow_t none{};
    Wide *wide = new Wide, *wides = new Wide[3];
    int *numbers = new int[10]();
    auto *nothing = new char[0];
    void *before = sbrk(0);

    CHECK(reinterpret_cast<uintptr_t>(wide) % 256 == 0);
    CHECK(reinterpret_cast<uintptr_t>(wides + 1) % 256 == 0);
    CHECK(nothing && std::count(numbers, numbers + 10, 0) == 10);
    CHECK(!new (none) char[size_t(1) << 40]);
    delete wide;
    delete[] wides;
    delete[] numbers;
    delete[] nothing;
    CHECK(sbrk(size_t(1) << 40) == (void *)-1);
    CHECK(sbrk(4096) == before && sbrk(0) == (char *)before + 4096);
    std::memset(before, 1, 4096);
    char *large = new char[1 << 20];
    CHECK(large >= (char *)before + 4096 || large + (1 << 20) <= before);
    delete[] large;
    CHECK(sbrk(-(1l << 40)) == (void *)-1);
}

static void check_language()
{
    Pool<Square, 4> pool;
    Shape *shape = pool.make(3);
    Shape *other = new Square(4);
    std::array numbers{ 3, 1, 2 };
    std::pair<int, const char *> pair = { 1, "one" };
    std::atomic<uint64_t> word(40);
    uint64_t expected = 41;
    int a = 1, b = 2;

    CHECK(shape->area() == 9 && other->indirectly() == 16 && Shape::alive == 2);
    CHECK(!std::strcmp(static_cast<Square *>(other)->name(), "square"));
    shape->~Shape();
    delete other;
    CHECK(Shape::alive == 0);
    std::swap(a, b);
    CHECK(a == 2 && std::exchange(b, 5) == 1 && b == 5);
    CHECK(numbers.size() == 3 && *std::find(numbers.begin(), numbers.end(), 1) == 1);
    CHECK(pair == std::make_pair(1, pair.second));
    CHECK(word.fetch_add(2) == 40 && !word.compare_exchange_strong(expected, 0) && expected == 42);
    CHECK(word.compare_exchange_strong(expected, 7) && word == 7);
    CHECK(std::sqrt(16.0) == 4 && std::sqrt(9.0f) == 3 && std::fabs(-2.0f) == 2);
    CHECK(!std::isnan(1.0) && std::isnan(NAN) && std::abs(-7l) == 7);
    CHECK(std::strtoull("0xffffffffffffffff", nullptr, 0) == UINT64_MAX);
    CHECK(std::strtoll("-9223372036854775808", nullptr, 10) == INT64_MIN && errno == 0);
    CHECK(std::isdigit('7') && CHAR_BIT == 8);
}

static int thread(int, char **, int, int, uint64_t id, uint64_t) { return static_cast<int>(id); }

bool is_single_core() { return false; }

int core_main(int argc, char **argv, int cid, int nc)
{
    if (cid == 0) {
        CHECK(early.place == 1 && late.place == 2 && usual.place == 3 && constructed == 3);
        CHECK(!std::strcmp(line, "constructed"));
        sbrk_init((long int *)&_end);
        std::atexit(__libc_fini_array);
        __libc_init_array();
        CHECK(constructed == 3);
        check_memory();
        check_language();
        const char *end = argc > 1 ? argv[1] : "";
        if (!std::strcmp(end, "virtual"))
            Derived derived(true);
        if (!std::strcmp(end, "again"))
            needs();
        if (!std::strcmp(end, "new"))
            std::printf("%p\n", static_cast<void *>(new char[size_t(1) << 40]));
    }
    if (argc > 1 && !std::strcmp(argv[1], "threads")) {
        scheduler_init();
        start_thread(thread, 0, 0);
        start_thread(thread, 1, 1);
        scheduler_run();
    }
    CHECK(slow().value == 42);
    barrier(nc);
    CHECK(made == 1);
    barrier(nc);
    if (cid == 0 && wrong == 0)
        std::printf("all of C++ is well\n");
    return wrong;
}
