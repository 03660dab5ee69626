/* Receives files that handlers of ../slmp.c put into host memory: attaches to an FPsPIN NIC, loads
 * the handlers, writes each complete message to a file, and says what the handlers refused. Times
 * are the clock on the wall, not the NIC's; how fast messages came, their sender says. */
#define _GNU_SOURCE
#include <errno.h>
#include <fpspin/fpspin.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../slmp_receiver.h"

struct settings {
    const char *device, *image, *directory;
    int context, slots, count, seconds;
    long slot_bytes;
    bool verifies;
};

static const char USAGE[] =
    "usage: receive [OPTION]... IMAGE\n"
    "Loads the handlers IMAGE (pinion build examples/slmp) and receives files by SLMP.\n"
    "  --device NAME     the NIC [/dev/pspin0]\n"
    "  --context N       the execution context [0]\n"
    "  --directory DIR   where files go, as message-ID-NUMBER.bin [none are written]\n"
    "  --slots N         messages at a time, a power of two up to 64 [16]\n"
    "  --bytes N         bytes of a message at most [1048576]\n"
    "  --verify          handlers check the checksums\n"
    "  --count N         end after so many messages [never]\n"
    "  --seconds N       end after so many seconds [never]\n";

static const char *const COUNTERS[SLMP_COUNTERS] = {
    [SLMP_MESSAGES] = "messages",       [SLMP_DUPLICATES] = "duplicates",
    [SLMP_LATE] = "late",               [SLMP_BEYOND] = "beyond",
    [SLMP_ORPHANS] = "orphans",         [SLMP_OTHER_ENDS] = "other_ends",
    [SLMP_REUSED] = "reused",           [SLMP_BUSY] = "busy",
    [SLMP_LENGTHS] = "lengths",         [SLMP_SHORT] = "short",
    [SLMP_STRAY_ACKS] = "stray_acks",   [SLMP_CHECKSUMS] = "checksums",
    [SLMP_EARLY_ENDS] = "early_ends",   [SLMP_ABANDONED] = "abandoned",
};

static volatile sig_atomic_t is_over;

