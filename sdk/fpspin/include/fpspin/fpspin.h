/* The host side of an FPsPIN NIC: a program attaches to an execution context of a running
 * `pinion nic`, loads handlers into it, tells which packets they get, and answers their requests.
 *
 *     fpspin_ctx_t ctx;
 *     fpspin_ruleset_t rules;
 *     fpspin_ruleset_udp(&rules);
 *     if (!fpspin_init(&ctx, "/dev/pspin0", "build/app.elf", 0, &rules, 1,
 *                      FPSPIN_HOSTDMA_PAGES_DEFAULT))
 *         return EXIT_FAILURE;
 *
 * Names, types and fields are those of FPsPIN's published library, so that programs written for it
 * compile as they are; what is added here says so. Functions that can fail print one line to
 * standard error and return false (a pointer: NULL); the published ones that return nothing return
 * bool here. "/dev/pspin0" means the NIC called pspin0: its socket is pspin0.sock in
 * $PINION_NIC_DIR, or else in $XDG_RUNTIME_DIR/pinion if that is the user's, root's in /run/pinion,
 * others' in /run/user/UID/pinion or, where there is none, /tmp/pinion-UID; a name that ends in .sock
 * is the socket itself.
 *
 * Threads: every function may be called by any thread; several may poll the same context.
 */
#ifndef FPSPIN_FPSPIN_H
#define FPSPIN_FPSPIN_H

#include <arpa/inet.h>
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Frames: fields are big-endian, as on the wire. ---- */

typedef struct mac_addr {
    uint8_t data[6];
} __attribute__((__packed__)) mac_addr_t;

typedef struct eth_hdr {
    mac_addr_t dest;
    mac_addr_t src;
    uint16_t length; /* or ether type */
} __attribute__((__packed__)) eth_hdr_t;

typedef struct ip_hdr {
    uint8_t ihl : 4;
    uint8_t version : 4;
    uint8_t tos;
    uint16_t length;
    uint16_t identification;
    uint16_t offset;
    uint8_t ttl;
    uint8_t protocol;
    uint16_t checksum;
    uint32_t source_id;
    uint32_t dest_id;
} __attribute__((__packed__)) ip_hdr_t;

typedef struct udp_hdr {
    uint16_t src_port;
    uint16_t dst_port;
    uint16_t length;
    uint16_t checksum;
} __attribute__((__packed__)) udp_hdr_t;

typedef struct pkt_hdr {
    eth_hdr_t eth_hdr;
    ip_hdr_t ip_hdr;
    udp_hdr_t udp_hdr;
} __attribute__((__packed__)) pkt_hdr_t;

/* ---- SLMP, sPIN's lightweight message protocol: inside UDP. ---- */

typedef struct slmp_hdr {
    uint16_t flags;
    uint32_t msg_id;
    uint32_t pkt_off; /* byte offset of this packet's payload in the message */
} __attribute__((__packed__)) slmp_hdr_t;

typedef struct slmp_pkt_hdr {
    eth_hdr_t eth_hdr;
    ip_hdr_t ip_hdr;
    udp_hdr_t udp_hdr;
    slmp_hdr_t slmp_hdr;
} __attribute__((__packed__)) slmp_pkt_hdr_t;

#define MKEOM 0x8000
#define MKSYN 0x4000
#define MKACK 0x2000
#define EOM(flags) ((flags) & MKEOM)
#define SYN(flags) ((flags) & MKSYN)
#define ACK(flags) ((flags) & MKACK)

#define SLMP_PAYLOAD_SIZE 1462
#define SLMP_PORT 9330

/* A sender. The first five fields are what slmp_socket was given. */
typedef struct {
    bool parallel; /* more than one thread */
    int wnd_sz; /* packets that may be unacknowledged; 0: none is asked to be */
    int align; /* bytes a packet's payload is a multiple of */
    int fc_us; /* gap between packets */
    int num_threads;
    void *state; /* the library's own (an addition) */
} slmp_sock_t;

