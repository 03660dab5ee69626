/* Sends files by SLMP, one message each, over plain UDP sockets; needs no FPsPIN NIC on this side.
 * Times are the clock on the wall: with a simulated receiver they tell how fast the simulation is,
 * not how fast the hardware would be. */
#include <errno.h>
#include <fcntl.h>
#include <fpspin/slmp.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct settings {
    const char *server;
    int window, gap_us, threads, align, first_id;
    bool is_json;
    slmp_options_t options;
};

static const char USAGE[] =
    "usage: send [OPTION]... SERVER FILE...\n"
    "Sends each file as an SLMP message to the address SERVER.\n"
    "  --window N     packets of a thread that may be unacknowledged [64]; 0: none is asked to be\n"
    "  --gap US       microseconds between two packets of a thread [0]\n"
    "  --threads N    threads that send a message together [1]\n"
    "  --align N      packets carry a multiple of N bytes [1]\n"
    "  --syn WHICH    none, ends or all packets ask for an acknowledgement [all]\n"
    "  --retries N    how often a packet is sent again [10]\n"
    "  --timeout MS   how long the first acknowledgement may take [200]\n"
    "  --id N         the first message's id; the others count up [1]\n"
    "  --port N       the receiver's port [9330]\n"
    "  --json         print one JSON object instead of text\n";

/* Reads a whole number between two limits; ends the program when there is none. */
static int number(const char *option, const char *text, int least, int most)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 0);
    if (errno || end == text || *end || value < least || value > most) {
        fprintf(stderr, "send: --%s %s: write a whole number from %d to %d\n", option, text, least,
                most);
        exit(2);
    }
    return (int)value;
}

static slmp_mode_t mode(const char *text)
{
    static const char *const NAMES[] = { "none", "ends", "all" };

    for (int i = 0; i < 3; i++)
        if (strcmp(text, NAMES[i]) == 0)
            return SLMP_SYN_NONE + i;
    fprintf(stderr, "send: --syn %s: write none, ends or all\n", text);
    exit(2);
}

static void read_options(int argc, char **argv, struct settings *settings)
{
    enum { WINDOW = 1, GAP, THREADS, ALIGN, SYNS, RETRIES, TIMEOUT, ID, PORT, JSON, HELP };
    static const struct option OPTIONS[] = {
        { "window", required_argument, NULL, WINDOW },
        { "gap", required_argument, NULL, GAP },
        { "threads", required_argument, NULL, THREADS },
        { "align", required_argument, NULL, ALIGN },
        { "syn", required_argument, NULL, SYNS },
        { "retries", required_argument, NULL, RETRIES },
        { "timeout", required_argument, NULL, TIMEOUT },
        { "id", required_argument, NULL, ID },
        { "port", required_argument, NULL, PORT },
        { "json", no_argument, NULL, JSON },
        { "help", no_argument, NULL, HELP },
        { NULL, 0, NULL, 0 },
    };
    int chosen, index = 0, retries;

    while ((chosen = getopt_long(argc, argv, "", OPTIONS, &index)) != -1) {
        const char *name = OPTIONS[index].name;

        switch (chosen) {
        case WINDOW: settings->window = number(name, optarg, 0, 65536); break;
        case GAP: settings->gap_us = number(name, optarg, 0, 10000000); break;
        case THREADS: settings->threads = number(name, optarg, 1, 64); break;
        case ALIGN: settings->align = number(name, optarg, 1, SLMP_PAYLOAD_SIZE); break;
        case SYNS: settings->options.mode = mode(optarg); break;
        case RETRIES:
            retries = number(name, optarg, 0, 1000);
            settings->options.retries = retries == 0 ? -1 : retries;
            break;
        case TIMEOUT: settings->options.timeout_us = 1000 * number(name, optarg, 1, 1000000); break;
        case ID: settings->first_id = number(name, optarg, 0, INT_MAX); break;
        case PORT: settings->options.port = (uint16_t)number(name, optarg, 1, 65535); break;
        case JSON: settings->is_json = true; break;
        case HELP: fputs(USAGE, stdout); exit(0);
        default: fputs(USAGE, stderr); exit(2);
        }
    }
    if (argc - optind < 2) {
        fputs(USAGE, stderr);
        exit(2);
    }
    settings->server = argv[optind++];
}

