/* A library for LD_PRELOAD that makes one system call of a process go wrong.
 *
 * Between `faults_arm` and `faults_disarm` it counts the calls that change something below a folder
 * and lets the n-th of them fail, or kills the process there. Calls elsewhere pass unseen, as do
 * all of them while it is not armed. A process that this one starts, such as a JVM, is armed by its
 * environment: see `faults_arm_by_environment`. It can also record what is done, and set the clock.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum fault {
    NOTHING,      /* count, and report every call */
    KILL,         /* SIGKILL before the call */
    TEAR,         /* SIGKILL after half of a write; before any other call */
    FAIL_ONCE,    /* this call fails */
    FAIL_LASTING, /* this call and all later ones fail; of a write half is done first */
    CUT,          /* SIGKILL before the call, after every call was reported */
    KILL_AFTER,   /* SIGKILL before the next call, whichever that is */
    STOP,         /* SIGSTOP before the call, which is done after a SIGCONT */
    CLOCK,        /* from the call on the clock is back by `error` seconds more */
};

static char folder[PATH_MAX];
static size_t folder_length;
static atomic_int armed, calls, hit;
static int target, fault, error, report, whole_group;
/* Gets every call that is done, of all processes, in the order of their writes. */
static int record = -1;
static atomic_int seconds_back;
static char pattern[PATH_MAX];

/* Begin to count. `path` has no slash at its end; `number` is the errno of a call that fails. What
 * was hit is written to `report_fd`, a line such as `link /root/journal/000001.json`. */
void faults_arm(const char *path, int call, int which, int number, int report_fd)
{
    folder_length = (size_t)snprintf(folder, sizeof folder, "%s", path);
    target = call;
    fault = which;
    error = number;
    report = report_fd;
    if (which == CUT) record = report_fd;
    calls = hit = 0;
    armed = 1;
}

/* Stop counting; how many calls there were. */
int faults_disarm(void)
{
    armed = 0;
    if (fault == CUT) record = -1;
    return calls;
}

#define NUMBER(name) (getenv(name) ? atoi(getenv(name)) : 0)

/* Begin to count in a process that `FAULTS_PROGRAM` names, a part of its executable's path:
 * `FAULTS_FOLDER`, `FAULTS_CALL`, `FAULTS_FAULT` and `FAULTS_ERROR` are as in `faults_arm`, and
 * `FAULTS_REPORT` is a file. Only calls count that fit `FAULTS_PATTERN`, as in
 * `rename *` followed by a path. `FAULTS_GROUP` kills the whole process group. In every process
 * `FAULTS_RECORD` is a file that gets all calls below the folder, and the clock is back by
 * `FAULTS_CLOCK` seconds. */
__attribute__((constructor)) void faults_arm_by_environment(void)
{
    seconds_back = NUMBER("FAULTS_CLOCK");
    if (!getenv("FAULTS_FOLDER")) return;
    if (getenv("FAULTS_RECORD")) {
        record = open(getenv("FAULTS_RECORD"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        faults_arm(getenv("FAULTS_FOLDER"), 0, NOTHING, 0, -1);
    }
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0 || !getenv("FAULTS_PROGRAM")) return;
    program[length] = 0;
    if (!strstr(program, getenv("FAULTS_PROGRAM"))) return;
    int said = -1;
    if (getenv("FAULTS_REPORT"))
        said = open(getenv("FAULTS_REPORT"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (getenv("FAULTS_PATTERN"))
        snprintf(pattern, sizeof pattern, "%s", getenv("FAULTS_PATTERN"));
    whole_group = NUMBER("FAULTS_GROUP");
    faults_arm(getenv("FAULTS_FOLDER"), NUMBER("FAULTS_CALL"), NUMBER("FAULTS_FAULT"),
               NUMBER("FAULTS_ERROR"), said);
}

/* Whether the call was reached. */
int faults_hit(void) { return hit; }

#define REAL(result, name, ...)                                                                    \
    static result (*real)(__VA_ARGS__);                                                            \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int below(const char *path)
{
    return strncmp(path, folder, folder_length) == 0 &&
           (path[folder_length] == '/' || path[folder_length] == 0);
}

static int path_of(int descriptor, char *into)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, into, PATH_MAX - 1);
    if (length < 0) return 0;
    into[length] = 0;
    return 1;
}

static void say(int into, const char *line, int length)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    if (into >= 0) (void)!real(into, line, (size_t)length);
}

