/* The cluster's DMA engine on the native engine: a copy, complete when its launch returns. */
#ifndef PINION_NATIVE_DMA_H
#define PINION_NATIVE_DMA_H

static inline uint32_t pinion_dma_launch(pinion_dma_port_t *port, void *from, void *to,
                                         uint32_t bytes)
{
    (void)port;
    __builtin_memmove(to, from, bytes);
    return 1;
}

static inline char pinion_dma_done(pinion_dma_port_t *port, uint32_t transfer)
{
    (void)port;
    (void)transfer;
    return 1;
}

#endif
