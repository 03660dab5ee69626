/* The host's part of the ICMP ping-pong. Mode fpspin: loads the handler that answers, and waits.
 * Mode host+fpspin: answers what the handlers pass on, checksums included. Mode host: the NIC
 * matches nothing, the kernel answers.
 *
 *     pinion fpspin compile examples/icmp_echo/host/icmp_echo.c -o icmp_echo
 *     pinion build examples/icmp_echo/host_fpspin --machine fpspin --out image.elf
 *     ./icmp_echo --mode host+fpspin --image image.elf
 */
#include "serve.h"

#include "../reply.h"

/* ICMP echo requests, as the FPsPIN paper's listing 2 has it. */
static fpspin_ruleset_t icmp_echo_ruleset(void)
{
    return (fpspin_ruleset_t){
        .mode = FPSPIN_MODE_AND,
        .r = {
            FPSPIN_RULE_IP,
            FPSPIN_RULE_IP_PROTO(1),
            { .idx = 8, .mask = 0xff00, .start = 0x0800, .end = 0x0800 },
            FPSPIN_RULE_FALSE,
        },
    };
}

int main(int argc, char **argv)
{
    struct echo_options options = read_options(argc, argv);
    fpspin_ruleset_t rules = icmp_echo_ruleset();
    fpspin_ctx_t ctx;
    long served = 0;

    if (options.mode == MODE_HOST)
        fpspin_ruleset_bypass(&rules);
    if (options.mode != MODE_HOST_FPSPIN)
        refuse_count(argv[0], &options);
    stop_on_signals();
    if (!fpspin_init(&ctx, options.device, options.image, options.context, &rules, 1,
                     FPSPIN_HOSTDMA_PAGES_DEFAULT))
        return EXIT_FAILURE;
    printf("ready\n");
    fflush(stdout);
    if (options.mode == MODE_HOST_FPSPIN)
        served = serve(&ctx, options.count, make_echo_reply);
    else
        wait_for_end();
    fpspin_exit(&ctx);
    if (options.mode == MODE_HOST_FPSPIN && served >= 0)
        printf("%ld requests answered\n", served);
    return served < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
