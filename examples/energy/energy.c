/* Energy of the samples in a packet: the sum of the squares of its signed bytes.
 *
 * Packets to port 9000 are added up in C, those to port 9001 with Xpulp: loads that move their
 * pointer and four products at a time, in a hardware loop. Both take pairs of whole words, from the
 * first one behind the headers on.
 * Result in the context's host memory: a u64 at 8 * the UDP source port.
 */
#include <handler.h>
#include <packets.h>
#include <xpulp.h>

#define FIRST 44u /* the first whole word behind the headers */
#define SOURCES 1024u

typedef struct {
    const uint32_t *first;
    uint32_t pairs; /* of words */
} samples_t;

static inline samples_t samples_of(task_t *task)
{
    uint32_t bytes = task->pkt_mem_size;
    samples_t samples = {
        .first = (const uint32_t *)((const char *)task->pkt_mem + FIRST),
        .pairs = bytes < FIRST ? 0 : (bytes - FIRST) / 8,
    };

    return samples;
}

static inline void tell(task_t *task, uint32_t energy)
{
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    const pkt_hdr_t *headers = task->pkt_mem;
    uint32_t source = ntohs(headers->udp_hdr.src_port);
    spin_cmd_t command;

    spin_write_to_host(host + source % SOURCES * 8, energy, &command);
}

static inline uint32_t squares(uint32_t word)
{
    int32_t a = (int8_t)word, b = (int8_t)(word >> 8);
    int32_t c = (int8_t)(word >> 16), d = (int8_t)(word >> 24);

    return a * a + b * b + c * c + d * d;
}

__handler__ void energy_ph(handler_args_t *args)
{
    samples_t samples = samples_of(args->task);
    uint32_t energy = 0;

    for (uint32_t pair = 0; pair < samples.pairs; pair++)
        energy += squares(samples.first[2 * pair]) + squares(samples.first[2 * pair + 1]);
    tell(args->task, energy);
}

/* Two loads first: no product waits for its own. */
static inline uint32_t energy_of(samples_t samples)
{
    uint32_t energy = 0;
#ifdef __riscv
    uint32_t a, b;

    __asm__ volatile(XPULP_BEGIN
                     XPULP_SETUP(0, "%[pairs]", 4)
                     XPULP_LW("%[a]", "%[at]", 4)
                     XPULP_LW("%[b]", "%[at]", 4)
                     XPULP_SDOTSP_B("%[energy]", "%[a]", "%[a]")
                     XPULP_SDOTSP_B("%[energy]", "%[b]", "%[b]")
                     XPULP_END
                     : [energy] "+r"(energy), [at] "+r"(samples.first), [a] "=&r"(a), [b] "=&r"(b)
                     : [pairs] "r"(samples.pairs)
                     : "memory");
#else
    for (uint32_t pair = 0; pair < samples.pairs; pair++)
        energy += squares(samples.first[2 * pair]) + squares(samples.first[2 * pair + 1]);
#endif
    return energy;
}

__handler__ void energy_xpulp_ph(handler_args_t *args)
{
    samples_t samples = samples_of(args->task);

    tell(args->task, samples.pairs ? energy_of(samples) : 0);
}
