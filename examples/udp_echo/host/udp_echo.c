/* The host's part of the UDP ping-pong. Mode fpspin: loads the handler that answers, and waits.
 * Mode host+fpspin: answers what the handlers pass on. Mode host: the NIC matches nothing, and this
 * program answers through a socket.
 *
 *     pinion fpspin compile examples/udp_echo/host/udp_echo.c -o udp_echo
 *     pinion build examples/udp_echo/host_fpspin --machine fpspin --out image.elf
 *     ./udp_echo --mode host+fpspin --image image.elf
 */
#include "../../icmp_echo/host/serve.h"

#include <sys/socket.h>

#include "../reply.h"

static fpspin_ruleset_t udp_echo_ruleset(void)
{
    return (fpspin_ruleset_t){
        .mode = FPSPIN_MODE_AND,
        .r = {
            FPSPIN_RULE_IP,
            FPSPIN_RULE_IP_PROTO(17),
            FPSPIN_RULE_UDP_DPORT(UDP_ECHO_PORT),
            FPSPIN_RULE_FALSE,
        },
    };
}

/* Opens the port on every address of the host; -1 when that fails. */
static int open_port(void)
{
    const struct sockaddr_in any = {
        .sin_family = AF_INET,
        .sin_port = htons(UDP_ECHO_PORT),
    };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0) {
        fprintf(stderr, "cannot open UDP port %d: %s\n", UDP_ECHO_PORT, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

/* Sends each datagram back until there were `count` (0: no end) or a signal comes; returns how
 * many, -1 when the socket fails. */
static long serve_socket(int fd, unsigned long count)
{
    static uint8_t datagram[65536];
    unsigned long served = 0;

    while (!is_stopped && (count == 0 || served < count)) {
        struct sockaddr_in from;
        socklen_t from_bytes = sizeof(from);
        ssize_t bytes =
            recvfrom(fd, datagram, sizeof(datagram), 0, (struct sockaddr *)&from, &from_bytes);

        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0) {
            perror("cannot receive");
            return -1;
        }
        if (sendto(fd, datagram, (size_t)bytes, 0, (struct sockaddr *)&from, from_bytes) < 0)
            perror("cannot answer");
        served++;
    }
    return (long)served;
}

static long answer(fpspin_ctx_t *ctx, const struct echo_options *options, int fd)
{
    switch (options->mode) {
    case MODE_HOST: return serve_socket(fd, options->count);
    case MODE_HOST_FPSPIN: return serve(ctx, options->count, make_echo_reply);
    case MODE_FPSPIN: wait_for_end(); break;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct echo_options options = read_options(argc, argv);
    fpspin_ruleset_t rules = udp_echo_ruleset();
    fpspin_ctx_t ctx;
    int fd = -1;
    long served;

    if (options.mode == MODE_FPSPIN)
        refuse_count(argv[0], &options);
    if (options.mode == MODE_HOST) {
        fpspin_ruleset_bypass(&rules);
        if ((fd = open_port()) < 0)
            return EXIT_FAILURE;
    }
    stop_on_signals();
    if (!fpspin_init(&ctx, options.device, options.image, options.context, &rules, 1,
                     FPSPIN_HOSTDMA_PAGES_DEFAULT))
        return EXIT_FAILURE;
    printf("ready\n");
    fflush(stdout);
    served = answer(&ctx, &options, fd);
    fpspin_exit(&ctx);
    if (options.mode != MODE_FPSPIN && served >= 0)
        printf("%ld requests answered\n", served);
    return served < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
