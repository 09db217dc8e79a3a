"""Programs around a controller's C library: the controller as a process that talks to its arm.

The arm writes readings, the program answers with outputs, over UDP or through shared memory.
"""

from string import Template

from flexarm.exports.controller.library import Board

HELLO, STOP, NOTHING = 2**64 - 1, 2**64 - 2, 2**64 - 3
"""Numbers in place of that of a sample: of the controller's start, of the arm's end, and of a block not yet written."""

MAGIC = int.from_bytes(b"flexarm1", "little")
"""First word of the shared memory, with the version of its layout in the last letter."""

HEAD, LINE = 8, 8
"""Words before the first block of the shared memory, and words of a cache line, on which each block begins."""

PATIENCE = 5.0
"""Time without readings after which the program ends [s]."""


def offsets(board: Board) -> tuple[int, int, int]:
    """Return the words at which the readings and the outputs begin in the shared memory, and its number of words."""
    ny, nu = len(board.inputs.names), len(board.model.inputs)
    ends = [HEAD + LINE * -(-(2 + ny) // LINE)]
    return HEAD, ends[0], ends[0] + LINE * -(-(3 + nu) // LINE)


def program(board: Board, transport: str) -> dict[str, str]:
    """Return the controller as a process, NAME_udp.c or NAME_shared.c, with the layout of the shared memory.

    Its only argument is the port of the arm on the loopback interface, or the path of the file in shared memory.
    """
    period = board.feedback.period
    wait = 1.5 * period
    given = _given(board) | {
        "wait": repr(wait),
        "seconds": int(wait),
        "microseconds": max(1, round(1e6 * (wait % 1.0))),
        "idle": max(10, round(PATIENCE / wait)),
        "copied": f"inputs.y[i] = ({board.real})y[i];" if board.inputs.names else "(void)y[i];",
    }
    text = Template({"udp": UDP, "shared": SHARED}[transport] + MAIN).substitute(given)
    return {f"{board.name}_{transport}.c": text} | (shared_header(board) if transport == "shared" else {})


def shared(board: Board) -> dict[str, str]:
    """Return the controller as a process over shared memory, and the header with its layout: a target of exports."""
    return program(board, "shared")


def shared_header(board: Board) -> dict[str, str]:
    """Return NAME_shared.h: the layout of the shared memory and the functions that read and write it."""
    return {f"{board.name}_shared.h": Template(HEADER).substitute(_given(board))}


def _given(board: Board) -> dict[str, object]:
    readings, outputs, words = offsets(board)
    names = [*(f"//   y[{i}]  {name}" for i, name in enumerate(board.inputs.names))]
    names += [f"//   u[{i}]  {name}" for i, name in enumerate(board.model.inputs)]
    return {
        "name": board.name,
        "BIG": board.name.upper(),
        "ny": len(board.inputs.names),
        "nu": len(board.model.inputs),
        "readings": readings,
        "outputs": outputs,
        "words": words,
        "period": repr(float(board.feedback.period)),
        "magic": f"0x{MAGIC:016x}u",
        "signals": "\n".join(names).replace("\\", "/"),
    }


HEADER = """// Shared memory between the controller $name and its arm. Written by flexarm.
//
// The memory is a file of $words words of 8 bytes, in the byte order of the machine:
//
//   word 0                 ${BIG}_MAGIC, written last
//   words 1 to 3           number of readings, number of outputs, period [s] (a double)
//   words $readings, ...    readings, written by the arm: sequence, sample k, y
//   words $outputs, ...    outputs, written by the controller: sequence, sample k, u, status
//
// k is the number of the sample, or NOTHING (not written yet), HELLO (the controller has started) or STOP (the arm has
// ended).
// A sequence is odd while its block is written, and grows by two each time. A reader copies the block between two reads
// of an equal, even sequence, so that it never returns values of two samples.
//
$signals
#ifndef ${BIG}_SHARED_H
#define ${BIG}_SHARED_H

#include <stdint.h>
#include <time.h>

#define ${BIG}_MAGIC $magic
#define ${BIG}_SHARED_NY $ny
#define ${BIG}_SHARED_NU $nu
#define ${BIG}_SHARED_PERIOD $period
#define ${BIG}_READINGS $readings
#define ${BIG}_OUTPUTS $outputs
#define ${BIG}_WORDS $words
#define ${BIG}_HELLO UINT64_MAX
#define ${BIG}_STOP (UINT64_MAX - 1u)
#define ${BIG}_NOTHING (UINT64_MAX - 2u)

// Writes the words of a block after its sequence. Each block has one writer.
static inline void ${name}_publish(uint64_t *block, const uint64_t *words, int count)
{
    const uint64_t odd = __atomic_load_n(block, __ATOMIC_RELAXED) | 1u;
    __atomic_store_n(block, odd, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (int i = 0; i < count; i++) {
        __atomic_store_n(&block[1 + i], words[i], __ATOMIC_RELAXED);
    }
    __atomic_store_n(block, odd + 1u, __ATOMIC_RELEASE);
}

// Copies the words of a block that belong together and returns 1, or returns 0 if its writer does not let it.
static inline int ${name}_take(const uint64_t *block, uint64_t *words, int count)
{
    int taken = 0;
    for (int tries = 0; (tries < 1000) && (taken == 0); tries++) {
        const uint64_t before = __atomic_load_n(block, __ATOMIC_ACQUIRE);
        for (int i = 0; i < count; i++) {
            words[i] = __atomic_load_n(&block[1 + i], __ATOMIC_RELAXED);
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (((before & 1u) == 0u) && (__atomic_load_n(block, __ATOMIC_RELAXED) == before)) {
            taken = 1;
        }
    }
    return taken;
}

// Waits until the sample of a block is not `last`, copies the block and returns 1, or returns 0 after some seconds.
static inline int ${name}_await(const uint64_t *block, uint64_t *words, int count, uint64_t last, double seconds)
{
    const struct timespec pause = {0, 20000};
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const double end = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec + seconds;
    int left = 1;
    int taken = 0;
    while ((left != 0) && (taken == 0)) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        left = ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec) < end;
        if (__atomic_load_n(&block[1], __ATOMIC_RELAXED) == last) {
            (void)nanosleep(&pause, NULL);
        } else {
            taken = ${name}_take(block, words, count) && (words[0] != last);
        }
    }
    return taken;
}

#endif
"""

MAIN = """
int main(int count, char **words)
{
    static ${name} self;
    static double y[${BIG}_NY + 1];
    ${name}_inputs inputs;
    ${name}_outputs outputs;
    uint64_t k = 0u;
    int idle = 0;
    if (count != 2) {
        return 2;
    }
    if (!start(words[1])) {
        return 1;
    }
    memset(&inputs, 0, sizeof inputs);
    memset(&outputs, 0, sizeof outputs);
    ${name}_init(&self);
    answer(UINT64_MAX, &outputs);
    while (idle < $idle) {
        struct timespec now;
        const int heard = receive(&k, y);
        if (heard && (k == (UINT64_MAX - 1u))) {
            break;
        }
        for (int i = 0; i < ${BIG}_NY; i++) {
            $copied
        }
        inputs.fresh = 1u;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        ${name}_step(&self, heard ? &inputs : NULL, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec, &outputs);
        if (heard) {
            answer(k, &outputs);
        }
        idle = heard ? 0 : (idle + 1);
    }
    return 0;
}
"""

UDP = """// The controller of a board as a process: readings arrive and outputs leave as datagrams of UDP.
#define _POSIX_C_SOURCE 200809L
#include "${name}.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int line;

static int start(const char *port)
{
    const struct timeval patience = {$seconds, $microseconds};
    struct sockaddr_in arm;
    memset(&arm, 0, sizeof arm);
    arm.sin_family = AF_INET;
    arm.sin_port = htons((uint16_t)atoi(port));
    arm.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    line = socket(AF_INET, SOCK_DGRAM, 0);
    if ((line < 0) || (connect(line, (struct sockaddr *)&arm, sizeof arm) != 0)) {
        return 0;
    }
    return setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0;
}

static int receive(uint64_t *k, double *y)
{
    static struct {
        uint64_t k;
        double y[${BIG}_NY + 1];
    } in;
    const ssize_t size = recv(line, &in, sizeof in, 0);
    if (size != (ssize_t)sizeof in) {
        return 0;
    }
    *k = in.k;
    memcpy(y, in.y, sizeof in.y);
    return 1;
}

static void answer(uint64_t k, const ${name}_outputs *outputs)
{
    static struct {
        uint64_t k;
        double u[${BIG}_NU];
        uint64_t status;
    } out;
    out.k = k;
    for (int i = 0; i < ${BIG}_NU; i++) {
        out.u[i] = outputs->u[i];
    }
    out.status = outputs->status;
    (void)send(line, &out, sizeof out, 0);
}
"""

SHARED = """// The controller as a process: readings and outputs are in the shared memory of ${name}_shared.h.
#define _POSIX_C_SOURCE 200809L
#include "${name}.h"

#include "${name}_shared.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t *memory;
static uint64_t last = ${BIG}_NOTHING;

static int start(const char *path)
{
    struct stat file;
    const int opened = open(path, O_RDWR);
    if ((opened < 0) || (fstat(opened, &file) != 0) || (file.st_size != (off_t)(8 * ${BIG}_WORDS))) {
        return 0;
    }
    void *const mapped = mmap(NULL, 8 * ${BIG}_WORDS, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    (void)close(opened);
    if (mapped == MAP_FAILED) {
        return 0;
    }
    memory = mapped;
    return (__atomic_load_n(memory, __ATOMIC_ACQUIRE) == ${BIG}_MAGIC) && (memory[1] == ${BIG}_SHARED_NY)
           && (memory[2] == ${BIG}_SHARED_NU);
}

static int receive(uint64_t *k, double *y)
{
    uint64_t words[1 + ${BIG}_SHARED_NY];
    if (!${name}_await(&memory[${BIG}_READINGS], words, 1 + ${BIG}_SHARED_NY, last, $wait)) {
        return 0;
    }
    last = words[0];
    *k = last;
    memcpy(y, &words[1], sizeof words - sizeof words[0]);
    return 1;
}

static void answer(uint64_t k, const ${name}_outputs *outputs)
{
    uint64_t words[2 + ${BIG}_SHARED_NU];
    words[0] = k;
    for (int i = 0; i < ${BIG}_SHARED_NU; i++) {
        const double u = (double)outputs->u[i];
        memcpy(&words[1 + i], &u, sizeof u);
    }
    words[1 + ${BIG}_SHARED_NU] = outputs->status;
    ${name}_publish(&memory[${BIG}_OUTPUTS], words, 2 + ${BIG}_SHARED_NU);
}
"""
