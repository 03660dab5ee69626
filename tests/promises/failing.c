/* Lets the Nth call fail that creates, writes, or names a file below a folder, and all later ones: a disk that
 * is full. Preloaded into the command by failing.py.
 *
 * FAILING_FOLDER  the folder; other files are left alone
 * FAILING_AT      which call fails, from 1; 0: none
 * FAILING_ONCE    1: that call alone fails
 * FAILING_COUNT   a file, outside the folder, that gets the number of calls at the end */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static const char *folder(void)
{
    return getenv("FAILING_FOLDER");
}

/* Counts a call; tells whether it fails. */
static int fails(void)
{
    const char *at = getenv("FAILING_AT"), *once = getenv("FAILING_ONCE");
    long wanted = at ? atol(at) : 0, number = atomic_fetch_add(&calls, 1) + 1;

    if (wanted == 0 || number < wanted || (once && once[0] == '1' && number > wanted))
        return 0;
    errno = ENOSPC;
    return 1;
}

static int is_below(const char *path)
{
    char whole[4096];
    const char *wanted = folder();

    if (!wanted || !path)
        return 0;
    if (path[0] != '/') {
        char here[2048];

        if (!getcwd(here, sizeof here))
            return 0;
        if (snprintf(whole, sizeof whole, "%s/%s", here, path) >= (int)sizeof whole)
            return 0;
        path = whole;
    }
    return strncmp(path, wanted, strlen(wanted)) == 0;
}

static int is_ours(int fd)
{
    char link[64], path[4096];
    struct stat about;
    ssize_t length;

    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return is_below(path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count)
{
    return is_ours(fd) && fails() ? -1 : NEXT(write)(fd, bytes, count);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    return is_ours(fd) && fails() ? -1 : NEXT(writev)(fd, parts, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at)
{
    return is_ours(fd) && fails() ? -1 : NEXT(pwrite64)(fd, bytes, count, at);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t count, unsigned flags)
{
    return is_ours(to) && fails() ? -1 : NEXT(copy_file_range)(from, at, to, there, count, flags);
}

ssize_t sendfile64(int to, int from, off64_t *at, size_t count);
ssize_t sendfile64(int to, int from, off64_t *at, size_t count)
{
    return is_ours(to) && fails() ? -1 : NEXT(sendfile64)(to, from, at, count);
}

int ftruncate64(int fd, off64_t length)
{
    return is_ours(fd) && fails() ? -1 : NEXT(ftruncate64)(fd, length);
}

int fsync(int fd)
{
    return is_ours(fd) && fails() ? -1 : NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
    return is_ours(fd) && fails() ? -1 : NEXT(fdatasync)(fd);
}

int rename(const char *from, const char *to)
{
    return is_below(to) && fails() ? -1 : NEXT(rename)(from, to);
}

int mkdir(const char *path, mode_t mode)
{
    return is_below(path) && fails() ? -1 : NEXT(mkdir)(path, mode);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode = 0;

    if (flags & O_CREAT) {
        va_list rest;

        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
        if (is_below(path) && fails())
            return -1;
    }
    return NEXT(open64)(path, flags, mode);
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("FAILING_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;

    if (file) {
        fprintf(file, "%ld\n", atomic_load(&calls));
        fclose(file);
    }
}
