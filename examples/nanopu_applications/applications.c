/* The applications of the nanoservices draft's figure 8; its table 1 too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gravity.h"
#include "message.h"
#include "rules.h"

#define MOST_INPUTS 128

#ifdef DMA_NIC

/* What examples/nanopu_echo does: messages go back as they came. Nobody need touch the words. */
static void loopback(void)
{
    for (;;) {
        unsigned bytes = dma_nic_receive();
        dma_nic_turn(incoming);
        dma_nic_send(incoming, bytes);
        dma_nic_wait_sent();
        dma_nic_ask(incoming);
    }
}

/* What examples/nanopu_stream does: each word goes back incremented. */
static void nfv(void)
{
    for (;;) {
        incoming_bytes = dma_nic_receive();
        uint64_t *word = &incoming[HEADER_WORDS].integer;
        for (uint64_t words = message_words(); words; words--)
            ++*word++;
        dma_nic_turn(incoming);
        dma_nic_send(incoming, incoming_bytes);
        dma_nic_wait_sent();
        dma_nic_ask(incoming);
    }
}

#endif

/* A neuron: `inputs` messages bring a weight each, as many a value; the answer is their products' sum. */
static void neural(uint64_t inputs)
{
    static int64_t weights[MOST_INPUTS];

    for (;;) {
        for (uint64_t i = 0; i < inputs; i++) {
            begin_message();
            weights[i] = (int64_t)read_word();
            end_message();
        }
        int64_t sum = 0;
        for (uint64_t i = 0; i < inputs; i++) {
            begin_message();
            sum += weights[i] * (int64_t)read_word();
            if (i + 1 == inputs) {
                begin_answer(1);
                write_word((uint64_t)sum);
                end_answer();
            }
            end_message();
        }
    }
}

/* A step of a search: the answer to a position is a message for each legal move, then their number. */
static void othello(void)
{
    for (;;) {
        begin_message();
        uint64_t own = read_word(), other = read_word(), tag = read_word(), count = 0;
        uint64_t moves = legal_moves(own, other);

        for (uint64_t square = 0; moves; square++, moves >>= 1) {
            if (!(moves & 1))
                continue;
            uint64_t move = 1ul << square, flips = turned(move, own, other);
            begin_answer(4);
            write_word(other & ~flips);
            write_word(own | move | flips);
            write_word(tag);
            write_word(square);
            end_answer();
            count++;
        }
        begin_answer(2);
        write_word(tag);
        write_word(count);
        end_answer();
        end_message();
    }
}

/* Gravity in the plane: `bodies` messages {x, y, mass}; the answer is the force on a body at the origin. */
static void nbody(uint64_t bodies)
{
    for (;;) {
        double fx = 0, fy = 0;

        for (uint64_t i = 0; i < bodies; i++) {
            begin_message();
            double x = read_real(), y = read_real(), mass = read_real();
            add_pull(x, y, mass, &fx, &fy);
            if (i + 1 == bodies) {
                begin_answer(2);
                write_real(fx);
                write_real(fy);
                end_answer();
            }
            end_message();
        }
    }
}

/* As fast as it goes: takes `messages` messages of a word and answers the last. */
static void receive(uint64_t messages)
{
    for (;;) {
        uint64_t sum = 0;

        for (uint64_t i = 1; i < messages; i++) {
            begin_message();
            sum += read_word();
            end_message();
        }
        begin_message();
        sum += read_word();
        begin_answer(1);
        write_word(sum);
        end_answer();
        end_message();
    }
}

/* As fast as it goes: answers a message with `messages` of a word. */
static void send(uint64_t messages)
{
    for (;;) {
        begin_message();
        uint64_t value = read_word();
#ifdef DMA_NIC
        /* One packet again and again: the next is asked for while the last is being read. */
        begin_answer(1);
        write_word(value);
        is_sending = 0;
        for (uint64_t asked = 0, sent = 0; sent < messages;) {
            unsigned counts = reg_read16(DMA_NIC_COUNTS);
            if (asked < messages && (counts & 15)) {
                dma_nic_send(outgoing, answer_bytes_);
                asked++;
            }
            if (counts >> 8 & 15) {
                (void)reg_read16(DMA_NIC_SEND_COMP);
                sent++;
            }
        }
#else
        for (uint64_t i = 0; i < messages; i++) {
            begin_answer(1);
            write_word(value);
        }
#endif
        end_message();
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "neural";
    uint64_t number = argc > 2 ? strtoul(argv[2], NULL, 0) : 16;

    open_network();
#ifdef DMA_NIC
    if (!strcmp(name, "loopback"))
        loopback();
    if (!strcmp(name, "nfv"))
        nfv();
#endif
    if (!strcmp(name, "neural") && number <= MOST_INPUTS)
        neural(number);
    if (!strcmp(name, "othello"))
        othello();
    if (!strcmp(name, "nbody"))
        nbody(number);
    if (!strcmp(name, "receive"))
        receive(number);
    if (!strcmp(name, "send"))
        send(number);
    printf("nanopu_applications: there is no `%s %lu`\n", name, number);
    return EXIT_FAILURE;
}
