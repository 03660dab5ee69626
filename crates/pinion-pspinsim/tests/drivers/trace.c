/* A packet trace from files; handlers copy the packets to host memory, which is this program's.
 * The simulation runs cycle by cycle.
 *
 *     trace move.elf FOLDER
 */
#include "check.h"

#define PACKETS 50
#define BYTES 300

static uint8_t data[PACKETS][BYTES];
static uint8_t host[BYTES];
static size_t written;
static int completed, pieces;

static void host_write(uint64_t address, uint8_t *bytes, size_t length)
{
    CHECK(length > 0 && length <= 64 && address % 64 + length <= 64);
    CHECK(address >= PCIE_START_ADDR && address + length <= PCIE_START_ADDR + BYTES);
    memcpy(host + (address - PCIE_START_ADDR), bytes, length);
    written += length;
    pieces++;
}

static void feedback(uint64_t user, uint64_t nic_arrival, uint64_t pspin_arrival, uint64_t now)
{
    CHECK(user == 0 && nic_arrival < pspin_arrival && pspin_arrival < now);
    /* Pauses of 1000 cycles: the packets come one after the other. */
    CHECK(nic_arrival == 1000000ull * (uint64_t)completed);
    CHECK(memcmp(host, data[completed], BYTES) == 0);
    completed++;
}

static void write_trace(const char *folder, spin_nic_addr_t handler)
{
    char path[1024];

    snprintf(path, sizeof(path), "%s/packets.csv", folder);
    FILE *lines = fopen(path, "w");
    snprintf(path, sizeof(path), "%s/packets.bin", folder);
    FILE *bytes = fopen(path, "wb");
    for (int i = 0; i < PACKETS; i++) {
        for (int at = 0; at < BYTES; at++)
            data[i][at] = (uint8_t)random_word();
        fprintf(lines, "%d,0,0,%u,4096,0,0,%u,%u,%d,%d,%d,1000\n", i % 7, handler, HANDLER_MEMORY,
                HANDLER_MEMORY_BYTES, BYTES, BYTES, i + 7 >= PACKETS);
        fwrite(data[i], 1, BYTES, bytes);
    }
    fclose(lines);
    fclose(bytes);
}

int main(int argc, char **argv)
{
    char lines[1024], bytes[1024];
    uint8_t done = 0;
    long cycles = 0;

    CHECK(argc == 3);
    write_trace(argv[2], handler(argv[1], "to_host_l2"));
    CHECK(pspinsim_init(argc, argv, NULL) == SPIN_SUCCESS);
    CHECK(pspinsim_init(argc, argv, NULL) == SPIN_ERR);
    CHECK(pspinsim_cb_set_pcie_slv_write(host_write) == SPIN_SUCCESS);
    CHECK(pspinsim_cb_set_pkt_feedback(feedback) == SPIN_SUCCESS);
    snprintf(lines, sizeof(lines), "%s/packets.csv", argv[2]);
    snprintf(bytes, sizeof(bytes), "%s/packets.bin", argv[2]);
    CHECK(pspinsim_packet_trace_read(lines, bytes) == SPIN_SUCCESS);
    CHECK(pspinsim_packet_trace_read(lines, lines) == SPIN_ERR); /* too few bytes */
    CHECK(pspinsim_packet_trace_read(bytes, bytes) == SPIN_ERR);
    CHECK(pspinsim_packet_eos() == SPIN_SUCCESS);
    while (!done) {
        CHECK(pspinsim_run_tick(&done) == SPIN_SUCCESS);
        cycles++;
    }
    CHECK(completed == PACKETS && written == PACKETS * BYTES && pieces == PACKETS * 5);
    CHECK(cycles > 49000 && cycles < 49200);
    printf("%d packets in %ld cycles\n", completed, cycles);
    CHECK(pspinsim_fini() == SPIN_SUCCESS);
    return failures != 0;
}
