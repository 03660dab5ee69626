/* Receives messages of an MPI datatype on an FPsPIN NIC and compares each with MPI_Unpack.
 *
 *     receive [--device NAME] [--context N] [--type TYPE] [--elements N] [--slots N] [--messages N]
 *             [--seconds N] IMAGE
 *
 * IMAGE are the handlers (pinion build examples/datatypes); send.c sends what is expected here.
 * TYPE is in the notation of ddt_text.c and made by the MPI library's own calls. Times are this
 * computer's clock, not the NIC's.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi_types.h"
#include "receiver.h"

typedef struct {
    receiver_options_t receiver;
    const char *type;
    int messages, seconds;
} settings_t;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int number(const char *text, int least, int most)
{
    char *end;
    long value = strtol(text, &end, 0);

    if (end == text || *end != '\0' || value < least || value > most) {
        fprintf(stderr, "receive: %s: a whole number from %d to %d is expected\n", text, least,
                most);
        exit(2);
    }
    return (int)value;
}

static void read_options(int count, char **arguments, settings_t *settings)
{
    static const struct option options[] = {
        { "device", required_argument, NULL, 'd' },   { "context", required_argument, NULL, 'c' },
        { "type", required_argument, NULL, 't' },     { "elements", required_argument, NULL, 'e' },
        { "slots", required_argument, NULL, 's' },    { "messages", required_argument, NULL, 'm' },
        { "seconds", required_argument, NULL, 'x' },  { NULL, 0, NULL, 0 },
    };
    int option;

    while ((option = getopt_long(count, arguments, "", options, NULL)) != -1) {
        switch (option) {
        case 'd': settings->receiver.device = optarg; break;
        case 'c': settings->receiver.context = number(optarg, 0, NUM_RULESETS - 1); break;
        case 't': settings->type = optarg; break;
        case 'e': settings->receiver.elements = (uint32_t)number(optarg, 1, 1 << 20); break;
        case 's': settings->receiver.slots = (uint32_t)number(optarg, 1, DDT_MAX_SLOTS); break;
        case 'm': settings->messages = number(optarg, 1, 1 << 30); break;
        case 'x': settings->seconds = number(optarg, 1, 1 << 20); break;
        default: exit(2);
        }
    }
    if (optind != count - 1) {
        fprintf(stderr, "receive: one file with handlers is expected (pinion build)\n");
        exit(2);
    }
    settings->receiver.image = arguments[optind];
}

static int receive(receiver_t *receiver, const settings_t *settings, MPI_Datatype type)
{
    double end = now() + settings->seconds;
    int taken = 0, wrong = 0;

    while (taken < settings->messages && now() < end) {
        received_t message;
        bool same;

        if (!receiver_poll(receiver, &message)) {
            usleep(100);
            continue;
        }
        same = receiver_matches(receiver, &message, type);
        printf("message %u: %u bytes in slot %u, %s\n", message.id, message.bytes, message.slot,
               same ? "as MPI_Unpack places them" : "NOT as MPI_Unpack places them");
        fflush(stdout);
        taken++;
        wrong += !same;
        if (!receiver_release(receiver, &message))
            return 1;
    }
    receiver_report(receiver);
    printf("%d of %d messages, %d wrong\n", taken, settings->messages, wrong);
    return taken == settings->messages && wrong == 0 ? 0 : 1;
}

int main(int count, char **arguments)
{
    settings_t settings = { .receiver = { "/dev/pspin0", NULL, 0, 16, 20 },
                            .type = "complex_nested",
                            .messages = 16,
                            .seconds = 60 };
    receiver_t receiver;
    MPI_Datatype type;
    int status = 1;

    MPI_Init(&count, &arguments);
    read_options(count, arguments, &settings);
    type = make_mpi_type(settings.type);
    MPI_Type_commit(&type);
    if (receiver_open(&receiver, type, &settings.receiver)) {
        printf("ready for %d messages\n", settings.messages);
        fflush(stdout);
        status = receive(&receiver, &settings, type);
        receiver_close(&receiver);
    }
    MPI_Finalize();
    return status;
}