static void tell(const char *name, const char *path)
{
    char line[PATH_MAX + 64];
    say(report, line, snprintf(line, sizeof line, "%s %s\n", name, path));
}

/* A new name is recorded with the old one, in one write: other threads record too. */
static void keep(const char *name, const char *from, const char *path)
{
    char line[4 * PATH_MAX + 64];
    if (record < 0) return;
    int length = from ? snprintf(line, sizeof line, "from %s\n", from) : 0;
    length += snprintf(line + length, sizeof line - (size_t)length, "%s %s\n", name, path);
    say(record, line, length);
}

static void die(void) { kill(whole_group ? 0 : getpid(), SIGKILL); }

/* The signal may be taken by another thread, a moment later: this one waits for it. */
static void stop(void)
{
    struct timespec moment = {0, 200000000};
    kill(whole_group ? 0 : getpid(), SIGSTOP);
    nanosleep(&moment, NULL);
}

/* Whether a call is one of those that are counted. */
static int counts(const char *name, const char *path)
{
    char line[PATH_MAX + 64];
    if (!pattern[0]) return 1;
    snprintf(line, sizeof line, "%s %s", name, path);
    return fnmatch(pattern, line, 0) == 0;
}

/* What is to become of a call. */
enum answer { PASS, FAIL, HALF };

static enum answer answer_to(const char *name, const char *path, ssize_t length, int frees)
{
    if (fault == KILL_AFTER && hit) die();
    if (!counts(name, path)) return PASS;
    int call = ++calls;
    int full = error == ENOSPC || error == EDQUOT;
    if (fault == NOTHING) tell(name, path);
    if (fault == NOTHING || call < target || (call > target && fault != FAIL_LASTING)) return PASS;
    if (frees && full && (fault == FAIL_ONCE || fault == FAIL_LASTING)) return PASS;
    if (call == target || !hit) {
        hit = 1;
        tell(name, path);
        if (fault == KILL || fault == CUT || (fault == TEAR && length < 2)) die();
        if (fault == STOP) stop();
        if (fault == CLOCK) seconds_back += error;
        if (fault == KILL_AFTER || fault == STOP || fault == CLOCK) return PASS;
        if (fault == TEAR || (fault == FAIL_LASTING && length > 1)) return HALF;
    }
    errno = error;
    return FAIL;
}

/* Count a call. `length` is what it would write, -1 if it writes no content; `frees` says that it
 * can only give space back, which a full disk does not prevent; `from` is the old name. */
static enum answer count(const char *name, const char *from, const char *path, ssize_t length,
                         int frees)
{
    enum answer answer = answer_to(name, path, length, frees);
    if (answer != FAIL) keep(name, from, path);
    return answer;
}

/* The absolute path of a name, into a place of two lengths; 0 if there is none. */
static int absolute(int directory, const char *path, char *place)
{
    place[0] = 0;
    if (path[0] != '/') {
        if (directory == AT_FDCWD ? !getcwd(place, PATH_MAX) : !path_of(directory, place)) return 0;
        strcat(place, "/");
    }
    strncat(place, path, PATH_MAX - 1);
    return 1;
}

static enum answer change(const char *name, int directory, const char *path, int frees)
{
    char place[2 * PATH_MAX];
    if (!armed || !path || !absolute(directory, path, place)) return PASS;
    return below(place) ? count(name, NULL, place, -1, frees) : PASS;
}

/* A file gets another name, or one more. */
static enum answer rename_from(const char *name, int from_directory, const char *from, int directory,
                               const char *to)
{
    char before[2 * PATH_MAX], place[2 * PATH_MAX];
    if (!armed || !from || !to || !absolute(from_directory, from, before)) return PASS;
    if (!absolute(directory, to, place) || !below(place)) return PASS;
    return count(name, before, place, -1, 0);
}

