/* A program of several cores, with threads on each, that takes its variant from its arguments. Calls
 * inet_pton4 and swap32 without declaring them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>

#include "lnic.h"
#include "lnic-scheduler.h"

#define NCORES 4
#define PEER 0x0a000001

bool is_single_core() { return false; }

volatile bool is_up;
__thread int mine = 3;
static __thread uint64_t counted[4];

typedef struct {
    volatile unsigned int lock;
} spinlock_t;

static spinlock_t lock;

static void take(spinlock_t *l)
{
    int busy, one = 1;
    do {
        asm volatile ("amoswap.w.aq %0, %2, %1" : "=r"(busy), "+A"(l->lock) : "r"(one) : "memory");
    } while (busy);
}

static void give(spinlock_t *l)
{
    asm volatile ("amoswap.w.rl x0, x0, %0" : "=A"(l->lock) :: "memory");
}

void announce(int cid, uint64_t context_id)
{
    uint64_t ip = PEER;
    uint64_t app_hdr = (ip << 32) | (0 << 16) | (2*8);
    lnic_write_r(app_hdr);
    lnic_write_r(cid);
    lnic_write_r(context_id);
}

int node(uint64_t argc, char** argv, int cid, int nc, uint64_t context_id, uint64_t priority)
{
    announce(cid, context_id);
    while (1) {
        lnic_wait();
        uint64_t app_hdr = lnic_read();
        uint64_t service_time = lnic_read(), sent_time = lnic_read();
        if (service_time == -1) {
            break;
        }
        if ((app_hdr & LEN_MASK) != 2*8) {
            printf("expected %d bytes, received %lu\n", 2*8, app_hdr & LEN_MASK);
            return -1;
        }
        uint64_t begin = read_csr(mcycle);
        while (read_csr(mcycle) < begin + service_time);
        counted[context_id % 4]++;
        lnic_write_r(app_hdr);
        lnic_write_r(service_time);
        lnic_write_r(sent_time);
        lnic_msg_done();
    }
    return 0;
}

int plain_thread(void)
{
    while (1) {
        lnic_wait();
        uint64_t app_hdr = lnic_read();
        lnic_write_r(app_hdr);
        for (int i = 0; i < (app_hdr & LEN_MASK) / 8; i++) {
            lnic_copy();
        }
        lnic_msg_done();
    }
    return 0;
}

int core_main(int argc, char** argv, int cid, int nc)
{
    if (argc != 4) {
        printf("needs the MAC address, the IP address and the variant\n");
        return -1;
    }
    char* nic_ip_str = argv[2];
    uint32_t nic_ip_addr_lendian = 0;
    int retval = inet_pton4(nic_ip_str, nic_ip_str + strlen(nic_ip_str), &nic_ip_addr_lendian);
    uint32_t nic_ip_addr = swap32(nic_ip_addr_lendian);
    if (retval != 1 || nic_ip_addr == 0) {
        printf("%s is no address\n", nic_ip_str);
        return -1;
    }
    take(&lock);
    is_up = true;
    mine += cid;
    give(&lock);
    if (strcmp(argv[3], "shared") == 0) {
        lnic_add_context(0, 0);
        return node(argc, argv, cid, nc, 0, 0);
    } else if (strcmp(argv[3], "threads") == 0) {
        scheduler_init();
        start_thread(node, 0, 0);
        start_thread(node, 1, 1);
        start_thread(plain_thread, 2, 1);
        scheduler_run();
    } else if (strcmp(argv[3], "timer") == 0) {
        if (cid != 0) {
            return 0;
        }
        scheduler_init();
        start_thread(node, 0, 0);
        start_thread(node, cid + 1, atol("1"));
        scheduler_run_timer();
    }
    printf("never here\n");
    return -1;
}
