/* Finds a NIC's socket, connects, asks and gets answers.
 *
 * Several threads may ask at once: `turn` makes one wait for the other, from the question to its
 * answer. What is not answered needs no turn, because a packet of the socket is sent whole. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "internal.h"

bool pinion_fail(const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "fpspin: %s\n", text);
    return false;
}

struct pinion_link *pinion_link_of(fpspin_ctx_t *ctx, const char *what)
{
    if (ctx && ctx->link)
        return ctx->link;
    pinion_fail("%s: the context is not attached to a NIC; call fpspin_init first", what);
    return NULL;
}

/* Returns this user's number outside of the user namespace: `unshare --map-root-user` makes nobody
 * root. */
static unsigned outer_user(void)
{
    unsigned own = (unsigned)geteuid(), inside, outside, count, found = own;
    FILE *map = fopen("/proc/self/uid_map", "re");

    while (map && fscanf(map, "%u %u %u", &inside, &outside, &count) == 3) {
        if (own >= inside && own - inside < count)
            found = outside + (own - inside);
    }
    if (map)
        fclose(map);
    return found;
}

static bool is_mine(const char *folder)
{
    struct stat found;

    return stat(folder, &found) == 0 && found.st_uid == geteuid();
}

/* Writes the folder of NICs' sockets: where `pinion nic` puts them for the same user. */
static int socket_folder(char *path, size_t room)
{
    const char *folder = getenv("PINION_NIC_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");
    unsigned user = outer_user();
    char session[64];

    if (folder && *folder)
        return snprintf(path, room, "%s", folder);
    if (runtime && *runtime == '/' && is_mine(runtime))
        return snprintf(path, room, "%s/pinion", runtime);
    if (user == 0)
        return snprintf(path, room, "/run/pinion");
    snprintf(session, sizeof(session), "/run/user/%u", user);
    if (is_mine(session))
        return snprintf(path, room, "%s/pinion", session);
    return snprintf(path, room, "/tmp/pinion-%u", user);
}

/* Writes the path of a device's socket; false if it is too long. */
static bool socket_path(const char *device, char *path, size_t room)
{
    const char *slash = strrchr(device, '/'), *name = slash ? slash + 1 : device;
    size_t length = strlen(device);
    int wanted;

    if (length > 5 && !strcmp(device + length - 5, ".sock"))
        wanted = snprintf(path, room, "%s", device);
    else {
        wanted = socket_folder(path, room);
        if (wanted > 0 && (size_t)wanted < room) {
            int more = snprintf(path + wanted, room - (size_t)wanted, "/%s.sock", name);
            wanted = more < 0 ? more : wanted + more;
        }
    }
    return wanted > 0 && (size_t)wanted < room;
}

static int open_socket(const char *device)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char path[sizeof(address.sun_path)];
    int fd;

    if (!*device || !socket_path(device, path, sizeof(path))) {
        pinion_fail("NIC %s: the path of its socket is empty or too long; set PINION_NIC_DIR to a "
                    "shorter folder", device);
        return -1;
    }
    memcpy(address.sun_path, path, sizeof(path));
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    if (errno == ENOENT || errno == ECONNREFUSED)
        pinion_fail("there is no NIC %s: nobody serves %s; start one (pinion nic --machine fpspin "
                    "--tap pin0) or set PINION_NIC_DIR to its folder", device, path);
    else if (errno == EACCES || errno == EPERM)
        pinion_fail("NIC %s: you may not use %s; whoever runs the NIC can let you "
                    "(pinion nic --allow-user or --allow-group)", device, path);
    else
        pinion_fail("NIC %s: cannot connect to %s: %s", device, path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

struct pinion_link *pinion_connect(const char *device)
{
    struct pinion_link *link;
    int fd = open_socket(device);

    if (fd < 0)
        return NULL;
    link = calloc(1, sizeof(*link));
    if (!link) {
        close(fd);
        pinion_fail("NIC %s: no memory", device);
        return NULL;
    }
    link->fd = fd;
    pthread_mutex_init(&link->turn, NULL);
    pthread_mutex_init(&link->map, NULL);
    snprintf(link->device, sizeof(link->device), "%s", device);
    if (!pinion_ask(link, PINION_HELLO, NULL, 0, -1, &link->machine, sizeof(link->machine),
                    NULL, "connect")) {
        pinion_disconnect(link);
        return NULL;
    }
    link->machine.name[PINION_NAME_BYTES - 1] = 0;
    return link;
}

void pinion_disconnect(struct pinion_link *link)
{
    close(link->fd);
    if (link->handler_memory)
        munmap((void *)link->handler_memory, link->window.bytes);
    pthread_mutex_destroy(&link->map);
    pthread_mutex_destroy(&link->turn);
    free(link);
}

static bool send_parts(struct pinion_link *link, struct pinion_header *header,
                       const struct pinion_part *parts, int count, int send_fd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .bytes = { 0 } };
    struct iovec pieces[5] = { { header, sizeof(*header) } };
    struct msghdr message = { .msg_iov = pieces, .msg_iovlen = (size_t)count + 1 };
    ssize_t sent;

    for (int i = 0; i < count; i++)
        pieces[i + 1] = (struct iovec){ (void *)parts[i].data, parts[i].bytes };
    if (send_fd >= 0) {
        struct cmsghdr *rights;

        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), &send_fd, sizeof(int));
    }
    do
        sent = sendmsg(link->fd, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

/* Keeps a file that came where there is room. */
static void keep(int fd, int *got_fds)
{
    for (int i = 0; got_fds && i < PINION_FILES_MAX; i++) {
        if (got_fds[i] < 0) {
            got_fds[i] = fd;
            return;
        }
    }
    close(fd);
}

/* Receives one message; its files go to `got_fds` or are closed. Returns its bytes, 0 when the NIC has
 * hung up, below 0 with errno set. */
static ssize_t receive(struct pinion_link *link, struct pinion_header *header, void *body,
                       size_t room, int *got_fds)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(PINION_FILES_MAX * sizeof(int))];
    } control;
    struct iovec pieces[2] = { { header, sizeof(*header) }, { body, room } };
    struct msghdr message = { .msg_iov = pieces,
                              .msg_iovlen = 2,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
    bool was_reset = false;
    ssize_t got;
    int fd;

    /* A NIC that hangs up with our question unread resets the connection: that is told once, before
     * what it said last. */
    do
        got = recvmsg(link->fd, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 &&
           (errno == EINTR || (errno == ECONNRESET && !was_reset && (was_reset = true))));
    if (got <= 0)
        return got;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = CMSG_LEN(0); at + sizeof(fd) <= part->cmsg_len; at += sizeof(fd)) {
            memcpy(&fd, (char *)part + at, sizeof(fd));
            keep(fd, got_fds);
        }
    }
    return got;
}

