/* Handlers in the published style that use every name of the interface and check what it did. Each
 * writes the number of the first check that failed, 0 for none, to a word of host memory of its own:
 * header 0, payload 8 × (1 + packet), completion 0x100; and lines to standard output. */
#include <handler.h>
#include <packets.h>
#include <spin_conf.h>
#include <spin_dma.h>
#include <string.h>

#define PACKETS 8
#define COPIED 256

#define EXPECT(condition)              \
    do {                               \
        step++;                        \
        if (!(condition) && !failed)   \
            failed = step;             \
    } while (0)

typedef struct shared {
    volatile uint32_t count;
    volatile uint32_t turns;
    spin_lock_t lock;
    spin_rw_lock_t rw;
    volatile futex_t futex;
    volatile int32_t numbers[8];
} shared_t;

volatile
    __attribute__((section(".l2_handler_data"))) uint8_t handler_mem[] = { 0xde, 0xad, 0xbe, 0xef };
uint32_t tiny __attribute__((section(".data_tiny_l1"))) = 0x1234;
uint32_t zeroed[4];
uint32_t initialised[2] = { 1, 2 };
static volatile uint32_t init_calls;

static uint64_t host_address(task_t *task)
{
    uint64_t address = task->host_mem_high;

    return address << 32 | task->host_mem_low;
}

static void report(task_t *task, uint32_t offset, uint32_t failed)
{
    spin_cmd_t cmd;

    spin_write_to_host(host_address(task) + offset, (uint64_t)failed | 1ull << 32, &cmd);
    spin_cmd_wait(cmd);
}

/* Locks and atomics, with nobody else about. */
static uint32_t check_locks(shared_t *s)
{
    uint32_t step = 0, failed = 0;

    EXPECT(spin_lock_init(&s->lock) == SPIN_OK);
    EXPECT(spin_lock_try_lock(&s->lock) && !spin_lock_try_lock(&s->lock));
    EXPECT(spin_lock_unlock(&s->lock) == SPIN_OK);
    EXPECT(spin_lock_lock(&s->lock) == SPIN_OK && !spin_lock_try_lock(&s->lock));
    spin_lock_unlock(&s->lock);
    EXPECT(spin_rw_lock_r_lock(&s->rw) == SPIN_OK && spin_rw_lock_r_lock(&s->rw) == SPIN_OK);
    EXPECT(s->rw.num_readers == 2 && !spin_lock_try_lock(&s->rw.glock));
    spin_rw_lock_r_unlock(&s->rw);
    spin_rw_lock_r_unlock(&s->rw);
    EXPECT(spin_rw_lock_w_lock(&s->rw) == SPIN_OK && !spin_lock_try_lock(&s->rw.glock));
    EXPECT(spin_rw_lock_w_unlock(&s->rw) == SPIN_OK && spin_lock_try_lock(&s->rw.glock));
    spin_lock_unlock(&s->rw.glock);
    futex_init(&s->futex);
    EXPECT(futex_try_lock(&s->futex) && !futex_try_lock(&s->futex));
    futex_unlock(&s->futex);
    futex_lock(&s->futex);
    EXPECT(!futex_try_lock(&s->futex));
    futex_unlock(&s->futex);
    futex_lock_s(&s->futex);
    EXPECT(!futex_try_lock(&s->futex));
    futex_unlock(&s->futex);
    return failed;
}

static uint32_t check_atomics(volatile int32_t *n)
{
    uint32_t step = 0, failed = 0;

    *n = 5;
    EXPECT((int32_t)amo_swap(n, 6) == 5 && *n == 6);
    amo_store(n, 7);
    EXPECT(*n == 7);
    EXPECT((int32_t)amo_add(n, -9) == 7 && *n == -2);
    EXPECT((int32_t)amo_and(n, 0xff) == -2 && *n == 0xfe);
    EXPECT((int32_t)amo_or(n, 1) == 0xfe && *n == 0xff);
    EXPECT((int32_t)amo_xor(n, 0xf0) == 0xff && *n == 0xf);
    EXPECT((int32_t)amo_max(n, -1) == 0xf && *n == 0xf);
    EXPECT((int32_t)amo_min(n, -1) == 0xf && *n == -1);
    EXPECT((int32_t)amo_maxu(n, 3) == -1 && *n == -1);
    EXPECT((int32_t)amo_minu(n, 3) == -1 && *n == 3);
    while (store_conditional(n, load_reserved(n) + 1)) {
    }
    EXPECT(*n == 4);
    compare_and_swap(n, 4, 9);
    EXPECT(*n == 9);
    compare_and_swap(n, 4, 11);
    EXPECT(*n == 9);
    return failed;
}