int slmp_socket(slmp_sock_t *sock, int wnd_sz, int align, int fc_us, int num_threads);
int slmp_sendmsg(slmp_sock_t *sock, in_addr_t server, int msgid, void *buf, size_t sz);
int slmp_close(slmp_sock_t *sock);

/* ---- The machine, as the published library has it. ---- */

/* For a NIC with other than 16 HPUs, compile program and library with -DNUM_HPUS=… */
#ifndef NUM_HPUS
#define NUM_HPUS 16
#endif
#ifndef NUM_CLUSTERS
#define NUM_CLUSTERS 2
#endif
#define L2_END 0x1c100000UL
#ifndef PAGE_SIZE
#define PAGE_SIZE 4096
#endif
#define DMA_BUS_WIDTH 512
#define DMA_ALIGN (DMA_BUS_WIDTH / 8)

/* An address in NIC memory, as the NIC's cores see it. */
typedef uint32_t fpspin_addr_t;

struct mem_area {
    fpspin_addr_t addr;
    uint32_t size;
};

/* ---- What handlers and host program share in NIC memory (handlers: pspin.h). ---- */

#define MAX_COUNTERS 16

typedef struct perf_counter {
    uint32_t sum;
    uint32_t count;
} fpspin_counter_t;
static_assert(sizeof(fpspin_counter_t) == sizeof(uint64_t), "a counter is read as one word");

struct host_data {
    uint64_t flag[NUM_HPUS];
    struct perf_counter counters[MAX_COUNTERS];
};

/* What an HPU writes into the first eight bytes of its page, and what it gets as an answer. */
typedef struct {
    union {
        struct {
            uint8_t dma_id; /* counts up with each request of an HPU */
            uint32_t len;
            uint16_t hpu_id;
        } __attribute__((packed));
        uint64_t data;
    };
} fpspin_flag_t;
static_assert(sizeof(fpspin_flag_t) == sizeof(uint64_t), "a flag is written as one word");

/* ---- Rules: which packets a context gets. ---- */

#define NUM_RULES_PER_RULESET 4
#define NUM_RULESETS 4

/* Matches when start <= (word & mask) <= end, of the big-endian word at byte 4 * idx. */
struct fpspin_rule {
    int idx;
    uint32_t mask;
    uint32_t start;
    uint32_t end;
};
typedef struct fpspin_rule fpspin_rule;

/* Rules 0 to 2 choose packets, all or one of them; rule 3 tells a message's last packet. */
typedef struct {
    struct fpspin_rule r[NUM_RULES_PER_RULESET];
    enum {
        FPSPIN_MODE_AND,
        FPSPIN_MODE_OR,
    } mode;
} fpspin_ruleset_t;

#define FPSPIN_RULE(i, m, s, e) \
    ((struct fpspin_rule){ .idx = (i), .mask = (m), .start = (s), .end = (e) })
#define FPSPIN_RULE_EMPTY FPSPIN_RULE(0, 0, 0, 0)
#define FPSPIN_RULE_FALSE FPSPIN_RULE(0, 0, 1, 0)
#define FPSPIN_RULE_IP FPSPIN_RULE(3, 0xffff0000, 0x08000000, 0x08000000)
#define FPSPIN_RULE_IP_PROTO(num) FPSPIN_RULE(5, 0xff, (num), (num))
#define FPSPIN_RULE_UDP_SPORT(num) FPSPIN_RULE(8, 0xffff, (num), (num))
#define FPSPIN_RULE_UDP_DPORT(num) \
    FPSPIN_RULE(9, 0xffff0000, (uint32_t)(num) << 16, (uint32_t)(num) << 16)

/* No packet; every packet; UDP datagrams; SLMP's, whose messages end with EOM. */
void fpspin_ruleset_bypass(fpspin_ruleset_t *rs);
void fpspin_ruleset_match(fpspin_ruleset_t *rs);
void fpspin_ruleset_udp(fpspin_ruleset_t *rs);
void fpspin_ruleset_slmp(fpspin_ruleset_t *rs);

/* Changes the ruleset of a context that this program holds, while packets come in. */
bool fpspin_set_me_ruleset(int ctx_id, const fpspin_ruleset_t *rs);

