/* The NIC of the baseline node, which moves packets to and from memory. Packets are whole frames.
 *
 * Registers as IceNIC has them: the program asks for a packet to be sent or received, and later takes
 * notice that it was. */
#ifndef PINION_DMA_NIC_H
#define PINION_DMA_NIC_H

#include <stdint.h>
#include "mmio.h"

#define DMA_NIC_BASE 0x10016000ul
#define DMA_NIC_SEND_REQ (DMA_NIC_BASE + 0)   /* 64 bits: bytes << 48 | address */
#define DMA_NIC_RECV_REQ (DMA_NIC_BASE + 8)   /* 64 bits: address of a buffer */
#define DMA_NIC_SEND_COMP (DMA_NIC_BASE + 16) /* 16 bits: reading takes one */
#define DMA_NIC_RECV_COMP (DMA_NIC_BASE + 18) /* 16 bits: bytes; reading takes one */
#define DMA_NIC_COUNTS (DMA_NIC_BASE + 20)    /* four numbers of 4 bits */

/* Room for requests, completions that wait. */
static inline unsigned dma_nic_send_room(void) { return reg_read16(DMA_NIC_COUNTS) & 15; }
static inline unsigned dma_nic_receive_room(void) { return reg_read16(DMA_NIC_COUNTS) >> 4 & 15; }
static inline unsigned dma_nic_sent(void) { return reg_read16(DMA_NIC_COUNTS) >> 8 & 15; }
static inline unsigned dma_nic_received(void) { return reg_read16(DMA_NIC_COUNTS) >> 12 & 15; }

/* Asks for the next packet; the buffer belongs to the NIC until the packet is there. */
static inline void dma_nic_ask(void *buffer)
{
    reg_write64(DMA_NIC_RECV_REQ, (uintptr_t)buffer);
}

/* Waits for a packet that was asked for; gives its bytes. */
static inline unsigned dma_nic_receive(void)
{
    while (!dma_nic_received())
        ;
    unsigned bytes = reg_read16(DMA_NIC_RECV_COMP);
    __asm__ volatile("" : : : "memory");
    return bytes;
}

/* Sends a packet; the buffer belongs to the NIC until it has been sent. */
static inline void dma_nic_send(const void *packet, unsigned bytes)
{
    __asm__ volatile("fence" : : : "memory");
    reg_write64(DMA_NIC_SEND_REQ, (uint64_t)bytes << 48 | (uintptr_t)packet);
}

/* Waits until a packet has been sent. */
static inline void dma_nic_wait_sent(void)
{
    while (!dma_nic_sent())
        ;
    (void)reg_read16(DMA_NIC_SEND_COMP);
}

/* Headers of a frame between nodes, before its payload: Ethernet, IPv4, transport. */
#define DMA_NIC_HEADER_BYTES 64

/* Turns a received frame's headers around: what was the source becomes the destination. */
static inline void dma_nic_turn(void *frame)
{
    uint8_t *bytes = (uint8_t *)frame;

    for (int i = 0; i < 6; i += 2) { /* MAC addresses */
        uint16_t *to = (uint16_t *)(bytes + i), *from = (uint16_t *)(bytes + 6 + i);
        uint16_t was = *to;
        *to = *from;
        *from = was;
    }
    for (int i = 0; i < 4; i += 2) { /* IPv4 addresses */
        uint16_t *to = (uint16_t *)(bytes + 30 + i), *from = (uint16_t *)(bytes + 26 + i);
        uint16_t was = *to;
        *to = *from;
        *from = was;
    }
    uint8_t high = bytes[35], low = bytes[36]; /* contexts, not aligned */
    bytes[35] = bytes[37];
    bytes[36] = bytes[38];
    bytes[37] = high;
    bytes[38] = low;
}

/* Sets the length of a frame's message, in its transport and IPv4 headers; gives the frame's bytes. */
static inline unsigned dma_nic_set_length(void *frame, unsigned message_bytes)
{
    uint8_t *bytes = (uint8_t *)frame;
    unsigned ip_bytes = DMA_NIC_HEADER_BYTES - 14 + message_bytes;

    bytes[16] = (uint8_t)(ip_bytes >> 8);
    bytes[17] = (uint8_t)ip_bytes;
    bytes[39] = (uint8_t)(message_bytes >> 8);
    bytes[40] = (uint8_t)message_bytes;
    return DMA_NIC_HEADER_BYTES + message_bytes;
}

#endif