static enum answer change_open(const char *name, int descriptor, ssize_t length)
{
    char place[PATH_MAX];
    if (!armed || descriptor < 3 || !path_of(descriptor, place) || !below(place)) return PASS;
    return count(name, NULL, place, length, 0);
}

/* ---- files are made ---------------------------------------------------------------------- */

#define MAKES(flags) ((flags) & (O_CREAT | O_TRUNC) || ((flags) & O_TMPFILE) == O_TMPFILE)
#define MODE(flags)                                                                                \
    mode_t mode = 0;                                                                               \
    if (MAKES(flags)) {                                                                            \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode = va_arg(more, mode_t);                                                               \
        va_end(more);                                                                              \
    }
#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        REAL(int, #name, const char *, int, ...);                                                  \
        MODE(flags)                                                                                \
        if (MAKES(flags) && change("open", AT_FDCWD, path, 0) != PASS) return -1;                  \
        return real(path, flags, mode);                                                            \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
    int name(int directory, const char *path, int flags, ...)                                      \
    {                                                                                              \
        REAL(int, #name, int, const char *, int, ...);                                             \
        MODE(flags)                                                                                \
        if (MAKES(flags) && change("open", directory, path, 0) != PASS) return -1;                 \
        return real(directory, path, flags, mode);                                                 \
    }
OPENAT(openat)
OPENAT(openat64)

int mkdir(const char *path, mode_t mode)
{
    REAL(int, "mkdir", const char *, mode_t);
    return change("mkdir", AT_FDCWD, path, 0) == PASS ? real(path, mode) : -1;
}

int mkdirat(int directory, const char *path, mode_t mode)
{
    REAL(int, "mkdirat", int, const char *, mode_t);
    return change("mkdir", directory, path, 0) == PASS ? real(directory, path, mode) : -1;
}

/* ---- content is written ------------------------------------------------------------------ */

ssize_t write(int descriptor, const void *content, size_t length)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    enum answer answer = change_open("write", descriptor, (ssize_t)length);
    if (answer == FAIL) return -1;
    if (answer == PASS) return real(descriptor, content, length);
    ssize_t written = real(descriptor, content, length / 2);
    if (fault == TEAR) die();
    return written;
}

