/* Random packets of many messages, sent back by their handler with two words swapped.
 *
 * The handler memory is written first; its completion starts the packets, half of them; each
 * feedback adds one more, until all are through. What leaves is compared with what came in.
 *
 *     mirror move.elf
 */
#include "check.h"

#define PACKETS 600
#define AT_FIRST 300
#define MESSAGES 40
#define LARGEST 1024

typedef struct {
    uint8_t data[LARGEST];
    size_t length;
    uint32_t message;
    uint8_t last;
    int sent_back, fed_back;
} packet_t;

static packet_t packets[PACKETS];
static spin_ec_t ec;
static uint8_t image[4096], copy[4096];
static int added, left, completed, writes, reads;
static uint64_t last_feedback;

static void add_next(void)
{
    packet_t *packet = &packets[added++];

    CHECK(pspinsim_packet_add(&ec, packet->message, packet->data, packet->length, packet->length,
                              packet->last, random_word() % 20,
                              (uint64_t)(uintptr_t)packet) == SPIN_SUCCESS);
    if (added == PACKETS)
        CHECK(pspinsim_packet_eos() == SPIN_SUCCESS);
}

static void write_done(void *user)
{
    CHECK(user == (void *)image);
    writes++;
    while (added < AT_FIRST)
        add_next();
}

static void read_done(void *user)
{
    CHECK(user == (void *)copy);
    CHECK(memcmp(image, copy, sizeof(image)) == 0);
    reads++;
}

/* Swaps words 3 and 4, as the handler does. */
static void swap(uint8_t *data)
{
    uint8_t word[4];

    memcpy(word, data + 12, 4);
    memcpy(data + 12, data + 16, 4);
    memcpy(data + 16, word, 4);
}

static void packet_out(uint8_t *data, size_t length)
{
    uint32_t number;

    CHECK(length >= 64 && length <= LARGEST);
    memcpy(&number, data, 4);
    CHECK(number < PACKETS);
    if (number >= PACKETS)
        return;
    packet_t *packet = &packets[number];
    swap(data);
    CHECK(length == packet->length && memcmp(data, packet->data, length) == 0);
    CHECK(!packet->sent_back);
    packet->sent_back = 1;
    left++;
}

static void feedback(uint64_t user, uint64_t nic_arrival, uint64_t pspin_arrival, uint64_t now)
{
    packet_t *packet = (packet_t *)(uintptr_t)user;

    CHECK(packet >= packets && packet < packets + PACKETS);
    CHECK(nic_arrival < pspin_arrival && pspin_arrival < now);
    CHECK(now % 1000 == 0);
    CHECK(now >= last_feedback);
    CHECK(!packet->fed_back);
    last_feedback = now;
    packet->fed_back = 1;
    completed++;
    if (added < PACKETS)
        add_next();
    if (completed == PACKETS / 2)
        CHECK(spin_nicmem_read(HANDLER_MEMORY, copy, sizeof(copy), copy) == SPIN_SUCCESS);
    /* A callback may not run what runs it. */
    if (completed == 1)
        CHECK(pspinsim_run() == SPIN_ERR);
}

static void make_packets(void)
{
    for (uint32_t i = 0; i < PACKETS; i++) {
        packet_t *packet = &packets[i];
        packet->length = 64 + random_word() % (LARGEST - 63);
        packet->message = i % MESSAGES;
        packet->last = i + MESSAGES >= PACKETS;
        for (size_t at = 0; at < packet->length; at++)
            packet->data[at] = (uint8_t)random_word();
        memcpy(packet->data, &i, 4);
    }
    for (size_t at = 0; at < sizeof(image); at++)
        image[at] = (uint8_t)random_word();
}

int main(int argc, char **argv)
{
    pspin_conf_t conf;

    CHECK(argc == 2);
    CHECK(pspinsim_default_conf(&conf) == SPIN_SUCCESS);
    CHECK(conf.no_conf.max_pkt_size == 2048 && conf.pcie_slv_conf.pcie_L == 2);
    CHECK(pspinsim_init(argc, argv, &conf) == SPIN_SUCCESS);
    CHECK(pspinsim_cb_set_pkt_out(packet_out) == SPIN_SUCCESS);
    CHECK(pspinsim_cb_set_pkt_feedback(feedback) == SPIN_SUCCESS);
    CHECK(pspinsim_cb_set_pcie_mst_write_completion(write_done) == SPIN_SUCCESS);
    CHECK(pspinsim_cb_set_pcie_mst_read_completion(read_done) == SPIN_SUCCESS);
    make_packets();
    ec = plain_context();
    ec.ph_addr = handler(argv[1], "pingpong_l1");
    ec.ph_size = 4096;
    CHECK(spin_nicmem_write(HANDLER_MEMORY, image, sizeof(image), image) == SPIN_SUCCESS);
    CHECK(pspinsim_run() == SPIN_SUCCESS);
    CHECK(added == PACKETS && left == PACKETS && completed == PACKETS);
    CHECK(writes == 1 && reads == 1);
    printf("mirrored %d packets until %llu ns\n", left, (unsigned long long)last_feedback / 1000);
    CHECK(pspinsim_fini() == SPIN_SUCCESS);
    return failures != 0;
}
