/* What the host programs of the two ping-pongs share: options, signals, and the loop that answers
 * handlers. */
#ifndef ECHO_SERVE_H
#define ECHO_SERVE_H

#include <fpspin/fpspin.h>

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_BYTES (PAGE_SIZE - DMA_ALIGN) /* of a packet in an HPU's page */
#define IDLE_ROUNDS 2000                   /* looks at all pages before the first nap */
#define NAP_NS 20000
#define LINGER_NS 100000000                /* for handlers to send the last answers */

enum echo_mode { MODE_HOST, MODE_FPSPIN, MODE_HOST_FPSPIN };

struct echo_options {
    enum echo_mode mode;
    const char *device;
    const char *image;
    int context;
    unsigned long count; /* requests to answer before it ends; 0: no end */
};

/* Turns a request into its reply, in place; returns its bytes, 0: no reply. */
typedef size_t (*make_reply_fn)(void *packet, size_t bytes);

static volatile sig_atomic_t is_stopped;

static void stop(int signal)
{
    (void)signal;
    is_stopped = 1;
}

/* Makes Ctrl-C and kill end the program between two requests, so that it can give its context back;
 * calls that wait return. */
static void stop_on_signals(void)
{
    struct sigaction action = { .sa_handler = stop };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void usage(const char *program)
{
    fprintf(stderr,
            "usage: %s --mode host|fpspin|host+fpspin --image ELF\n"
            "          [--device /dev/pspin0] [--context 0] [--count REQUESTS]\n",
            program);
    exit(2);
}

/* Reads a number, all of the text. */
static unsigned long number_of(const char *program, const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0') {
        fprintf(stderr, "%s: `%s` is no number\n", program, text);
        usage(program);
    }
    return number;
}

static enum echo_mode mode_of(const char *program, const char *text)
{
    if (strcmp(text, "host") == 0)
        return MODE_HOST;
    if (strcmp(text, "fpspin") == 0)
        return MODE_FPSPIN;
    if (strcmp(text, "host+fpspin") == 0)
        return MODE_HOST_FPSPIN;
    fprintf(stderr, "%s: there is no mode `%s`\n", program, text);
    usage(program);
    return MODE_HOST;
}

static struct echo_options read_options(int argc, char **argv)
{
    static const struct option known[] = {
        { "mode", required_argument, NULL, 'm' },   { "image", required_argument, NULL, 'i' },
        { "device", required_argument, NULL, 'd' }, { "context", required_argument, NULL, 'c' },
        { "count", required_argument, NULL, 'n' },  { NULL, 0, NULL, 0 },
    };
    struct echo_options options = { .device = "/dev/pspin0" };
    const char *mode = NULL;
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'm': mode = optarg; break;
        case 'i': options.image = optarg; break;
        case 'd': options.device = optarg; break;
        case 'c': options.context = (int)number_of(argv[0], optarg); break;
        case 'n': options.count = number_of(argv[0], optarg); break;
        default: usage(argv[0]);
        }
    }
    if (optind < argc || mode == NULL || options.image == NULL)
        usage(argv[0]);
    options.mode = mode_of(argv[0], mode);
    return options;
}

/* Refuses --count where this program answers nothing. */
static void refuse_count(const char *program, const struct echo_options *options)
{
    if (options->count == 0)
        return;
    fprintf(stderr, "%s: --count: in this mode the program does not see the requests\n", program);
    usage(program);
}

/* Waits until somebody ends the program; the NIC, or the kernel, answers. */
static void wait_for_end(void)
{
    while (!is_stopped)
        sleep(1);
}

/* Answers what waits in one HPU's page; returns whether there was a request, -1 when the NIC is
 * gone. */
static int answer_one(fpspin_ctx_t *ctx, int hpu, make_reply_fn make_reply)
{
    fpspin_flag_t flag;
    volatile void *packet = fpspin_pop_req(ctx, hpu, &flag);

    if (packet == NULL)
        return 0;
    flag.len = flag.len > MOST_BYTES ? 0 : (uint32_t)make_reply((void *)packet, flag.len);
    return fpspin_push_resp(ctx, hpu, flag) ? 1 : -1;
}

/* Leaves handlers that have their answer the time to send it: giving the context back ends them. */
static void linger(void)
{
    const struct timespec while_they_send = { .tv_nsec = LINGER_NS };

    nanosleep(&while_they_send, NULL);
}

/* Answers handlers until there were `count` requests (0: no end) or a signal comes; returns how
 * many it answered, -1 when the NIC is gone. */
static long serve(fpspin_ctx_t *ctx, unsigned long count, make_reply_fn make_reply)
{
    const struct timespec nap = { .tv_nsec = NAP_NS };
    unsigned long served = 0;
    unsigned idle = 0;

    while (!is_stopped && (count == 0 || served < count)) {
        int found = 0;

        for (int hpu = 0; hpu < NUM_HPUS && (count == 0 || served < count); hpu++) {
            int answered = answer_one(ctx, hpu, make_reply);
            if (answered < 0)
                return -1;
            found |= answered;
            served += (unsigned long)answered;
        }
        /* Whoever polls all the time keeps a core from the programs that make the traffic. */
        idle = found ? 0 : idle + 1;
        if (idle > IDLE_ROUNDS)
            nanosleep(&nap, NULL);
    }
    linger();
    return (long)served;
}

#endif
