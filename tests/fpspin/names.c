/* Uses every name of fpspin.h as a host program would: it compiles, or the library is no drop-in.
 * Run without arguments it checks what needs no NIC. */
#include "fpspin/fpspin.h"

#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);         \
            exit(EXIT_FAILURE);                                                     \
        }                                                                           \
    } while (0)

static bool same(struct fpspin_rule a, struct fpspin_rule b)
{
    return a.idx == b.idx && a.mask == b.mask && a.start == b.start && a.end == b.end;
}

static void headers(void)
{
    uint8_t frame[sizeof(slmp_pkt_hdr_t)] = { 0 };
    slmp_pkt_hdr_t *slmp = (slmp_pkt_hdr_t *)frame;
    pkt_hdr_t *udp = (pkt_hdr_t *)frame;
    mac_addr_t mac = { .data = { 2, 0, 0, 0, 0, 1 } };

    CHECK(sizeof(mac_addr_t) == 6 && sizeof(eth_hdr_t) == 14 && sizeof(ip_hdr_t) == 20);
    CHECK(sizeof(udp_hdr_t) == 8 && sizeof(slmp_hdr_t) == 10);
    CHECK(sizeof(pkt_hdr_t) == 42 && sizeof(slmp_pkt_hdr_t) == 52);
    slmp->eth_hdr.dest = mac;
    slmp->eth_hdr.src = mac;
    slmp->eth_hdr.length = htons(0x0800);
    slmp->ip_hdr.version = 4;
    slmp->ip_hdr.ihl = 5;
    slmp->ip_hdr.tos = 0;
    slmp->ip_hdr.length = htons(38);
    slmp->ip_hdr.identification = slmp->ip_hdr.offset = slmp->ip_hdr.checksum = 0;
    slmp->ip_hdr.ttl = 64;
    slmp->ip_hdr.protocol = 17;
    slmp->ip_hdr.source_id = slmp->ip_hdr.dest_id = htonl(0x0a0b0001);
    slmp->udp_hdr.src_port = slmp->udp_hdr.dst_port = htons(SLMP_PORT);
    slmp->udp_hdr.length = htons(18);
    slmp->udp_hdr.checksum = 0;
    slmp->slmp_hdr.flags = htons(MKEOM | MKSYN);
    slmp->slmp_hdr.msg_id = htonl(7);
    slmp->slmp_hdr.pkt_off = htonl(SLMP_PAYLOAD_SIZE);
    CHECK(frame[14] == 0x45 && frame[42] == 0xc0 && frame[47] == 7);
    CHECK(EOM(ntohs(slmp->slmp_hdr.flags)) && SYN(ntohs(slmp->slmp_hdr.flags)));
    CHECK(!ACK(ntohs(slmp->slmp_hdr.flags)) && ACK(MKACK));
    CHECK(udp->udp_hdr.dst_port == htons(9330) && udp->ip_hdr.protocol == 17);
    CHECK(udp->eth_hdr.length == htons(0x0800));
}

static void rules(void)
{
    fpspin_ruleset_t rs;
    struct fpspin_rule word = { 3, 0xffff0000, 0x08000000, 0x08000000 };
    fpspin_rule sport = FPSPIN_RULE_UDP_SPORT(53), dport = FPSPIN_RULE_UDP_DPORT(9330);

    CHECK(NUM_RULES_PER_RULESET == 4 && NUM_RULESETS == 4);
    CHECK(same(FPSPIN_RULE_IP, word));
    CHECK(same(FPSPIN_RULE_IP_PROTO(17), ((struct fpspin_rule){ 5, 0xff, 17, 17 })));
    CHECK(same(sport, ((struct fpspin_rule){ 8, 0xffff, 53, 53 })));
    CHECK(same(dport, ((struct fpspin_rule){ 9, 0xffff0000, 9330u << 16, 9330u << 16 })));
    CHECK(same(FPSPIN_RULE_EMPTY, ((struct fpspin_rule){ 0, 0, 0, 0 })));
    CHECK(same(FPSPIN_RULE_FALSE, ((struct fpspin_rule){ 0, 0, 1, 0 })));
    fpspin_ruleset_bypass(&rs);
    CHECK(same(rs.r[0], FPSPIN_RULE_FALSE) && rs.mode == FPSPIN_MODE_AND);
    fpspin_ruleset_match(&rs);
    CHECK(same(rs.r[0], FPSPIN_RULE_EMPTY) && same(rs.r[2], FPSPIN_RULE_EMPTY));
    fpspin_ruleset_udp(&rs);
    CHECK(same(rs.r[0], FPSPIN_RULE_IP) && same(rs.r[1], FPSPIN_RULE_IP_PROTO(17)));
    fpspin_ruleset_slmp(&rs);
    CHECK(same(rs.r[2], dport));
    CHECK(same(rs.r[3], ((struct fpspin_rule){ 10, 0x8000, 0x8000, 0x8000 })));
    rs.mode = FPSPIN_MODE_OR;
    CHECK(FPSPIN_MODE_AND == 0 && FPSPIN_MODE_OR == 1);
}

