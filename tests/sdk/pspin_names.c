/* Uses every name of the PsPIN handler interface the way existing sources do; it must compile
 * without change. */
#include <handler.h>
#include <packets.h>
#include <spin_conf.h>
#include <spin_dma.h>

#define NUM_CLUSTERS 4
#define TABLE_WORDS 64
#define EVERYTHING_USED(x) ((void)(x))

volatile
    __attribute__((section(".l2_handler_data"))) uint8_t handler_mem[] = { 0xde, 0xad, 0xbe, 0xef };
uint32_t tiny __attribute__((section(".data_tiny_l1"))) = 0x1234;
uint32_t zeroed[4];
uint32_t initialised[2] = { 1, 2 };

typedef struct state {
    volatile spin_lock_t lock;
    volatile uint32_t head_lock;
    spin_rw_lock_t rw;
    volatile int32_t counters[4];
    futex_t futex;
} state_t;

typedef void(*entry_t());

void callable(void) __attribute__((used));
void callable(void)
{
    printf("callable\n");
}

float scale(float x)
{
    return x * 1.5f + 1.0f;
}

__handler__ void names_hh(handler_args_t *args)
{
    state_t *state = (state_t *)(args->task->scratchpad[0]);

    spin_lock_init(&state->lock);
    state->lock = 0;
    if (spin_lock_try_lock(&state->lock))
        spin_lock_unlock(&state->lock);
    spin_lock_lock(&state->head_lock);
    spin_lock_unlock(&state->head_lock);
    spin_rw_lock_r_lock(&state->rw);
    spin_rw_lock_r_unlock(&state->rw);
    spin_rw_lock_w_lock(&state->rw);
    spin_rw_lock_w_unlock(&state->rw);
    futex_init(&state->futex);
    futex_try_lock(&state->futex);
    futex_unlock(&state->futex);
    futex_lock(&state->futex);
    futex_unlock(&state->futex);
    futex_lock_s(&state->futex);
    futex_unlock(&state->futex);
    printf("%d %#x %ld %lu %p %s %llu\n", args->cluster_id, args->task->pkt_mem,
           args->task->pkt_mem_size, args->task->flow_id, state, "text", 1ull << 40);
    SPIN_PRINTF("value %d\n", 1);
    DEBUG_PRINT("nothing\n");
    ASSERT(state != NULL);
    LABEL(names_label);
}

