/* NVIDIA's driver, played: what cuda-core asks of libcuda.so.1 where it copies numbers and launches kernels. Memory is
   this process's own; the text that is loaded and what is launched go to a function of the test's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
typedef struct {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned count;
} Launch;
typedef void (*Called)(const char *text, const char *name, unsigned blocks, unsigned threads, void **arguments);

static Called called;
static const char *text;
static int context, pool;
static __thread void *current;

void when_launched(Called function) { called = function; }

static Result some(void **found) { *found = malloc(8); return 0; }

Result cuInit(unsigned flags) { return 0; }
Result cuDriverGetVersion(int *version) { *version = 13000; return 0; }
Result cuDeviceGetCount(int *count) { *count = 1; return 0; }
Result cuDeviceGet(int *device, int i) { *device = i; return 0; }
Result cuDeviceGetName(char *name, int size, int device) { strncpy(name, "a played driver", size); return 0; }
Result cuDeviceGetAttribute(int *value, int which, int device) { *value = which == 75 ? 9 : which == 76 ? 0 : 1; return 0; }
Result cuDevicePrimaryCtxRetain(void **found, int device) { *found = &context; return 0; }
Result cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
Result cuCtxGetCurrent(void **found) { *found = current; return 0; }
Result cuCtxSetCurrent(void *given) { current = given; return 0; }
Result cuCtxGetDevice(int *device) { *device = 0; return 0; }
Result cuCtxGetStreamPriorityRange(int *least, int *most) { *least = *most = 0; return 0; }
Result cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) { return some(stream); }
Result cuStreamDestroy_v2(void *stream) { return 0; }
Result cuStreamSynchronize(void *stream) { return 0; }
Result cuStreamGetCtx(void *stream, void **found) { *found = &context; return 0; }
Result cuStreamIsCapturing(void *stream, int *capturing) { *capturing = 0; return 0; }
Result cuDeviceGetMemPool(void **found, int device) { *found = &pool; return 0; }
Result cuDeviceGetDefaultMemPool(void **found, int device) { *found = &pool; return 0; }
Result cuMemPoolGetAttribute(void *from, int which, void *value) { *(uint64_t *)value = 0; return 0; }
Result cuMemPoolSetAttribute(void *from, int which, void *value) { return 0; }
Result cuMemAllocFromPoolAsync(uint64_t *place, size_t size, void *from, void *stream)
{
    *place = current ? (uint64_t)malloc(size) : 0;
    return current ? 0 : 201; /* no context in this thread */
}
Result cuPointerGetAttributes(unsigned count, unsigned *kinds, void **values, uint64_t place) {
  for (unsigned i = 0; i < count; i++) /* the kind of memory is 2, the device's; all else is 0 */
    *(unsigned *)values[i] = kinds[i] == 2 ? 2 : 0;
  return 0;
}
Result cuMemFreeAsync(uint64_t place, void *stream) { free((void *)place); return 0; }
Result cuMemcpyAsync(uint64_t to, uint64_t from, size_t size, void *stream)
{
    memcpy((void *)to, (void *)from, size);
    return 0;
}
Result cuLibraryLoadData(void **library, const void *code, void *a, void *b, unsigned n, void *c, void *d, unsigned m)
{
    text = strdup(code);
    return some(library);
}
Result cuLibraryUnload(void *library) { return 0; }
Result cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    *kernel = strdup(name);
    return strstr(text, name) ? 0 : 500;
}
Result cuKernelGetAttribute(int *value, int which, void *kernel, int device) { *value = 40 + which; return 0; }
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *kernel, int size, size_t shared)
{
    *blocks = 2;
    return 0;
}
Result cuLaunchKernelEx(const Launch *how, void *kernel, void **arguments, void **extra)
{
    called(text, kernel, how->grid[0] * how->grid[1] * how->grid[2], how->block[0], arguments);
    return 0;
}
Result cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *status)
{
    Dl_info here;
    char versioned[200];
    dladdr((void *)&cuInit, &here);
    void *library = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    snprintf(versioned, sizeof versioned, "%s_v2", name);
    *found = dlsym(library, versioned);
    if (!*found) *found = dlsym(library, name);
    if (status) *status = *found ? 0 : 1;
    return 0;
}