static void sizes(void)
{
    fpspin_flag_t flag = { .dma_id = 3, .len = 0x01020304, .hpu_id = 0x0506 };
    struct host_data *data = NULL;
    struct mem_area area = { .addr = 0x1c000000, .size = 4 };
    fpspin_addr_t address = area.addr + area.size;

    CHECK((uint8_t)flag.data == 3 && (uint32_t)(flag.data >> 8) == 0x01020304);
    CHECK((uint16_t)(flag.data >> 40) == 0x0506);
    CHECK(sizeof(*data) == NUM_HPUS * 8 + MAX_COUNTERS * sizeof(fpspin_counter_t));
    CHECK(NUM_HPUS == 16 && MAX_COUNTERS == 16 && NUM_CLUSTERS == 2);
    CHECK(PAGE_SIZE == 4096 && DMA_ALIGN == 64 && DMA_BUS_WIDTH == 512);
    CHECK(FPSPIN_HOSTDMA_PAGES_DEFAULT == 16 && L2_END == 0x1c100000UL);
    CHECK(address == 0x1c000004);
}

/* Never called without a NIC: what counts is that it compiles. */
static int with_nic(const char *device, const char *image)
{
    fpspin_ctx_t ctx;
    fpspin_ruleset_t rs[2];
    fpspin_counter_t counter;
    fpspin_flag_t flag;
    volatile uint8_t *payload;
    slmp_sock_t sock;
    uint8_t bytes[64] = { 0 };
    (void)sock;

    fpspin_ruleset_udp(&rs[0]);
    fpspin_ruleset_slmp(&rs[1]);
    ctx.app_data = bytes;
    if (!fpspin_init(&ctx, device, image, 0, rs, 2, FPSPIN_HOSTDMA_PAGES_DEFAULT + 1))
        return EXIT_FAILURE;
    CHECK(ctx.app_data == bytes);
    fpspin_set_regs_base(device);
    CHECK(!strcmp(fpspin_get_regs_base(), device));
    fpspin_set_me_ruleset(ctx.ctx_id, &rs[1]);
    fpspin_prog_me(rs, 1);
    CHECK(ctx.fd >= 0 && ctx.cpu_addr && ctx.mmap_len == 17 * PAGE_SIZE);
    CHECK(ctx.ph.size && ctx.handler_mem.size && ctx.host_data_ptr);
    CHECK((uint64_t)(uintptr_t)ctx.pspin_host_data == ctx.host_data_ptr);
    fpspin_write_memory(&ctx, ctx.handler_mem.addr, bytes, sizeof(bytes));
    for (int hpu = 0; hpu < NUM_HPUS; hpu++) {
        if (!(payload = fpspin_pop_req(&ctx, hpu, &flag)))
            continue;
        hexdump(payload, flag.len);
        fpspin_push_resp(&ctx, hpu, (fpspin_flag_t){ .len = flag.len });
    }
    counter = fpspin_get_counter(&ctx, 0);
    printf("%u %u %f %u\n", counter.sum, counter.count, fpspin_get_cycles(&ctx, 0),
           fpspin_get_avg_cycles(&ctx));
    fpspin_clear_counter(&ctx, 0);
    fpspin_unload(&ctx);
    fpspin_load(&ctx, image, (uint64_t)ctx.cpu_addr, (uint32_t)ctx.mmap_len);
    fpspin_exit(&ctx);
    return EXIT_SUCCESS;
}

/* What the program has put into a context before it is attached stays there, come what may. */
static void without_nic(void)
{
    int own = 0;
    fpspin_ctx_t ctx = { .app_data = &own };

    CHECK(!fpspin_init(&ctx, "no/such.sock", "no/such/image", 0, NULL, 0, NUM_HPUS));
    CHECK(ctx.app_data == &own && ctx.fd == -1);
}

int main(int argc, char *argv[])
{
    headers();
    rules();
    sizes();
    hexdump("0123456789abcdefg", 17);
    if (argc == 3)
        return with_nic(argv[1], argv[2]);
    without_nic();
    return EXIT_SUCCESS;
}
