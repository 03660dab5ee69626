/* What library and NIC say to each other: one message per packet of a SOCK_SEQPACKET socket, a
 * header and a body, numbers little-endian. The library asks, the NIC answers with the same kind
 * and number; an answer with a status other than 0 has a line of text as its body. An ANSWER to a
 * handler is not answered. Files travel as file descriptors (SCM_RIGHTS). */
#ifndef PINION_PROTOCOL_H
#define PINION_PROTOCOL_H

#include <stdint.h>

#define PINION_MAGIC 0x4e495046u
#define PINION_VERSION 1
/* Bytes of the largest message. */
#define PINION_MESSAGE_BYTES 65536
/* Bytes of memory that one READ or WRITE carries at most. */
#define PINION_PIECE_BYTES 32768
#define PINION_NAME_BYTES 128
#define PINION_HPUS_MAX 128

enum pinion_kind {
    PINION_HELLO = 1, /* nothing -> pinion_machine */
    PINION_ATTACH, /* pinion_attach, rulesets, file of the image -> pinion_attached, files of host
                    * memory and, to map for reading, of the context's handler memory */
    PINION_LOAD, /* pinion_load, file of the image -> pinion_attached, file of handler memory */
    PINION_UNLOAD, /* nothing -> nothing */
    PINION_RULES, /* pinion_rules, rulesets -> nothing */
    PINION_READ, /* pinion_range -> bytes */
    PINION_WRITE, /* pinion_range, bytes -> nothing */
    PINION_ANSWER, /* pinion_answer -> not answered */
    PINION_STATUS, /* nothing -> text */
    PINION_LOG, /* pinion_log -> many of pinion_line and text */
    PINION_DEBUG, /* number of a program -> how many there are, name, file of it; file of gdb's connection
                   * -> nothing, and text when the debugger has left */
};

struct pinion_header {
    uint32_t magic;
    uint16_t version;
    uint16_t kind;
    uint32_t number;
    uint32_t status;
};

struct pinion_machine {
    uint32_t hpus;
    uint32_t contexts;
    uint32_t rules; /* of a ruleset, with the one that tells the end */
    uint32_t page_bytes;
    uint32_t handler_memory; /* address */
    uint32_t handler_memory_bytes;
    char name[PINION_NAME_BYTES];
};

struct pinion_rule {
    uint32_t idx;
    uint32_t mask;
    uint32_t start;
    uint32_t end;
};

struct pinion_ruleset {
    uint32_t mode; /* 0: all must match, 1: one must */
    struct pinion_rule rule[4];
};

struct pinion_attach {
    uint32_t context;
    uint32_t rulesets;
    uint64_t host_bytes;
    char image[PINION_NAME_BYTES]; /* its name, for messages */
};

struct pinion_load {
    uint64_t window_offset; /* in host memory */
    uint64_t window_bytes;
    char image[PINION_NAME_BYTES];
};

struct pinion_area {
    uint32_t address;
    uint32_t bytes;
};

struct pinion_attached {
    struct pinion_area header, payload, completion; /* handlers */
    struct pinion_area handler_memory;
    uint32_t host_data; /* address of __host_data; 0: the image has none */
    uint32_t reserved;
    uint8_t request[PINION_HPUS_MAX]; /* number of each HPU's last request */
};

struct pinion_rules {
    uint32_t context;
    uint32_t rulesets;
};

struct pinion_range {
    uint32_t address;
    uint32_t bytes;
};

struct pinion_answer {
    uint32_t hpu;
    uint32_t reserved;
    uint64_t flag;
};

struct pinion_log {
    uint32_t follow; /* 0: what there is, then the end */
    uint32_t reserved;
};

/* Text follows. `lost` lines before this one were dropped for want of room. The NIC hangs up behind
 * the last line. */
struct pinion_line {
    uint64_t time_ps;
    uint64_t lost;
    uint32_t cluster;
    uint32_t hpu;
};

#endif
