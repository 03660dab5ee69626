/* A table of keys and values of any types, in memory of its own: a bucket has a few places, and what
 * does not fit there follows on the heap. Nothing is constructed before it is put in. */
#ifndef NANOPU_CXX_TABLE_H
#define NANOPU_CXX_TABLE_H

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace table {

/* Spreads a key; specialise it for other types. */
template <typename Key> struct Hash {
    std::uint64_t operator()(const Key &key) const
    {
        std::uint64_t word = static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15ull;
        return word ^ word >> 32;
    }
};

struct Sizes {
    static constexpr std::size_t buckets = 64;
    static constexpr std::size_t places = 3;
};

template <typename Key, typename Value, typename Config = Sizes> class Table {
    static_assert((Config::buckets & (Config::buckets - 1)) == 0, "a hash is masked, not divided");

    struct Entry {
        Key key;
        Value value;
        Entry *next;

        Entry(const Key &k, const Value &v, Entry *n) : key(k), value(v), next(n) {}
    };

    /* Bytes for entries; `used` of them hold one. */
    struct Bucket {
        alignas(Entry) unsigned char bytes[Config::places * sizeof(Entry)];
        std::size_t used = 0;
        Entry *further = nullptr;

        Entry *at(std::size_t place) { return reinterpret_cast<Entry *>(bytes) + place; }
    };

    Bucket buckets_[Config::buckets];
    std::size_t size_ = 0;

    Bucket &bucket(const Key &key)
    {
        return buckets_[Hash<Key>()(key) & (Config::buckets - 1)];
    }

public:
    Table() = default;
    Table(const Table &) = delete;
    ~Table()
    {
        for (Bucket &bucket : buckets_) {
            while (bucket.used)
                bucket.at(--bucket.used)->~Entry();
            while (bucket.further)
                delete std::exchange(bucket.further, bucket.further->next);
        }
    }

    std::size_t size() const { return size_; }

    Value *find(const Key &key)
    {
        Bucket &in = bucket(key);
        for (std::size_t place = 0; place < in.used; place++)
            if (in.at(place)->key == key)
                return &in.at(place)->value;
        for (Entry *entry = in.further; entry; entry = entry->next)
            if (entry->key == key)
                return &entry->value;
        return nullptr;
    }

    /* Gives whether the key is new. */
    bool put(const Key &key, const Value &value)
    {
        if (Value *found = find(key)) {
            *found = value;
            return false;
        }
        Bucket &in = bucket(key);
        if (in.used < Config::places)
            new (in.at(in.used++)) Entry(key, value, nullptr);
        else
            in.further = new Entry(key, value, in.further);
        size_++;
        return true;
    }

    bool erase(const Key &key)
    {
        Bucket &in = bucket(key);
        for (Entry **link = &in.further; *link; link = &(*link)->next) {
            if ((*link)->key == key) {
                delete std::exchange(*link, (*link)->next);
                size_--;
                return true;
            }
        }
        for (std::size_t place = 0; place < in.used; place++) {
            if (in.at(place)->key == key) {
                Entry *last = in.at(--in.used);
                *in.at(place) = std::move(*last);
                last->~Entry();
                size_--;
                return true;
            }
        }
        return false;
    }
};

}

#endif
