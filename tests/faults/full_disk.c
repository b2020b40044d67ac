/* A library for LD_PRELOAD under which one folder of a process, a JVM for instance, is on a full
 * disk: nothing can be written below it, while files and folders can still be made and removed.
 *
 * FULL_DISK is the folder, without a slash at its end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(result, name, ...)                                                                    \
    static result (*real)(__VA_ARGS__);                                                            \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int is_full(int descriptor)
{
    char link[64], path[PATH_MAX];
    const char *folder = getenv("FULL_DISK");
    if (!folder || descriptor < 3) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    size_t prefix = strlen(folder);
    if (strncmp(path, folder, prefix) != 0 || path[prefix] != '/') return 0;
    errno = ENOSPC;
    return 1;
}

ssize_t write(int descriptor, const void *content, size_t length)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    return is_full(descriptor) ? -1 : real(descriptor, content, length);
}

ssize_t writev(int descriptor, const struct iovec *parts, int number)
{
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    return is_full(descriptor) ? -1 : real(descriptor, parts, number);
}

#define PWRITE(name, offset_type)                                                                  \
    ssize_t name(int descriptor, const void *content, size_t length, offset_type offset)           \
    {                                                                                              \
        REAL(ssize_t, #name, int, const void *, size_t, offset_type);                              \
        return is_full(descriptor) ? -1 : real(descriptor, content, length, offset);               \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
