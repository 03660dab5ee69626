/* A key-value store for one hart, in the manner of MICA's exclusive partitions: nobody else touches
 * it, so there are no locks.
 *
 *   index   buckets of one cache line: 7 entries and a link to a further bucket. An entry has 16
 *           bits of the key's hash and an item's number, so that a key that is not there rarely
 *           costs an item's cache line, and none is ever forgotten
 *   items   a slab: key, version and value together, from the beginning of a cache line on. A value
 *           that is written again stays where it is; what is deleted is used again
 *
 * Values are fixed: STORE_VALUE_WORDS words of 64 bits. The caller has the hash (clients send it)
 * and moves values word by word, straight between the item and the network registers.
 */
#ifndef NANOPU_STORE_H
#define NANOPU_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef STORE_VALUE_WORDS
#define STORE_VALUE_WORDS 64
#endif
#ifndef STORE_ITEMS
#define STORE_ITEMS 10240
#endif
#define STORE_VALUE_BYTES (STORE_VALUE_WORDS * 8)
#ifndef STORE_BUCKETS
#define STORE_BUCKETS 4096 /* 2.5 entries each of 10,000 */
#endif
#define STORE_FURTHER 256 /* for what does not fit; 10,000 items need some 20 */
#define STORE_ENTRIES 7

#define CACHE_LINE __attribute__((aligned(64)))

typedef struct {
    uint64_t key[2];
    uint64_t version; /* how many writes it has seen */
    uint64_t value[STORE_VALUE_WORDS];
} CACHE_LINE item_t;

/* Entries: hash bits 63:48, number of the item + 1 below; 0 is empty. */
typedef struct {
    uint64_t entries[STORE_ENTRIES];
    uint64_t further; /* number of the next bucket + 1, or 0 */
} CACHE_LINE bucket_t;

typedef struct {
    bucket_t buckets[STORE_BUCKETS];
    bucket_t more[STORE_FURTHER];
    item_t items[STORE_ITEMS];
    uint64_t items_used, buckets_used;
    uint64_t free; /* number of a deleted item + 1, whose first key word is that of the next */
} CACHE_LINE store_t;

#define STORE_TAG_SHIFT 48
/* 2^64 divided by the golden ratio: spreads what it multiplies. */
#define STORE_ODD 0x9e3779b97f4a7c15ul

/* The hash of a key: both words multiplied and folded, so that the lowest 12 and the highest 16
 * bits depend on all of them. */
static inline uint64_t store_hash(uint64_t key0, uint64_t key1)
{
    uint64_t hash = (key0 ^ (key1 >> 32 | key1 << 32)) * STORE_ODD;

    hash = (hash ^ hash >> 29) * STORE_ODD;
    return hash ^ hash >> 32;
}

/* Word `word` of the value with a tag: its first word is the tag, the others follow from it, so
 * that whoever reads it can tell whether it is whole. */
static inline uint64_t store_value_word(uint64_t tag, uint64_t word)
{
    return tag + word * STORE_ODD;
}

/* The second word of key `number`, whose first is the number. */
static inline uint64_t store_key_word(uint64_t number)
{
    return ~(number * STORE_ODD);
}

static inline item_t *store_match(store_t *store, uint64_t entry, const uint64_t *key,
                                  uint64_t hash)
{
    if (!entry || (entry ^ hash) >> STORE_TAG_SHIFT)
        return NULL;
    item_t *item = &store->items[(entry & ((1ul << STORE_TAG_SHIFT) - 1)) - 1];
    return item->key[0] == key[0] && item->key[1] == key[1] ? item : NULL;
}

static inline bucket_t *store_further(store_t *store, const bucket_t *bucket)
{
    return bucket->further ? &store->more[bucket->further - 1] : NULL;
}

/* The item of a key, or NULL. */
static inline item_t *store_find(store_t *store, const uint64_t *key, uint64_t hash)
{
    bucket_t *bucket = &store->buckets[hash % STORE_BUCKETS];

    for (; bucket; bucket = store_further(store, bucket))
        for (int i = 0; i < STORE_ENTRIES; i++) {
            item_t *item = store_match(store, bucket->entries[i], key, hash);
            if (item)
                return item;
        }
    return NULL;
}

/* An empty entry in a key's bucket or those behind it, or NULL when there are no more. */
static inline uint64_t *store_place(store_t *store, uint64_t hash)
{
    bucket_t *bucket = &store->buckets[hash % STORE_BUCKETS];

    for (;; bucket = store_further(store, bucket)) {
        for (int i = 0; i < STORE_ENTRIES; i++)
            if (!bucket->entries[i])
                return &bucket->entries[i];
        if (!bucket->further) {
            if (store->buckets_used == STORE_FURTHER)
                return NULL;
            bucket->further = ++store->buckets_used;
        }
    }
}

/* Makes an item for a key that is not there, version 0, its value whatever the memory held; NULL
 * when the store is full. */
static inline item_t *store_add(store_t *store, const uint64_t *key, uint64_t hash)
{
    uint64_t *place = store_place(store, hash), number = store->free;

    if (!place || (!number && store->items_used == STORE_ITEMS))
        return NULL;
    if (number)
        store->free = store->items[number - 1].key[0];
    else
        number = ++store->items_used;
    item_t *item = &store->items[number - 1];
    *place = hash >> STORE_TAG_SHIFT << STORE_TAG_SHIFT | number;
    item->key[0] = key[0];
    item->key[1] = key[1];
    item->version = 0;
    return item;
}

/* Deletes a key; tells whether it was there. */
static inline bool store_delete(store_t *store, const uint64_t *key, uint64_t hash)
{
    bucket_t *bucket = &store->buckets[hash % STORE_BUCKETS];

    for (; bucket; bucket = store_further(store, bucket))
        for (int i = 0; i < STORE_ENTRIES; i++) {
            item_t *item = store_match(store, bucket->entries[i], key, hash);
            if (!item)
                continue;
            bucket->entries[i] = 0;
            item->key[0] = store->free;
            store->free = (uint64_t)(item - store->items) + 1;
            return true;
        }
    return false;
}

/* Stores keys first … first + count - 1, each with the value whose tag is its number; false when
 * they do not all fit. */
static inline bool store_preload(store_t *store, uint64_t first, uint64_t count)
{
    for (uint64_t number = first; number < first + count; number++) {
        uint64_t key[2] = { number, store_key_word(number) };
        item_t *item = store_add(store, key, store_hash(key[0], key[1]));
        if (!item)
            return false;
        uint64_t word = number;
        for (int i = 0; i < STORE_VALUE_WORDS; i++, word += STORE_ODD)
            item->value[i] = word;
    }
    return true;
}

#endif