/* Changes the rulesets of the contexts this program holds, from the first on; those of its contexts
 * that get none here match nothing from now on. */
bool fpspin_prog_me(const fpspin_ruleset_t *rs, int num_rs);

/* Chooses the NIC that the two functions above mean, where a program holds contexts of several: a
 * device as fpspin_init takes it. Without, it is the one of the last fpspin_init. The text must
 * last. (On the published NIC: the folder of its registers.) */
void fpspin_set_regs_base(const char *rbase);
const char *fpspin_get_regs_base(void);

/* ---- Contexts. ---- */

typedef struct {
    int ctx_id;
    int fd; /* the connection to the NIC */
    void *cpu_addr; /* host memory that handlers reach: page h belongs to HPU h */
    size_t mmap_len;
    uint8_t dma_idx[NUM_HPUS]; /* last request seen of each HPU */
    union {
        struct host_data *pspin_host_data; /* an address in NIC memory, not here */
        uint64_t host_data_ptr;
    };
    struct mem_area hh, ph, th; /* the handlers found in the image; size 0: none */
    struct mem_area handler_mem;
    void *app_data; /* the program's own: no function here touches it */
    void *link; /* the library's own (an addition) */
} fpspin_ctx_t;

#define FPSPIN_HOSTDMA_PAGES_DEFAULT 16

/* Attaches to context `dest_ctx` of the NIC, loads the handlers of the ELF `img`, programs rulesets
 * and makes packets come. Rulesets beyond the first take the contexts that follow, for the same
 * handlers. `hostdma_pages` pages of 4 KiB are shared with the handlers, at least one for each HPU;
 * those from NUM_HPUS on are the application's. */
bool fpspin_init(fpspin_ctx_t *ctx, const char *dev, const char *img, int dest_ctx,
                 const fpspin_ruleset_t *rs, int num_rs, int hostdma_pages);

/* Gives everything back. The end of the program does so as well. */
void fpspin_exit(fpspin_ctx_t *ctx);

/* Loads another image into a context that is attached and makes packets come again. Handlers reach
 * `hostmem_size` bytes from `hostmem_ptr` on, which lies in the memory at cpu_addr; 0, 0: none. */
bool fpspin_load(fpspin_ctx_t *ctx, const char *elf, uint64_t hostmem_ptr, uint32_t hostmem_size);

/* Makes packets come no more and ends the context's handlers; it stays attached. */
bool fpspin_unload(fpspin_ctx_t *ctx);

/* ---- Requests of handlers (handlers: spin_host.h). ---- */

/* Returns the payload of an HPU's new request and its flag, or NULL when there is none. */
volatile void *fpspin_pop_req(fpspin_ctx_t *ctx, int hpu_id, fpspin_flag_t *f);

/* Answers the HPU's last request; `flag` carries what the handler gets in `len`. */
bool fpspin_push_resp(fpspin_ctx_t *ctx, int hpu_id, fpspin_flag_t flag);

/* ---- NIC memory and counters. ---- */

/* Copies to or from NIC memory: L1, L2 or program memory. Reading is an addition. */
bool fpspin_write_memory(fpspin_ctx_t *ctx, fpspin_addr_t pspin_addr, void *host_addr, size_t len);
bool fpspin_read_memory(fpspin_ctx_t *ctx, void *host_addr, fpspin_addr_t pspin_addr, size_t len);

/* Returns what handlers pushed into a counter; zeros when it cannot be read. */
fpspin_counter_t fpspin_get_counter(fpspin_ctx_t *ctx, int id);
void fpspin_clear_counter(fpspin_ctx_t *ctx, int id);

/* Returns the mean of what was pushed, not a number when nothing was; the second one that of
 * counter 0, as a whole number, 0 when nothing was. */
double fpspin_get_cycles(fpspin_ctx_t *ctx, int id);
uint32_t fpspin_get_avg_cycles(fpspin_ctx_t *ctx);

/* Prints bytes to standard output, 16 in a line. */
void hexdump(const volatile void *data, size_t size);

#ifdef __cplusplus
}
#endif

#endif
