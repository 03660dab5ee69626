/* Multiplies matrices while handlers unpack messages of an MPI datatype: how much of the time is
 * left to the multiplication?
 *
 *     gemm_overlap [--device NAME] [--context N] [--type TYPE] [--elements N] [--messages N] \
 *                  IMAGE -- SENDER…
 *
 * SENDER is the command that sends the messages (examples/datatypes/host/send.c); it is started
 * twice or more. First alone, for the time of the transfer. Then with a multiplication of a size to
 * last slightly longer. As the FPsPIN paper defines it (V-C), T_MM is the time of the
 * multiplication, T_poll that of setting up and of polling for the end of the transfer, and the
 * overlap ratio T_MM / (T_MM + T_poll).
 *
 * All times are this computer's clock. The NIC is simulated on the same computer, far slower than
 * the hardware, and shares its processors with the multiplication: the ratio says that the host has
 * nothing to do for the data, not how fast an FPsPIN is. `pinion figure fpspin-fig10` is for that.
 */
#include <cblas.h>
#include <getopt.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../datatypes/host/mpi_types.h"
#include "../../datatypes/host/receiver.h"

#define TRIES 6
#define PROBE_SIZE 256
#define MOST_SIZE 2048 /* a longer multiplication is several of this size */
#define SLIGHTLY_LONGER 1.1
#define PATIENCE_SECONDS 300.0

extern char **environ;

typedef struct {
    receiver_options_t receiver;
    const char *type;
    int messages;
    char **sender;
} settings_t;

/* A multiplication c = a b, `rounds` times. */
typedef struct {
    int size, rounds;
    float *a, *b, *c;
} product_t;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void fill(product_t *product)
{
    size_t cells = (size_t)product->size * (size_t)product->size;

    product->a = malloc(cells * sizeof(float));
    product->b = malloc(cells * sizeof(float));
    product->c = malloc(cells * sizeof(float));
    if (product->a == NULL || product->b == NULL || product->c == NULL) {
        fprintf(stderr, "gemm_overlap: no memory for matrices of %d x %d\n", product->size,
                product->size);
        exit(2);
    }
    for (size_t i = 0; i < cells; i++) {
        product->a[i] = (float)(i % 7) - 3.0f;
        product->b[i] = (float)(i % 5) - 2.0f;
    }
}

static void drop(product_t *product)
{
    free(product->a);
    free(product->b);
    free(product->c);
}

static double multiply(const product_t *product)
{
    int n = product->size;
    double start = now();

    for (int round = 0; round < product->rounds; round++)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, product->a, n,
                    product->b, n, 0.0f, product->c, n);
    return now() - start;
}

/* Compares some cells with sums of products: small whole numbers, so they are exact. */
static bool is_right(const product_t *product)
{
    int n = product->size;

    for (int step = 0; step < 16; step++) {
        size_t row = (size_t)(step * 37 % n), column = (size_t)(step * 101 % n);
        float sum = 0;

        for (size_t k = 0; k < (size_t)n; k++)
            sum += product->a[row * (size_t)n + k] * product->b[k * (size_t)n + column];
        if (sum != product->c[row * (size_t)n + column])
            return false;
    }
    return true;
}

/* Chooses the size of a multiplication that lasts about so long. */
static product_t sized(double seconds)
{
    product_t probe = { .size = PROBE_SIZE, .rounds = 1 }, product = { .rounds = 1 };
    double one;

    fill(&probe);
    multiply(&probe); /* the library starts its threads */
    one = multiply(&probe);
    drop(&probe);
    product.size = (int)ceil(PROBE_SIZE * cbrt(seconds / one));
    if (product.size > MOST_SIZE) {
        product.rounds = (int)ceil(pow((double)product.size / MOST_SIZE, 3));
        product.size = MOST_SIZE;
    }
    fill(&product);
    return product;
}

static pid_t start_sender(char **command)
{
    pid_t child;
    int error = posix_spawnp(&child, command[0], NULL, NULL, command, environ);

    if (error == 0)
        return child;
    fprintf(stderr, "gemm_overlap: %s: %s\n", command[0], strerror(error));
    exit(2);
}

