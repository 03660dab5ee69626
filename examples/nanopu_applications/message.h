/* Messages of one packet, word by word, on either node. With the register interface a word is an
 * instruction; with the DMA NIC a message is copied to memory first and its words are read from there.
 * One buffer receives, another sends, and each serves one packet at a time. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdint.h>

#ifdef DMA_NIC

#include <dma_nic.h>

#define HEADER_WORDS (DMA_NIC_HEADER_BYTES / 8)
#define MOST_WORDS (HEADER_WORDS + 128)

/* A word as an integer or a floating-point number, whatever was written. */
typedef union {
    uint64_t integer;
    double real;
} __attribute__((may_alias)) word_t;

static word_t incoming[MOST_WORDS] __attribute__((aligned(64)));
static word_t outgoing[MOST_WORDS] __attribute__((aligned(64)));
static unsigned incoming_bytes;
static unsigned is_sending;

static inline void open_network(void) { dma_nic_ask(incoming); }

/* Waits for the next message; its words follow in order. */
#define begin_message()                       \
    incoming_bytes = dma_nic_receive();       \
    const word_t *word_in_ = incoming + HEADER_WORDS; \
    (void)word_in_
#define message_words() ((incoming_bytes - DMA_NIC_HEADER_BYTES) / 8)
#define read_word() ((word_in_++)->integer)
#define read_real() ((word_in_++)->real)
#define end_message() dma_nic_ask(incoming)

/* Answers with `count` words, which follow. */
#define begin_answer(count)                                          \
    if (is_sending)                                                  \
        dma_nic_wait_sent();                                         \
    for (int i_ = 0; i_ < HEADER_WORDS; i_++)                        \
        outgoing[i_] = incoming[i_];                                 \
    dma_nic_turn(outgoing);                                          \
    unsigned answer_bytes_ = dma_nic_set_length(outgoing, 8 * (count)); \
    word_t *word_out_ = outgoing + HEADER_WORDS
#define write_word(value) ((word_out_++)->integer = (value))
#define write_real(value) ((word_out_++)->real = (value))
#define end_answer()                           \
    do {                                       \
        dma_nic_send(outgoing, answer_bytes_); \
        is_sending = 1;                        \
    } while (0)

#else

#include <lnic.h>

static inline void open_network(void) { lnic_add_context(0, 0); }

#define begin_message() \
    lnic_wait();        \
    const uint64_t header_ = lnic_read()
#define message_words() lnic_words(lnic_header_bytes(header_))
#define read_word() lnic_read()
#define read_real() lnic_read_double()
#define end_message() lnic_msg_done()

#define begin_answer(count) \
    lnic_write_r(lnic_header(lnic_header_ip(header_), lnic_header_context(header_), 8 * (count)))
#define write_word(value) lnic_write_r(value)
#define write_real(value) lnic_write_double(value)
#define end_answer() (void)0

#endif
#endif