static void end(int signal)
{
    (void)signal;
    is_over = 1;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long number(const char *option, const char *text, long least, long most)
{
    char *rest;
    long value;

    errno = 0;
    value = strtol(text, &rest, 0);
    if (errno || rest == text || *rest || value < least || value > most) {
        fprintf(stderr, "receive: --%s %s: write a whole number from %ld to %ld\n", option, text,
                least, most);
        exit(2);
    }
    return value;
}

static void read_options(int argc, char **argv, struct settings *settings)
{
    enum { DEVICE = 1, CONTEXT, DIRECTORY, SLOTS, BYTES, VERIFY, COUNT, SECONDS, HELP };
    static const struct option OPTIONS[] = {
        { "device", required_argument, NULL, DEVICE },
        { "context", required_argument, NULL, CONTEXT },
        { "directory", required_argument, NULL, DIRECTORY },
        { "slots", required_argument, NULL, SLOTS },
        { "bytes", required_argument, NULL, BYTES },
        { "verify", no_argument, NULL, VERIFY },
        { "count", required_argument, NULL, COUNT },
        { "seconds", required_argument, NULL, SECONDS },
        { "help", no_argument, NULL, HELP },
        { NULL, 0, NULL, 0 },
    };
    int chosen, index = 0;

    while ((chosen = getopt_long(argc, argv, "", OPTIONS, &index)) != -1) {
        const char *name = OPTIONS[index].name;

        switch (chosen) {
        case DEVICE: settings->device = optarg; break;
        case CONTEXT: settings->context = (int)number(name, optarg, 0, 3); break;
        case DIRECTORY: settings->directory = optarg; break;
        case SLOTS: settings->slots = (int)number(name, optarg, 1, SLMP_MAX_SLOTS); break;
        case BYTES: settings->slot_bytes = number(name, optarg, 1, 1L << 30); break;
        case VERIFY: settings->verifies = true; break;
        case COUNT: settings->count = (int)number(name, optarg, 1, INT_MAX); break;
        case SECONDS: settings->seconds = (int)number(name, optarg, 1, INT_MAX); break;
        case HELP: fputs(USAGE, stdout); exit(0);
        default: fputs(USAGE, stderr); exit(2);
        }
    }
    if (argc - optind != 1 || settings->slots & (settings->slots - 1)) {
        fputs(USAGE, stderr);
        exit(2);
    }
    settings->image = argv[optind];
    settings->slot_bytes = (settings->slot_bytes + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
}

/* FNV-1a, to compare files by eye. */
static uint64_t digest(const uint8_t *data, size_t bytes)
{
    uint64_t sum = 0xcbf29ce484222325u;

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ data[i]) * 0x100000001b3u;
    return sum;
}

/* Writes a file so that it is there as a whole or not at all. */
static bool write_file(const char *directory, const slmp_record_t *record, int number,
                       const uint8_t *data)
{
    char name[PATH_MAX], part[PATH_MAX + 8];
    FILE *file;
    bool is_written;

    snprintf(name, sizeof(name), "%s/message-%u-%d.bin", directory, (unsigned)record->id, number);
    snprintf(part, sizeof(part), "%s.part", name);
    file = fopen(part, "wb");
    is_written = file && fwrite(data, 1, record->bytes, file) == record->bytes;
    if (file && fclose(file) != 0)
        is_written = false;
    if (!is_written || rename(part, name) != 0) {
        fprintf(stderr, "receive: %s: %s\n", name, strerror(errno));
        return false;
    }
    return true;
}

/* Takes a complete message; returns false when its file could not be written. */
static bool take(const fpspin_ctx_t *ctx, const struct settings *settings,
                 const slmp_record_t *record, int number, double start)
{
    const uint8_t *regions = (const uint8_t *)ctx->cpu_addr + NUM_HPUS * PAGE_SIZE +
                             SLMP_RECORDS_BYTES;
    const uint8_t *data = regions + (size_t)record->slot * (size_t)settings->slot_bytes;
    struct in_addr source = { .s_addr = record->source };
    char address[INET_ADDRSTRLEN];

    if ((record->state & 0xff) != SLMP_COMPLETE || record->slot >= (uint32_t)settings->slots ||
        record->bytes > settings->slot_bytes) {
        fprintf(stderr, "receive: a request makes no sense: slot %u, %u bytes\n", record->slot,
                record->bytes);
        return false;
    }
    inet_ntop(AF_INET, &source, address, sizeof(address));
    printf("message %u from %s: %u bytes, digest %016llx, at %.3f s\n", record->id, address,
           record->bytes, (unsigned long long)digest(data, record->bytes), now() - start);
    fflush(stdout);
    return !settings->directory || write_file(settings->directory, record, number, data);
}

/* Looks at every HPU's page once; returns how many messages were there, or -1. */
static int poll_once(fpspin_ctx_t *ctx, const struct settings *settings, int taken, double start)
{
    int found = 0;

    for (int hpu = 0; hpu < NUM_HPUS; hpu++) {
        fpspin_flag_t flag;
        volatile void *payload = fpspin_pop_req(ctx, hpu, &flag);
        slmp_record_t record;

        if (!payload)
            continue;
        memcpy(&record, (const void *)payload, sizeof(record));
        if (!take(ctx, settings, &record, taken + found, start))
            return -1;
        /* The answer gives the slot back. */
        if (!fpspin_push_resp(ctx, hpu, flag))
            return -1;
        found++;
    }
    return found;
}

static void report(fpspin_ctx_t *ctx, int taken)
{
    printf("%d messages, %u bytes\n", taken, fpspin_get_counter(ctx, SLMP_MESSAGES).sum);
    for (int i = 1; i < SLMP_COUNTERS; i++) {
        fpspin_counter_t counter = fpspin_get_counter(ctx, i);

        if (counter.count > 0)
            printf("%s: %u\n", COUNTERS[i], counter.count);
    }
}

int main(int argc, char **argv)
{
    struct settings settings = { .device = "/dev/pspin0", .slots = SLMP_SLOTS_DEFAULT,
                                 .slot_bytes = 1 << 20 };
    slmp_config_t config = { .options = SLMP_HOST_REQUEST };
    fpspin_ruleset_t rules;
    fpspin_ctx_t ctx;
    double start;
    int taken = 0, found = 0;
    long pages;

    read_options(argc, argv, &settings);
    pages = NUM_HPUS + 1 + settings.slots * (settings.slot_bytes / PAGE_SIZE);
    if (pages > INT_MAX / PAGE_SIZE) {
        fprintf(stderr, "receive: %d slots of %ld bytes are more than host memory may have\n",
                settings.slots, settings.slot_bytes);
        return 2;
    }
    signal(SIGINT, end);
    signal(SIGTERM, end);
    fpspin_ruleset_slmp(&rules);
    if (!fpspin_init(&ctx, settings.device, settings.image, settings.context, &rules, 1,
                     (int)pages))
        return 1;
    config.slots = (uint32_t)settings.slots;
    config.slot_bytes = (uint32_t)settings.slot_bytes;
    config.options |= settings.verifies ? SLMP_VERIFY : 0;
    if (!fpspin_write_memory(&ctx, ctx.handler_mem.addr, &config, sizeof(config))) {
        fpspin_exit(&ctx);
        return 1;
    }
    for (int i = 0; i < SLMP_COUNTERS; i++)
        fpspin_clear_counter(&ctx, i);
    printf("receiving on %s, %d messages of up to %ld bytes at a time\n", settings.device,
           settings.slots, settings.slot_bytes);
    fflush(stdout);
    start = now();
    while (!is_over && found >= 0 && (settings.count == 0 || taken < settings.count) &&
           (settings.seconds == 0 || now() - start < settings.seconds)) {
        found = poll_once(&ctx, &settings, taken, start);
        if (found > 0)
            taken += found;
        else if (found == 0)
            usleep(200);
    }
    report(&ctx, taken);
    fpspin_exit(&ctx);
    return found < 0 ? 1 : 0;
}