static const char *reason(int error)
{
    switch (error) {
    case ETIMEDOUT: return "no answer";
    case ECONNREFUSED: return "refused: nobody receives on that port";
    case EMSGSIZE: return "too large: a message has less than 4 GiB";
    default: return strerror(error);
    }
}

/* Maps a file for reading; NULL and errno when that cannot be done. An empty file is `empty`. */
static void *map_file(const char *path, size_t *bytes)
{
    static char empty[1];
    struct stat status;
    void *data = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC), error;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0) {
        *bytes = (size_t)status.st_size;
        data = *bytes == 0 ? empty : mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    error = errno;
    close(fd);
    errno = error;
    return data == MAP_FAILED ? NULL : data;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Prints a text as JSON has it. */
static void put_json(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            printf("\\u%04x", *text);
        else
            putchar(*text);
    }
    putchar('"');
}

/* Sends a file and says how that went; returns whether it went well. */
static bool send_file(slmp_sock_t *sock, const struct settings *settings, in_addr_t server,
                      const char *path, int id, bool is_first)
{
    size_t bytes = 0;
    void *data = map_file(path, &bytes);
    double start = now(), seconds;
    slmp_stats_t before, after;
    int error = data ? 0 : errno;

    slmp_get_stats(sock, &before);
    if (!error && slmp_sendmsg(sock, server, id, data, bytes) < 0)
        error = errno;
    seconds = now() - start;
    slmp_get_stats(sock, &after);
    if (data && bytes > 0)
        munmap(data, bytes);

    double mbit_s = error || seconds <= 0 ? 0 : (double)bytes * 8 / seconds / 1e6;
    unsigned long long packets = after.packets - before.packets;
    unsigned long long again = after.retransmissions - before.retransmissions;
    if (settings->is_json) {
        printf("%s    { \"file\": ", is_first ? "" : ",\n");
        put_json(path);
        printf(", \"message\": %d, \"bytes\": %zu, \"seconds\": %.6f, \"mbit_s\": %.3f,\n"
               "      \"packets\": %llu, \"retransmissions\": %llu, \"error\": ",
               id, bytes, seconds, mbit_s, packets, again);
        error ? put_json(reason(error)) : (void)printf("null");
        printf(" }");
    } else if (error) {
        fprintf(stderr, "send: %s: message %d: %s\n", path, id, reason(error));
    } else {
        printf("%s: message %d, %zu bytes in %.3f s, %.2f Mbit/s, %llu packets, %llu sent again\n",
               path, id, bytes, seconds, mbit_s, packets, again);
    }
    return !error;
}

int main(int argc, char **argv)
{
    struct settings settings = { .window = 64, .threads = 1, .align = 1, .first_id = 1,
                                 .options = { .mode = SLMP_SYN_ALL } };
    slmp_sock_t sock;
    slmp_stats_t stats;
    struct in_addr server;
    int failures = 0;

    read_options(argc, argv, &settings);
    if (inet_pton(AF_INET, settings.server, &server) != 1) {
        fprintf(stderr, "send: %s is no IPv4 address\n", settings.server);
        return 2;
    }
    if (settings.window == 0 && settings.options.mode == SLMP_SYN_ALL)
        settings.options.mode = SLMP_SYN_NONE;
    if (slmp_socket(&sock, settings.window, settings.align, settings.gap_us,
                    settings.threads) < 0 ||
        slmp_set_options(&sock, &settings.options) < 0) {
        fprintf(stderr, "send: %s\n", strerror(errno));
        return 2;
    }
    if (settings.is_json)
        printf("{\n  \"clock\": \"wall\",\n  \"files\": [\n");
    for (int i = optind; i < argc; i++)
        failures += !send_file(&sock, &settings, server.s_addr, argv[i],
                               settings.first_id + i - optind, i == optind);
    slmp_get_stats(&sock, &stats);
    if (settings.is_json)
        printf("\n  ],\n  \"sent\": %llu, \"failed\": %d, \"packets\": %llu, "
               "\"retransmissions\": %llu, \"acks\": %llu, \"stray\": %llu\n}\n",
               (unsigned long long)stats.messages, failures, (unsigned long long)stats.packets,
               (unsigned long long)stats.retransmissions, (unsigned long long)stats.acks,
               (unsigned long long)stats.stray);
    slmp_close(&sock);
    return failures ? 1 : 0;
}
