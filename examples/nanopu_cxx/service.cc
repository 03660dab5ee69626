/* A key-value service in C++. Operations are objects that exist before main and know themselves by
 * number; the table is a template (table.h) that constructs entries in its own memory and, when a
 * bucket is full, on the heap.
 *
 *   request  {operation, key, value}
 *   answer   {status, value}
 *
 * Operations: 1 get, 2 put, 3 erase, 4 size, 5 the end of the program.
 */
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <lnic.h>
#include "table.h"

namespace {

enum class Status : uint64_t { done, not_found, unknown };

struct Answer {
    Status status;
    uint64_t value;
};

using Store = table::Table<uint64_t, uint64_t>;

/* Made when it is first asked for, destroyed at the end of the program. */
Store &store()
{
    static Store the_store;
    return the_store;
}

class Operation {
    static Operation *first_;
    Operation *next_;
    uint64_t number_;

public:
    explicit Operation(uint64_t number) : next_(first_), number_(number) { first_ = this; }
    virtual ~Operation() = default;
    virtual Answer run(uint64_t key, uint64_t value) = 0;

    static Operation *find(uint64_t number)
    {
        Operation *operation = first_;
        while (operation && operation->number_ != number)
            operation = operation->next_;
        return operation;
    }
};

Operation *Operation::first_;

class Get : public Operation {
public:
    using Operation::Operation;
    Answer run(uint64_t key, uint64_t) override
    {
        if (uint64_t *found = store().find(key))
            return { Status::done, *found };
        return { Status::not_found, 0 };
    }
};

class Put : public Operation {
public:
    using Operation::Operation;
    Answer run(uint64_t key, uint64_t value) override
    {
        return { Status::done, store().put(key, value) };
    }
};

class Erase : public Operation {
public:
    using Operation::Operation;
    Answer run(uint64_t key, uint64_t) override
    {
        return { store().erase(key) ? Status::done : Status::not_found, 0 };
    }
};

class Size : public Operation {
public:
    using Operation::Operation;
    Answer run(uint64_t, uint64_t) override { return { Status::done, store().size() }; }
};

/* Counts what it is asked to do and says at the end how much that was. */
class Census {
    uint64_t requests_ = 0;

public:
    void count() { requests_++; }
    ~Census() { std::printf("%" PRIu64 " requests\n", requests_); }
};

Get get(1);
Put put(2);
Erase erase(3);
Size size(4);
Census census;
constexpr uint64_t the_end = 5;

}

int main()
{
    lnic_add_context(0, 0);
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read(), number = lnic_read(), key = lnic_read(), value = lnic_read();
        if (number == the_end)
            break;
        Operation *operation = Operation::find(number);
        Answer answer = operation ? operation->run(key, value) : Answer{ Status::unknown, number };
        census.count();
        lnic_write_r((header & ~LEN_MASK) | 2 * LNIC_WORD_SIZE);
        lnic_write_r(answer.status);
        lnic_write_r(answer.value);
        lnic_msg_done();
    }
    lnic_msg_done();
    return EXIT_SUCCESS;
}