__handler__ void names_ph(handler_args_t *args)
{
    task_t *task = args->task;
    ip_hdr_t *ip_hdr = (ip_hdr_t *)(task->pkt_mem);
    udp_hdr_t *udp_hdr = (udp_hdr_t *)(((uint8_t *)(task->pkt_mem)) + ip_hdr->ihl * 4);
    uint8_t *payload;
    uint32_t payload_len;
    uint32_t *words = args->task->pkt_mem;
    uint32_t first = *(uint32_t *)(task->pkt_mem + sizeof(pkt_hdr_t));
    volatile int32_t *sums = (int32_t *)(task->scratchpad[args->cluster_id]);
    uint32_t *table = (uint32_t *)task->handler_mem;
    uint16_t narrow = task->pkt_mem_size;
    entry_t **functions = (entry_t **)args->task->handler_mem;
    spin_cmd_t cmd;
    spin_dma_t xfer;
    uint32_t dma_done;
    bool completed = false;

    GET_IP_UDP_PLD(task->pkt_mem, payload, payload_len);
    uint32_t id = ip_hdr->source_id;
    ip_hdr->source_id = ip_hdr->dest_id;
    ip_hdr->dest_id = id;
    uint16_t port = udp_hdr->src_port;
    udp_hdr->src_port = udp_hdr->dst_port;
    udp_hdr->dst_port = port;

    uint64_t host_address = task->host_mem_high;
    host_address = (host_address << 32) | (task->host_mem_low);
    spin_dma_to_host(host_address, (uint32_t)task->pkt_mem, ip_hdr->length, 1, &cmd);
    do {
        spin_cmd_test(cmd, &completed);
    } while (!completed);
    spin_dma_to_host(host_address, task->l2_pkt_mem, task->pkt_mem_size, 0, &cmd);
    spin_cmd_wait(cmd);
    spin_dma_from_host(host_address, (uint32_t)payload, payload_len, 1, &cmd);
    spin_cmd_wait(cmd);
    spin_send_packet(payload, payload_len, &cmd);
    spin_rdma_put(1, payload, payload_len, &cmd);
    spin_write_to_host(host_address, 0x0102030405060708ull, &cmd);
    spin_host_write(host_address, (uint64_t)1, false);

    if (spin_dma((void *)table, (void *)task->scratchpad[args->cluster_id], 64, SPIN_DMA_EXT2LOC, 0,
                 &xfer) == SPIN_OK)
        spin_dma_wait(xfer);
    spin_dma((void *)task->scratchpad[args->cluster_id], (void *)table, 64, SPIN_DMA_LOC2EXT, 0,
             &xfer);
    spin_dma_test(xfer, &dma_done);
    xfer = spin__memcpy_nonblk(table, payload, 4);
    spin__wait_for_tf_completion(xfer);
    EVERYTHING_USED(spin__tf_completed(xfer));
    spin__memcpy(table, payload, 4);
    xfer = spin__public_memcpy_nonblk(table, payload, 4, 0);
    spin__public_wait_for_tf_completion(xfer, 0);
    EVERYTHING_USED(spin__public_tf_completed(xfer, 0));
    spin__public_memcpy(table, payload, 4, 0);

    for (uint32_t i = 0; i < payload_len / 4; i++)
        amo_add(&(sums[i]), words[i]);
    amo_swap(&table[0], 1);
    amo_store(&table[0], 1);
    amo_and(&table[0], 1);
    amo_or(&table[0], 1);
    amo_xor(&table[0], 1);
    amo_max(&sums[0], -1);
    amo_min(&sums[0], -1);
    amo_maxu(&table[0], 1);
    amo_minu(&table[0], 1);
    while (store_conditional(&table[1], load_reserved(&table[1]) + 1)) {
    }
    compare_and_swap(&table[1], 1, 2);
    rt_time_wait_cycles(100);
    asm_mem_fence();
    table[FAST_MOD(first, TABLE_WORDS)] =
        FAST_DIV(first, 2) + DIV_CEIL(first, 3u) + MIN(first, 4u) + MAX(first, 5u);
    table[1] = ALIGN_UP(first, 64) + narrow + handler_mem[0] + tiny + zeroed[1] + initialised[1];
    table[2] = rt_core_id() + NB_CORES * rt_cluster_id() + CORE_COUNT + NB_CLUSTERS +
               NUM_CLUSTER_HPUS + PKT_SIZE;
    table[3] = (uint32_t)scale((float)first);
    (void)(functions[0])();
}

__handler__ void names_th(handler_args_t *args)
{
    uint32_t id;
    uint64_t big = args->task->host_mem_low * 1000003ull;

    read_register(tp, id);
    write_register(t3, id);
    MMIO_WRITE(CMD_INFO, MMIO_READ(HWSCHED_FLOW_ID));
    printf("%llu %s\n", big / (id + 3ull) % 1000ull, STRINGIFY(name));
    assert(id < 1000);
    if (id == 999)
        TERMINATE
}

void machine_mode(void)
{
    uint32_t value;

    read_csr(mhartid, value);
    write_csr(mscratch, value);
    clear_csr(mstatus, value);
    EVERYTHING_USED(PULP_CSR_MHARTID);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr)
{
    volatile handler_fn handlers[] = { names_hh, names_ph, names_th };
    *hh = handlers[0];
    *ph = handlers[1];
    *th = handlers[2];
    *handler_mem_ptr = (void *)handler_mem;
}
