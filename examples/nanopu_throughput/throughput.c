/* One way at a time. A command {mode, count, port} is answered with {mode, count, cycles} when `count`
 * messages of 1 KiB have been received (modes 0 and 2) or sent to that port of the sender (1 and 3).
 * Modes 0 and 1 know the length and run straight through; 2 and 3 take it from the header and loop
 * over the words. */
#include <lnic.h>

#define WORDS 128

#define TIMES_8(code) code; code; code; code; code; code; code; code
#define TIMES_128(code)                                                             \
    TIMES_8(TIMES_8(code));                                                         \
    TIMES_8(TIMES_8(code))

static inline uint64_t receive_fixed(void)
{
    uint64_t last;

    lnic_wait();
    (void)lnic_read();
    TIMES_128(last = lnic_read());
    lnic_msg_done();
    return last;
}

static inline uint64_t receive_variable(void)
{
    uint64_t last = 0;

    lnic_wait();
    for (uint64_t words = lnic_words(lnic_header_bytes(lnic_read())); words; words--)
        last = lnic_read();
    lnic_msg_done();
    return last;
}

static inline void send_fixed(uint64_t header, uint64_t value)
{
    lnic_write_r(header);
    TIMES_128(lnic_write_r(value));
}

static inline void send_variable(uint64_t header, uint64_t value)
{
    lnic_write_r(header);
    for (uint64_t words = lnic_words(lnic_header_bytes(header)); words; words--)
        lnic_write_r(value);
}

static uint64_t run(uint64_t mode, uint64_t count, uint64_t header)
{
    uint64_t start;

    if (!(mode & 1)) {
        lnic_wait(); /* not counted: whether somebody sends */
        start = read_csr(mcycle);
        for (uint64_t i = 0; i < count; i++)
            (void)(mode == 0 ? receive_fixed() : receive_variable());
    } else {
        start = read_csr(mcycle);
        for (uint64_t i = 0; i < count; i++) {
            if (mode == 1)
                send_fixed(header, i);
            else
                send_variable(header, i);
        }
    }
    return read_csr(mcycle) - start;
}

int main(void)
{
    lnic_add_context(0, 0);
    for (;;) {
        lnic_wait();
        uint64_t client = lnic_read(), mode = lnic_read() & 3, count = lnic_read();
        uint64_t port = lnic_read(), ip = lnic_header_ip(client);
        lnic_msg_done();
        uint64_t cycles = count ? run(mode, count, lnic_header(ip, port, 8 * WORDS)) : 0;

        lnic_write_r(lnic_header(ip, lnic_header_context(client), 24));
        lnic_write_r(mode);
        lnic_write_r(count);
        lnic_write_r(cycles);
    }
}