/* Waits for the answer to question `number` and checks it. */
static bool get_answer(struct pinion_link *link, enum pinion_kind kind, uint32_t number,
                       void *answer, size_t bytes, int *got_fds, const char *what)
{
    struct pinion_header header;
    char scratch[1024], *body = bytes > sizeof(scratch) ? answer : scratch;
    size_t room = bytes > sizeof(scratch) ? bytes : sizeof(scratch);
    ssize_t got = receive(link, &header, body, room, got_fds);
    size_t length = got > (ssize_t)sizeof(header) ? (size_t)got - sizeof(header) : 0;

    if (got <= 0)
        return pinion_fail("%s: the NIC %s %s", what, link->device,
                           got == 0 || errno == ECONNRESET ? "has hung up: it ended, or refused "
                                                             "this program; see its output"
                                                           : strerror(errno));
    if ((size_t)got < sizeof(header) || header.magic != PINION_MAGIC)
        return pinion_fail("%s: what serves NIC %s is no Pinion NIC", what, link->device);
    if (header.status)
        return pinion_fail("%s: %.*s", what, (int)length, body);
    if (header.version != PINION_VERSION)
        return pinion_fail("%s: this program speaks version %d, NIC %s version %d; compile the "
                           "program anew with the pinion that runs the NIC",
                           what, PINION_VERSION, link->device, header.version);
    if (header.kind != kind || header.number != number || length != bytes)
        return pinion_fail("%s: NIC %s answered something else", what, link->device);
    if (bytes && body != answer)
        memcpy(answer, body, bytes);
    return true;
}

bool pinion_ask(struct pinion_link *link, enum pinion_kind kind, const struct pinion_part *parts,
                int count, int send_fd, void *answer, size_t bytes, int *got_fds, const char *what)
{
    struct pinion_header header = { PINION_MAGIC, PINION_VERSION, kind, 0, 0 };
    bool done;

    pthread_mutex_lock(&link->turn);
    header.number = ++link->number;
    /* A NIC that refuses a connection says why before it hangs up: read it even then. */
    if (send_parts(link, &header, parts, count, send_fd) || errno == EPIPE)
        done = get_answer(link, kind, header.number, answer, bytes, got_fds, what);
    else
        done = pinion_fail("%s: NIC %s: %s", what, link->device, strerror(errno));
    pthread_mutex_unlock(&link->turn);
    return done;
}

bool pinion_tell(struct pinion_link *link, enum pinion_kind kind, const void *body, size_t bytes)
{
    struct pinion_header header = { PINION_MAGIC, PINION_VERSION, kind, 0, 0 };
    struct pinion_part part = { body, bytes };

    return send_parts(link, &header, &part, 1, -1) || (pinion_is_there(link), false);
}

bool pinion_is_there(struct pinion_link *link)
{
    char byte;
    ssize_t got = recv(link->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
        return true;
    if (!__atomic_exchange_n(&link->is_gone, 1, __ATOMIC_RELAXED))
        pinion_fail("the NIC %s has ended: its handlers ask for nothing any more", link->device);
    return false;
}
