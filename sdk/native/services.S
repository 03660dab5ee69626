/* The way from handlers, whose addresses have 32 bits, to functions of the engine, which lie beyond:
 * each jumps through a table that the engine fills when it loads the program. The order is that of
 * crates/pinion-native/src/services.rs. */
    .file __FILE__ /* or the linker names it for a file that is gone */
    .macro service name, index
    .globl \name
    .type \name, @function
\name:
    jmp     *pinion_native_services + 8 * \index(%rip)
    .endm

/* The computer's C library takes 64-bit lengths; only 32 bits of ours are defined. */
    .macro memory_service name, index
    .globl \name
    .type \name, @function
\name:
    movl    %edi, %edi
    movl    %edx, %edx
    jmp     *pinion_native_services + 8 * \index(%rip)
    .endm

    .text
    service pinion_native_issue, 0
    service pinion_native_print, 1
    service pinion_native_cycles, 2
    service pinion_native_yield, 3
    memory_service memcpy, 4
    memory_service memmove, 5
    memory_service memset, 6
    memory_service memcmp, 7

    .section .services, "aw"
    .balign 8
    .globl pinion_native_services
    .type pinion_native_services, @object
pinion_native_services:
    .zero   8 * 8
    .size pinion_native_services, 8 * 8

    .section .note.GNU-stack, "", @progbits