#define PWRITE(name, offset_type)                                                                  \
    ssize_t name(int descriptor, const void *content, size_t length, offset_type offset)           \
    {                                                                                              \
        REAL(ssize_t, #name, int, const void *, size_t, offset_type);                              \
        enum answer answer = change_open("pwrite", descriptor, (ssize_t)length);                   \
        if (answer == FAIL) return -1;                                                             \
        if (answer == PASS) return real(descriptor, content, length, offset);                      \
        ssize_t written = real(descriptor, content, length / 2, offset);                           \
        if (fault == TEAR) die();                                                \
        return written;                                                                            \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int descriptor, const struct iovec *parts, int number)
{
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    enum answer answer = change_open("writev", descriptor, number > 1 ? 2 : -1);
    if (answer == FAIL) return -1;
    if (answer == PASS) return real(descriptor, parts, number);
    ssize_t written = real(descriptor, parts, number / 2);
    if (fault == TEAR) die();
    return written;
}

#define TRUNCATE(name, offset_type)                                                                \
    int name(int descriptor, offset_type length)                                                   \
    {                                                                                              \
        REAL(int, #name, int, offset_type);                                                        \
        return change_open("ftruncate", descriptor, -1) == PASS ? real(descriptor, length) : -1;   \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *into, size_t length, unsigned flags)
{
    REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
    if (change_open("copy_file_range", to, -1) != PASS) return -1;
    return real(from, at, to, into, length, flags);
}

#define SENDFILE(name, offset_type)                                                                \
    ssize_t name(int to, int from, offset_type *at, size_t length)                                 \
    {                                                                                              \
        REAL(ssize_t, #name, int, int, offset_type *, size_t);                                     \
        return change_open("sendfile", to, -1) == PASS ? real(to, from, at, length) : -1;          \
    }
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

int fsync(int descriptor)
{
    REAL(int, "fsync", int);
    return change_open("fsync", descriptor, -1) == PASS ? real(descriptor) : -1;
}

int fdatasync(int descriptor)
{
    REAL(int, "fdatasync", int);
    return change_open("fdatasync", descriptor, -1) == PASS ? real(descriptor) : -1;
}

/* ---- names come and go ------------------------------------------------------------------- */

int rename(const char *from, const char *to)
{
    REAL(int, "rename", const char *, const char *);
    return rename_from("rename", AT_FDCWD, from, AT_FDCWD, to) == PASS ? real(from, to) : -1;
}

int renameat(int from_directory, const char *from, int directory, const char *to)
{
    REAL(int, "renameat", int, const char *, int, const char *);
    return rename_from("rename", from_directory, from, directory, to) == PASS ? real(from_directory, from, directory, to) : -1;
}

int renameat2(int from_directory, const char *from, int directory, const char *to, unsigned flags)
{
    REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
    if (rename_from("rename", from_directory, from, directory, to) != PASS) return -1;
    return real(from_directory, from, directory, to, flags);
}

int link(const char *from, const char *to)
{
    REAL(int, "link", const char *, const char *);
    return rename_from("link", AT_FDCWD, from, AT_FDCWD, to) == PASS ? real(from, to) : -1;
}

int linkat(int from_directory, const char *from, int directory, const char *to, int flags)
{
    REAL(int, "linkat", int, const char *, int, const char *, int);
    if (rename_from("link", from_directory, from, directory, to) != PASS) return -1;
    return real(from_directory, from, directory, to, flags);
}

int symlink(const char *from, const char *to)
{
    REAL(int, "symlink", const char *, const char *);
    return change("symlink", AT_FDCWD, to, 0) == PASS ? real(from, to) : -1;
}

int unlink(const char *path)
{
    REAL(int, "unlink", const char *);
    return change("unlink", AT_FDCWD, path, 1) == PASS ? real(path) : -1;
}

int unlinkat(int directory, const char *path, int flags)
{
    REAL(int, "unlinkat", int, const char *, int);
    return change("unlink", directory, path, 1) == PASS ? real(directory, path, flags) : -1;
}

int rmdir(const char *path)
{
    REAL(int, "rmdir", const char *);
    return change("rmdir", AT_FDCWD, path, 1) == PASS ? real(path) : -1;
}

/* Java's File.delete calls this one; within the C library it does not pass through unlink. */
int remove(const char *path)
{
    REAL(int, "remove", const char *);
    return change("unlink", AT_FDCWD, path, 1) == PASS ? real(path) : -1;
}

/* ---- the clock --------------------------------------------------------------------------- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    int answer = real(clock, now);
    if (answer == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec -= seconds_back;
    return answer;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    REAL(int, "gettimeofday", struct timeval *, void *);
    int answer = real(now, zone);
    if (answer == 0) now->tv_sec -= seconds_back;
    return answer;
}

time_t time(time_t *into)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into) *into = now.tv_sec;
    return now.tv_sec;
}

/* The kernel's clock stays, so a deadline of ours would be past at once, and librdkafka's threads,
 * which wait by the time of day, would never rest. A deadline by the monotonic clock, which counts
 * from the start of the machine, is a small number. */
#define YEAR_2001 1000000000

static struct timespec by_the_kernels_clock(const struct timespec *deadline)
{
    struct timespec at = *deadline;
    if (at.tv_sec > YEAR_2001) at.tv_sec += seconds_back;
    return at;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict deadline)
{
    REAL(int, "pthread_cond_timedwait", pthread_cond_t *, pthread_mutex_t *,
         const struct timespec *);
    struct timespec at = by_the_kernels_clock(deadline);
    return real(condition, mutex, &at);
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
                  const struct timespec *restrict deadline)
{
    REAL(int, "cnd_timedwait", cnd_t *, mtx_t *, const struct timespec *);
    struct timespec at = by_the_kernels_clock(deadline);
    return real(condition, mutex, &at);
}
