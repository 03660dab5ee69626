/* Measures UDP round trips: sends datagrams of each size, one after the other, and waits for each
 * to come back unchanged. Prints a line of CSV per size, times in microseconds of this computer's
 * clock.
 *
 *     cc -O2 -o udp_ping examples/udp_echo/client/udp_ping.c
 *     ./udp_ping 10.11.0.2 --from 16 --to 1416 --step 100 --count 50
 *
 * Exit status 1 when a datagram did not come back.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_BYTES 65507 /* of a datagram's payload over IPv4 */

struct plan {
    const char *address;
    unsigned long port;
    unsigned long from, to, step; /* payload bytes */
    unsigned long count;
    unsigned long timeout_ms;
    unsigned long interval_us; /* between the end of a round trip and the next datagram */
};

static void usage(void)
{
    fprintf(stderr, "usage: udp_ping ADDRESS [--port 9500] [--from 16] [--to 1416] [--step 100]\n"
                    "                [--count 50] [--timeout-ms 1000] [--interval-us 0]\n");
    exit(2);
}

static unsigned long number_of(const char *text, unsigned long least, unsigned long most)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || number < least || number > most) {
        fprintf(stderr, "udp_ping: `%s`: a number from %lu to %lu is needed\n", text, least, most);
        usage();
    }
    return number;
}

static struct plan read_plan(int argc, char **argv)
{
    static const struct option known[] = {
        { "port", required_argument, NULL, 'p' },
        { "from", required_argument, NULL, 'f' },
        { "to", required_argument, NULL, 't' },
        { "step", required_argument, NULL, 's' },
        { "count", required_argument, NULL, 'n' },
        { "timeout-ms", required_argument, NULL, 'o' },
        { "interval-us", required_argument, NULL, 'i' },
        { NULL, 0, NULL, 0 },
    };
    struct plan plan = { .port = 9500, .from = 16, .to = 1416, .step = 100, .count = 50,
                         .timeout_ms = 1000 };
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'p': plan.port = number_of(optarg, 1, 65535); break;
        case 'f': plan.from = number_of(optarg, sizeof(uint64_t), MOST_BYTES); break;
        case 't': plan.to = number_of(optarg, sizeof(uint64_t), MOST_BYTES); break;
        case 's': plan.step = number_of(optarg, 1, MOST_BYTES); break;
        case 'n': plan.count = number_of(optarg, 1, 10000000); break;
        case 'o': plan.timeout_ms = number_of(optarg, 1, 3600000); break;
        case 'i': plan.interval_us = number_of(optarg, 0, 999999); break;
        default: usage();
        }
    }
    if (optind + 1 != argc || plan.from > plan.to)
        usage();
    plan.address = argv[optind];
    return plan;
}

static double now_us(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* Opens a socket that talks to the one address and hears nobody else. */
static int open_socket(const struct plan *plan)
{
    struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons((uint16_t)plan->port) };
    int fd;

    if (inet_pton(AF_INET, plan->address, &peer.sin_addr) != 1) {
        fprintf(stderr, "udp_ping: `%s` is no IPv4 address\n", plan->address);
        usage();
    }
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&peer, sizeof(peer)) < 0) {
        perror("udp_ping: cannot reach the address");
        exit(EXIT_FAILURE);
    }
    return fd;
}

/* Waits for the datagram to come back; what comes late from earlier ones is passed over. */
static bool await(int fd, const uint8_t *sent, size_t bytes, double deadline_us)
{
    static uint8_t found[MOST_BYTES];

    for (;;) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        double left_us = deadline_us - now_us();
        ssize_t got;

        if (left_us <= 0 || poll(&ready, 1, (int)(left_us / 1e3) + 1) == 0)
            return false;
        got = recv(fd, found, sizeof(found), MSG_DONTWAIT);
        /* An ICMP error, such as a port that is closed, counts as silence. */
        if (got == (ssize_t)bytes && memcmp(found, sent, bytes) == 0)
            return true;
    }
}

/* Sends one datagram and waits for it; returns the round trip, negative when it is lost. */
static double round_trip_us(int fd, uint8_t *datagram, size_t bytes, const struct plan *plan)
{
    static uint64_t number;
    double sent_us;

    number++;
    memcpy(datagram, &number, sizeof(number));
    sent_us = now_us();
    if (send(fd, datagram, bytes, 0) < 0)
        return -1;
    if (!await(fd, datagram, bytes, sent_us + (double)plan->timeout_ms * 1e3))
        return -1;
    return now_us() - sent_us;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The value below which `part` of the sorted samples lie, between two where it falls between. */
static double quantile(const double *sorted, unsigned long count, double part)
{
    double place = part * (double)(count - 1);
    unsigned long below = (unsigned long)place;
    double rest = place - (double)below;

    return below + 1 < count ? sorted[below] * (1 - rest) + sorted[below + 1] * rest
                             : sorted[below];
}

/* Measures one size and prints its line; returns how many datagrams were lost. */
static unsigned long measure(int fd, size_t bytes, const struct plan *plan, double *samples)
{
    static uint8_t datagram[MOST_BYTES];
    const struct timespec pause = { .tv_nsec = (long)plan->interval_us * 1000 };
    unsigned long good = 0;

    for (size_t i = 0; i < bytes; i++)
        datagram[i] = (uint8_t)(i * 7 + bytes);
    for (unsigned long i = 0; i < plan->count; i++) {
        double rtt_us = round_trip_us(fd, datagram, bytes, plan);
        if (rtt_us >= 0)
            samples[good++] = rtt_us;
        if (plan->interval_us > 0)
            nanosleep(&pause, NULL);
    }
    qsort(samples, good, sizeof(*samples), by_size);
    if (good > 0)
        printf("%zu,%lu,%lu,%.1f,%.1f,%.1f\n", bytes, good, plan->count - good,
               quantile(samples, good, 0.5), quantile(samples, good, 0.1),
               quantile(samples, good, 0.9));
    else
        printf("%zu,0,%lu,,,\n", bytes, plan->count);
    fflush(stdout);
    return plan->count - good;
}

int main(int argc, char **argv)
{
    struct plan plan = read_plan(argc, argv);
    double *samples = malloc(plan.count * sizeof(*samples));
    int fd = open_socket(&plan);
    unsigned long lost = 0;

    if (samples == NULL) {
        fprintf(stderr, "udp_ping: no memory for %lu samples\n", plan.count);
        return EXIT_FAILURE;
    }
    printf("payload_bytes,samples,lost,rtt_us_median,rtt_us_p10,rtt_us_p90\n");
    for (unsigned long bytes = plan.from; bytes <= plan.to; bytes += plan.step)
        lost += measure(fd, bytes, &plan, samples);
    free(samples);
    close(fd);
    return lost > 0;
}
