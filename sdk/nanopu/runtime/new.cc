/* new and delete, of malloc and free. There are no exceptions: a program that finds no memory ends,
 * unless it asked with std::nothrow. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

const std::nothrow_t std::nothrow{};

namespace {

/* What malloc aligns to. */
constexpr std::size_t usual = 16;

void *checked(void *block, std::size_t bytes)
{
    if (!block) {
        std::printf("new: no memory for %lu bytes\n", static_cast<unsigned long>(bytes));
        std::abort();
    }
    return block;
}

/* C++ wants a place for every object, also for one of no bytes. */
void *obtain(std::size_t bytes)
{
    return std::malloc(bytes ? bytes : 1);
}

/* Where the alignment is larger than usual: the block begins earlier, and the word before what is
 * given says where. */
void *obtain(std::size_t bytes, std::size_t alignment)
{
    if (bytes > SIZE_MAX - alignment - usual)
        return nullptr;
    void *block = std::malloc(bytes + alignment + usual);
    if (!block)
        return nullptr;
    std::uintptr_t place = reinterpret_cast<std::uintptr_t>(block) + usual;
    place = (place + alignment - 1) & ~(static_cast<std::uintptr_t>(alignment) - 1);
    reinterpret_cast<void **>(place)[-1] = block;
    return reinterpret_cast<void *>(place);
}

void give_back(void *aligned)
{
    if (aligned)
        std::free(static_cast<void **>(aligned)[-1]);
}

}

void *operator new(std::size_t bytes) { return checked(obtain(bytes), bytes); }
void *operator new[](std::size_t bytes) { return checked(obtain(bytes), bytes); }
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept { return obtain(bytes); }
void *operator new[](std::size_t bytes, const std::nothrow_t &) noexcept { return obtain(bytes); }
void *operator new(std::size_t bytes, std::align_val_t alignment)
{
    return checked(obtain(bytes, static_cast<std::size_t>(alignment)), bytes);
}
void *operator new[](std::size_t bytes, std::align_val_t alignment)
{
    return checked(obtain(bytes, static_cast<std::size_t>(alignment)), bytes);
}

void operator delete(void *block) noexcept { std::free(block); }
void operator delete[](void *block) noexcept { std::free(block); }
void operator delete(void *block, const std::nothrow_t &) noexcept { std::free(block); }
void operator delete[](void *block, const std::nothrow_t &) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }
void operator delete[](void *block, std::size_t) noexcept { std::free(block); }
void operator delete(void *block, std::align_val_t) noexcept { give_back(block); }
void operator delete[](void *block, std::align_val_t) noexcept { give_back(block); }
void operator delete(void *block, std::size_t, std::align_val_t) noexcept { give_back(block); }
void operator delete[](void *block, std::size_t, std::align_val_t) noexcept { give_back(block); }