static uint32_t check_macros(void)
{
    uint32_t step = 0, failed = 0, id, label = 3;

    EXPECT(MIN(2, 3) == 2 && MAX(2, 3) == 3 && DIV_CEIL(7, 4) == 2 && ALIGN_UP(65, 64) == 128);
    EXPECT(FAST_DIV(256, 4) == 16 && FAST_MOD(77, 16) == 13);
    EXPECT(STRINGIFY(text)[0] == 't');
    read_register(tp, id);
    EXPECT(rt_core_id() == (id & 0x1f) && rt_cluster_id() == (id >> 5));
    write_register(t3, label);
    EXPECT(CORE_COUNT == NB_CORES * NB_CLUSTERS && NUM_CLUSTER_HPUS == NB_CORES && PKT_SIZE > 0);
    EXPECT(zeroed[1] == 0 && initialised[1] == 2 && tiny == 0x1234);
    EXPECT(handler_mem[0] == 0xde && handler_mem[3] == 0xef);
    EXPECT(init_calls == 1);
    rt_time_wait_cycles(50);
    asm_mem_fence();
    LABEL(names_label);
    ASSERT(failed == 0);
    DEBUG_PRINT("nothing\n");
    return failed;
}

__handler__ void names_hh(handler_args_t *args)
{
    task_t *task = args->task;
    shared_t *s = (shared_t *)task->scratchpad[0];
    uint32_t locks = check_locks(s), atomics, macros;

    memset((void *)s, 0, sizeof(*s));
    atomics = check_atomics(&s->numbers[0]);
    macros = check_macros();
    printf("header %u %u %u on %u.%u\n", (unsigned)locks, (unsigned)atomics, (unsigned)macros,
           (unsigned)args->cluster_id, (unsigned)args->hpu_id);
    report(task, 0, locks | atomics << 8 | macros << 16);
}

/* Copies through both ports of the cluster's DMA engine, and back. */
static uint32_t check_dma(handler_args_t *args, uint8_t *payload)
{
    uint32_t step = 0, failed = 0, done = 0;
    uint8_t *local = (uint8_t *)args->task->scratchpad[args->cluster_id] + 1024 * (1 + args->hpu_id);
    uint8_t *remote = (uint8_t *)args->task->handler_mem + 1024 * args->hpu_gid;
    spin_dma_t xfer;

    EXPECT(spin_dma(payload, remote, COPIED, SPIN_DMA_LOC2EXT, 0, &xfer) == SPIN_OK);
    EXPECT(spin_dma_wait(xfer) == SPIN_OK);
    EXPECT(spin_dma(remote, local, COPIED, SPIN_DMA_EXT2LOC, 0, &xfer) == SPIN_OK);
    do {
        spin_dma_test(xfer, &done);
    } while (!done);
    EXPECT(memcmp(local, payload, COPIED) == 0);
    EXPECT(spin_dma(local, local, 0, SPIN_DMA_EXT2LOC, 0, &xfer) == SPIN_FAIL);
    memset(local, 0, COPIED);
    spin__memcpy(remote, local, 64);
    EXPECT(memcmp(local, payload, 64) == 0 && local[64] == 0);
    xfer = spin__memcpy_nonblk(remote + 64, local + 64, 64);
    spin__wait_for_tf_completion(xfer);
    EXPECT(spin__tf_completed(xfer) && memcmp(local, payload, 128) == 0);
    return failed;
}

/* The public port is the cluster's: its turns are taken under a lock. */
static uint32_t check_public_dma(handler_args_t *args, uint8_t *payload)
{
    uint32_t step = 0, failed = 0, cluster = args->cluster_id;
    shared_t *s = (shared_t *)args->task->scratchpad[cluster];
    uint8_t *local = (uint8_t *)s + 1024 * (1 + args->hpu_id);
    uint32_t xfer;

    memset(local, 0, COPIED);
    futex_lock_s(&s->futex);
    xfer = spin__public_memcpy_nonblk(payload, local, 64, cluster);
    spin__public_wait_for_tf_completion(xfer, cluster);
    EXPECT(spin__public_tf_completed(xfer, cluster) && memcmp(local, payload, 64) == 0);
    spin__public_memcpy(payload + 64, local + 64, 64, cluster);
    futex_unlock(&s->futex);
    EXPECT(memcmp(local, payload, 128) == 0);
    return failed;
}

