/* Sends messages of a datatype's packed data by SLMP, all in parallel, each with a window of one
 * packet.
 *
 *     send TYPE ELEMENTS MESSAGES [FIRST-ID] SERVER
 *
 * The data are what receive.c expects. No MPI library is needed: the data are packed already.
 */
#include <arpa/inet.h>
#include <fpspin/slmp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ddt.h"

#define MOST_MESSAGES 256

void example_data(uint32_t id, uint8_t *data, size_t bytes);

typedef struct {
    pthread_t thread;
    in_addr_t server;
    int id;
    size_t bytes;
    bool sent;
} message_t;

static void *send_message(void *argument)
{
    message_t *message = argument;
    uint8_t *data = malloc(message->bytes);
    slmp_sock_t socket;

    if (data == NULL || slmp_socket(&socket, 1, 4, 0, 1) != 0) {
        perror("send: slmp_socket");
        free(data);
        return NULL;
    }
    example_data((uint32_t)message->id, data, message->bytes);
    message->sent = slmp_sendmsg(&socket, message->server, message->id, data, message->bytes) == 0;
    if (!message->sent)
        fprintf(stderr, "send: message %d: %m\n", message->id);
    slmp_close(&socket);
    free(data);
    return NULL;
}

int main(int count, char **arguments)
{
    static message_t messages[MOST_MESSAGES];
    struct timespec start, end;
    ddt_error_t error;
    ddt_type_t *type;
    struct in_addr server;
    int elements, parallel, first = 1, sent = 0;
    double seconds;

    if (count != 5 && count != 6) {
        fprintf(stderr, "usage: send TYPE ELEMENTS MESSAGES [FIRST-ID] SERVER\n");
        return 2;
    }
    elements = atoi(arguments[2]);
    parallel = atoi(arguments[3]);
    if (count == 6)
        first = atoi(arguments[4]);
    type = ddt_parse(arguments[1], &error);
    if (type == NULL) {
        fprintf(stderr, "send: %s\n", error.text);
        return 2;
    }
    if (elements < 1 || parallel < 1 || parallel > MOST_MESSAGES || first < 0 ||
        inet_pton(AF_INET, arguments[count - 1], &server) != 1) {
        fprintf(stderr, "send: elements, 1 to %d messages and an IPv4 address are expected\n",
                MOST_MESSAGES);
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int m = 0; m < parallel; m++) {
        messages[m].server = server.s_addr;
        messages[m].id = first + m;
        messages[m].bytes = (size_t)elements * (size_t)type->size;
        if (pthread_create(&messages[m].thread, NULL, send_message, &messages[m]) != 0)
            abort();
    }
    for (int m = 0; m < parallel; m++) {
        pthread_join(messages[m].thread, NULL);
        sent += messages[m].sent;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
    printf("%d of %d messages of %zu bytes in %.3f s (this computer's clock)\n", sent, parallel,
           messages[0].bytes, seconds);
    ddt_type_free(type);
    return sent == parallel ? 0 : 1;
}
