/* Runs handlers.c (names_hh, names_ph, names_th) or one handler of plain.c and checks what they wrote.
 *
 *     driver handlers ELF | driver sum ELF | driver xpulp ELF
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "pspinsim.h"
#include "spin.h"

#define HOST_BYTES 0x10000
#define PACKETS 8
#define BYTES 512

static uint8_t host[HOST_BYTES], packets[PACKETS][BYTES];
static int sent, put, completed, failures;

#define CHECK(condition)                                                   \
    do {                                                                   \
        if (!(condition)) {                                                \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            failures++;                                                    \
        }                                                                  \
    } while (0)

static void host_write(uint64_t address, uint8_t *data, size_t length)
{
    CHECK(address >= PCIE_START_ADDR && address + length <= PCIE_START_ADDR + HOST_BYTES);
    memcpy(host + (address - PCIE_START_ADDR), data, length);
}

/* The host inverts some bits of what it was given. */
static void host_read(uint64_t address, uint8_t *data, size_t length)
{
    CHECK(address >= PCIE_START_ADDR && address + length <= PCIE_START_ADDR + HOST_BYTES);
    for (size_t i = 0; i < length; i++)
        data[i] = host[address - PCIE_START_ADDR + i] ^ 0x55;
}

static void packet_out(uint8_t *data, size_t length)
{
    if (length == 64) {
        put++;
        return;
    }
    CHECK(length == BYTES);
    pkt_hdr_t *header = (pkt_hdr_t *)data;
    CHECK(header->ip_hdr.source_id == 2 && header->ip_hdr.dest_id == 1);
    sent++;
}

static void feedback(uint64_t user, uint64_t nic_arrival, uint64_t pspin_arrival, uint64_t now)
{
    CHECK(user < PACKETS && nic_arrival < pspin_arrival && pspin_arrival < now);
    completed++;
}

static void make_packets(void)
{
    for (int i = 0; i < PACKETS; i++) {
        pkt_hdr_t *header = (pkt_hdr_t *)packets[i];
        for (int at = 0; at < BYTES; at++)
            packets[i][at] = (uint8_t)(at * 7 + i * 13);
        header->ip_hdr.version = 4;
        header->ip_hdr.ihl = 5;
        header->ip_hdr.length = BYTES;
        header->ip_hdr.identification = i;
        header->ip_hdr.source_id = 1;
        header->ip_hdr.dest_id = 2;
        header->udp_hdr.dst_port = 4000;
    }
}

static spin_nic_addr_t find(const char *elf, const char *name)
{
    spin_nic_addr_t address = 0;
    size_t size = 0;

    CHECK(spin_find_handler_by_name(elf, name, &address, &size) == SPIN_SUCCESS);
    return address;
}

static uint64_t word(uint32_t offset)
{
    uint64_t value;

    memcpy(&value, host + offset, 8);
    return value;
}

static uint32_t sum(const uint8_t *data)
{
    uint32_t value, result = 0;

    for (int at = 0; at < BYTES; at += 4) {
        memcpy(&value, data + at, 4);
        result = result * 31 + value / 7;
    }
    return result;
}

static void check_handlers(void)
{
    CHECK(word(0) == 1ull << 32);
    CHECK(word(0x100) == 1ull << 32);
    for (int i = 0; i < PACKETS; i++) {
        CHECK(word(8 * (1 + i)) == 1ull << 32);
        if (word(8 * (1 + i)) != 1ull << 32)
            printf("packet %d: %#llx\n", i, (unsigned long long)word(8 * (1 + i)));
        CHECK(memcmp(host + 0x1000 + 0x400 * i, packets[i] + sizeof(pkt_hdr_t), 256) == 0);
        CHECK(word(0x1200 + 0x400 * i) == 0x0102030405060708ull);
    }
    CHECK(sent == PACKETS && put == PACKETS && completed == PACKETS);
}

int main(int argc, char **argv)
{
    pspin_conf_t conf;
    spin_ec_t ec;

    assert(argc == 3);
    pspinsim_default_conf(&conf);
    conf.slm_files_path = "build/slm_files/";
    CHECK(pspinsim_init(argc, argv, &conf) == SPIN_SUCCESS);
    pspinsim_cb_set_pcie_slv_write(host_write);
    pspinsim_cb_set_pcie_slv_read(host_read);
    pspinsim_cb_set_pkt_out(packet_out);
    pspinsim_cb_set_pkt_feedback(feedback);
    make_packets();
    memset(&ec, 0, sizeof(ec));
    ec.handler_mem_addr = 0x1c300000;
    ec.handler_mem_size = 0x100000;
    ec.host_mem_addr = PCIE_START_ADDR;
    ec.host_mem_size = HOST_BYTES;
    for (int i = 0; i < NUM_CLUSTERS; i++)
        ec.scratchpad_size[i] = 64 * 1024;
    int all = strcmp(argv[1], "handlers") == 0;
    if (all) {
        ec.hh_addr = find(argv[2], "names_hh");
        ec.ph_addr = find(argv[2], "names_ph");
        ec.th_addr = find(argv[2], "names_th");
    } else {
        ec.ph_addr = find(argv[2], strcmp(argv[1], "sum") == 0 ? "sum_ph" : "xpulp_ph");
    }
    ec.hh_size = ec.ph_size = ec.th_size = 4096;
    int count = all ? PACKETS : 1;
    for (int i = 0; i < count; i++)
        CHECK(pspinsim_packet_add(&ec, 5, packets[i], BYTES, BYTES, i + 1 == count, 0, i) ==
              SPIN_SUCCESS);
    pspinsim_packet_eos();
    CHECK(pspinsim_run() == SPIN_SUCCESS);
    CHECK(pspinsim_fini() == SPIN_SUCCESS);
    if (all)
        check_handlers();
    else if (strcmp(argv[1], "sum") == 0)
        CHECK(word(0) == sum(packets[0]));
    else
        CHECK(word(0) == 30);
    printf("checked %d packets, %d failures\n", count, failures);
    return failures != 0;
}