static uint32_t check_commands(handler_args_t *args, uint8_t *payload, uint32_t id)
{
    task_t *task = args->task;
    uint32_t step = 0, failed = 0;
    uint8_t *local = (uint8_t *)task->scratchpad[args->cluster_id] + 1024 * (1 + args->hpu_id);
    uint64_t host = host_address(task) + 0x1000 + 0x400 * id;
    bool completed = false;
    spin_cmd_t cmd;

    EXPECT(spin_dma_to_host(host, (uint32_t)(uintptr_t)payload, COPIED, 1, &cmd) == SPIN_OK);
    do {
        spin_cmd_test(cmd, &completed);
    } while (!completed);
    EXPECT(spin_dma_from_host(host, (uint32_t)(uintptr_t)local, COPIED, 0, &cmd) == SPIN_OK);
    EXPECT(spin_cmd_wait(cmd) == SPIN_OK);
    for (uint32_t i = 0; i < COPIED; i++)
        EXPECT(local[i] == (uint8_t)(payload[i] ^ 0x55)); /* the host gives it so */
    spin_host_write(host + 0x200, 0x0102030405060708ull, &cmd);
    spin_cmd_wait(cmd);
    spin_rdma_put(1, payload, 64, &cmd);
    spin_cmd_wait(cmd);
    return failed;
}

static uint32_t check_task(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t step = 0, failed = 0;

    EXPECT(args->hpu_gid == args->cluster_id * NB_CORES + args->hpu_id);
    EXPECT(MMIO_READ(HWSCHED_FLOW_ID) == task->flow_id);
    EXPECT(MMIO_READ(HWSCHED_PKT_ADDR) == (uint32_t)(uintptr_t)task->pkt_mem);
    EXPECT(MMIO_READ(HWSCHED_PKT_SIZE) == task->pkt_mem_size);
    EXPECT(MMIO_READ(HWSCHED_HANDLER_MEM_SIZE) == task->handler_mem_size);
    EXPECT(MMIO_READ(HWSCHED_HOST_L2_PKT_ADDR) == (uint32_t)(uintptr_t)task->l2_pkt_mem);
    EXPECT(task->home_cluster_id == task->flow_id % NB_CLUSTERS);
    EXPECT(task->scratchpad_size[0] >= 16384 && task->host_mem_size >= 0x10000);
    EXPECT(memcmp(task->pkt_mem, task->l2_pkt_mem, 64) == 0);
    return failed;
}

__handler__ void names_ph(handler_args_t *args)
{
    task_t *task = args->task;
    ip_hdr_t *ip = (ip_hdr_t *)task->pkt_mem;
    udp_hdr_t *udp = (udp_hdr_t *)((uint8_t *)task->pkt_mem + ip->ihl * 4);
    uint8_t *payload;
    uint32_t payload_len, failed, address;
    shared_t *s = (shared_t *)task->scratchpad[0];
    spin_cmd_t cmd;

    GET_IP_UDP_PLD(task->pkt_mem, payload, payload_len);
    failed = check_task(args);
    if (payload_len != ip->length - sizeof(pkt_hdr_t) || udp->dst_port != 4000)
        failed |= 0xff;
    failed |= check_dma(args, payload) << 8;
    failed |= check_public_dma(args, payload) << 16;
    failed |= check_commands(args, payload, ip->identification) << 20;
    amo_add(&s->count, 1);
    spin_lock_lock(&s->lock);
    s->turns++;
    spin_lock_unlock(&s->lock);
    address = ip->source_id;
    ip->source_id = ip->dest_id;
    ip->dest_id = address;
    SPIN_PRINTF("packet %d\n", ip->identification);
    spin_send_packet(task->pkt_mem, task->pkt_mem_size, &cmd);
    spin_cmd_wait(cmd);
    report(task, 8 * (1 + ip->identification), failed);
}

__handler__ void names_th(handler_args_t *args)
{
    task_t *task = args->task;
    shared_t *s = (shared_t *)task->scratchpad[0];
    uint32_t failed = s->count != PACKETS || s->turns != PACKETS;

    MMIO_WRITE(CMD_WORD0, 0);
    assert(task != NULL);
    printf("completion %llu %s %#x\n", 1ull << 40, "text", 255);
    report(task, 0x100, failed);
}

/* Machine mode only: not called. */
void machine_mode(void) __attribute__((used));
void machine_mode(void)
{
    uint32_t value;

    read_csr(mhartid, value);
    write_csr(mscratch, value);
    clear_csr(mstatus, value);
    if (value == PULP_CSR_MHARTID)
        TERMINATE
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr)
{
    volatile handler_fn handlers[] = { names_hh, names_ph, names_th };
    *hh = handlers[0];
    *ph = handlers[1];
    *th = handlers[2];
    *handler_mem_ptr = (void *)handler_mem;
    init_calls++;
}