static bool is_sent(pid_t child)
{
    int status;

    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Polls until all messages are there. */
static bool await_messages(receiver_t *receiver, received_t *messages, int count)
{
    double end = now() + PATIENCE_SECONDS;
    int taken = 0;

    while (taken < count && now() < end)
        if (receiver_poll(receiver, &messages[taken]))
            taken++;
    return taken == count;
}

static bool check_and_release(receiver_t *receiver, const received_t *messages, int count,
                              MPI_Datatype type)
{
    for (int m = 0; m < count; m++) {
        if (!receiver_matches(receiver, &messages[m], type)) {
            fprintf(stderr, "gemm_overlap: message %u is not as MPI_Unpack places it\n",
                    messages[m].id);
            return false;
        }
        if (!receiver_release(receiver, &messages[m]))
            return false;
    }
    return true;
}

/* One transfer; with a product, that is multiplied meanwhile. Gives seconds of the two parts. */
static bool transfer(receiver_t *receiver, const settings_t *settings, const product_t *product,
                     MPI_Datatype type, double *multiplying, double *polling)
{
    received_t *messages = calloc((size_t)settings->messages, sizeof(*messages));
    double start = now(), started, multiplied;
    pid_t child = start_sender(settings->sender);
    bool good;

    if (messages == NULL)
        abort();
    started = now();
    *multiplying = product == NULL ? 0 : multiply(product);
    multiplied = now();
    good = await_messages(receiver, messages, settings->messages);
    *polling = started - start + now() - multiplied;
    if (!good)
        fprintf(stderr, "gemm_overlap: not all messages came\n");
    good = is_sent(child) && good;
    good = good && check_and_release(receiver, messages, settings->messages, type);
    free(messages);
    return good;
}

static int measure(receiver_t *receiver, const settings_t *settings, MPI_Datatype type)
{
    double alone, multiplying, polling, target;

    if (!transfer(receiver, settings, NULL, type, &multiplying, &alone))
        return 1;
    printf("transfer alone: %.3f s (this computer's clock)\n", alone);
    target = SLIGHTLY_LONGER * alone;
    for (int attempt = 0; attempt < TRIES; attempt++) {
        product_t product = sized(target);
        bool good = transfer(receiver, settings, &product, type, &multiplying, &polling);
        bool right = good && is_right(&product);

        if (good)
            printf("matrices of %d x %d, %d times: T_MM %.3f s, T_poll %.6f s, "
                   "overlap ratio %.4f\n",
                   product.size, product.size, product.rounds, multiplying, polling,
                   multiplying / (multiplying + polling));
        fflush(stdout);
        drop(&product);
        if (!right) {
            if (good)
                fprintf(stderr, "gemm_overlap: the product is wrong\n");
            return 1;
        }
        /* The two slow each other down: a multiplication that ended first was too small. */
        if (polling < 0.02 * multiplying)
            return 0;
        target = SLIGHTLY_LONGER * (multiplying + polling) * target / multiplying;
    }
    return 0;
}

static int number(const char *text, int least, int most)
{
    char *end;
    long value = strtol(text, &end, 0);

    if (end == text || *end != '\0' || value < least || value > most) {
        fprintf(stderr, "gemm_overlap: %s: a whole number from %d to %d is expected\n", text, least,
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
        { "messages", required_argument, NULL, 'm' }, { NULL, 0, NULL, 0 },
    };
    int option;

    while ((option = getopt_long(count, arguments, "+", options, NULL)) != -1) {
        switch (option) {
        case 'd': settings->receiver.device = optarg; break;
        case 'c': settings->receiver.context = number(optarg, 0, NUM_RULESETS - 1); break;
        case 't': settings->type = optarg; break;
        case 'e': settings->receiver.elements = (uint32_t)number(optarg, 1, 1 << 20); break;
        case 'm': settings->messages = number(optarg, 1, DDT_MAX_SLOTS); break;
        default: exit(2);
        }
    }
    if (optind + 2 >= count || strcmp(arguments[optind + 1], "--") != 0) {
        fprintf(stderr, "gemm_overlap: IMAGE -- SENDER… are expected\n");
        exit(2);
    }
    settings->receiver.image = arguments[optind];
    settings->receiver.slots = (uint32_t)settings->messages;
    settings->sender = arguments + optind + 2;
}

int main(int count, char **arguments)
{
    settings_t settings = { .receiver = { "/dev/pspin0", NULL, 0, 16, 1 },
                            .type = "complex_nested",
                            .messages = 16 };
    receiver_t receiver;
    MPI_Datatype type;
    int status = 1;

    MPI_Init(&count, &arguments);
    read_options(count, arguments, &settings);
    type = make_mpi_type(settings.type);
    MPI_Type_commit(&type);
    if (receiver_open(&receiver, type, &settings.receiver)) {
        status = measure(&receiver, &settings, type);
        if (status != 0)
            receiver_report(&receiver);
        receiver_close(&receiver);
    }
    MPI_Finalize();
    return status;
}
