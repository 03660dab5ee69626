/* Loopback with increment (nanoPU paper, section 3.5): messages of 16 bytes go back to their sender,
 * each of their two words one higher. t5 is x30, the head of the receive queue; t6 is x31, the tail
 * of the transmit queue. */

#define lmsgsrdy 0x052
#define lcurcontext 0x053
#define lniccmd 0x054
#define lcurpriority 0x055
#define lnicucmd 0x056
#define BIND 1         /* to lniccmd */
#define MESSAGE_DONE 1 /* to lnicucmd */
#define IDLE 2

    .text
    .globl  main
    .type   main, @function
main:
    csrwi   lcurcontext, 0               /* this thread serves port 0, */
    csrwi   lcurpriority, 0              /* at the most urgent priority */
    csrwi   lniccmd, BIND

wait_message:
    csrr    a5, lmsgsrdy
    bnez    a5, loopback_plus_1
idle:
    csrwi   lnicucmd, IDLE               /* another thread may run meanwhile */
    csrr    a5, lmsgsrdy
    beqz    a5, idle

loopback_plus_1:
    mv      t6, t5                       /* header: what was the source becomes the destination */
    addi    t6, t5, 1
    addi    t6, t5, 1
    csrwi   lnicucmd, MESSAGE_DONE
    j       wait_message
    .size   main, . - main
