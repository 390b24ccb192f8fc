/* A program on CUDA's driver interface that knows nothing of K2K: it reads a file into memory of
 * cuMemAlloc() by pread(2) and read(2), writes it from there to FILE.copy by pwrite(2), and
 * compares every byte. Without libk2k_io.so a GPU's memory makes Linux answer EFAULT.
 *
 *   cuda_unmodified FILE
 *
 * Exit: 0; 1: bytes differ, or something failed; 2: usage; 3: Linux cannot address the memory
 * (EFAULT); 77: no device here. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* <cuda.h>, of which no build has to have a copy. */
typedef unsigned long long CUdeviceptr;
int cuInit(unsigned flags);
int cuDeviceGet(int* device, int ordinal);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
int cuMemAlloc_v2(CUdeviceptr* memory, size_t bytes);
int cuMemFree_v2(CUdeviceptr memory);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamSynchronize(void* stream);
int cuMemcpyHtoDAsync_v2(CUdeviceptr device, const void* host, size_t bytes, void* stream);
int cuMemcpyDtoHAsync_v2(void* host, CUdeviceptr device, size_t bytes, void* stream);

enum { exit_no_address = 3, exit_skipped = 77, part = 1 << 20, odd = 12345 };

static int fail(const char* what) {
  const int error = errno;
  printf("%s: %s\n", what, strerror(error));
  return error == EFAULT ? exit_no_address : 1;
}

static void check(const char* what, int code) {
  if (code == 0) return;
  printf("%s: CUDA error %d\n", what, code);
  exit(1);
}

static void* stream = NULL;

/* Bytes that the file has hardly anywhere, so that a read that moves nothing shows. */
static void overwrite(CUdeviceptr memory, size_t bytes) {
  char* const host = malloc(bytes);
  if (host == NULL) exit(fail("malloc"));
  memset(host, 0xee, bytes);
  check("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2(memory, host, bytes, stream));
  check("cuStreamSynchronize", cuStreamSynchronize(stream));
  free(host);
}

/* By pread(2): parts of 1 MiB, then what is left, from the end to the begin. */
static int by_pread(int file, char* device, size_t bytes) {
  size_t end = bytes;
  while (end > 0) {
    const size_t begin = (end - 1) / part * part;
    if (pread(file, device + begin, end - begin, (off_t)begin) != (ssize_t)(end - begin)) {
      return fail("pread");
    }
    end = begin;
  }
  return 0;
}

/* By read(2), in parts of an odd length. */
static int by_read(int file, char* device, size_t bytes) {
  if (lseek(file, 0, SEEK_SET) != 0) return fail("lseek");
  for (size_t at = 0; at < bytes;) {
    const ssize_t count = read(file, device + at, bytes - at < odd ? bytes - at : odd);
    if (count <= 0) return fail("read");
    at += (size_t)count;
  }
  return 0;
}

static int compared(const char* how, const char* expected, CUdeviceptr memory, size_t bytes) {
  char* const seen = malloc(bytes);
  if (seen == NULL) return fail("malloc");
  check("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2(seen, memory, bytes, stream));
  check("cuStreamSynchronize", cuStreamSynchronize(stream));
  const int differ = memcmp(seen, expected, bytes) != 0;
  free(seen);
  printf("%s: %zu bytes, %s\n", how, bytes, differ ? "WRONG" : "right");
  return differ;
}

static int written(const char* name, const char* device, const char* expected, size_t bytes) {
  char* const copy = malloc(strlen(name) + sizeof ".copy");
  char* const seen = malloc(bytes);
  if (copy == NULL || seen == NULL) return fail("malloc");
  strcat(strcpy(copy, name), ".copy");
  const int file = open(copy, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return fail(copy);
  unlink(copy);
  for (size_t at = 0; at < bytes; at += part) {
    const size_t length = bytes - at < part ? bytes - at : part;
    if (pwrite(file, device + at, length, (off_t)at) != (ssize_t)length) return fail("pwrite");
  }
  if (pread(file, seen, bytes, 0) != (ssize_t)bytes) return fail("pread of the copy");
  const int differ = memcmp(seen, expected, bytes) != 0;
  printf("pwrite: %zu bytes, %s\n", bytes, differ ? "WRONG" : "right");
  close(file);
  free(copy);
  free(seen);
  return differ;
}

int main(int count, char** words) {
  if (count != 2) return fprintf(stderr, "usage: cuda_unmodified FILE\n"), 2;
  int device = 0;
  void* context = NULL;
  if (cuInit(0) != 0 || cuDeviceGet(&device, 0) != 0) {
    return fprintf(stderr, "cuda_unmodified: no CUDA device\n"), exit_skipped;
  }
  check("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context, device));
  check("cuCtxSetCurrent", cuCtxSetCurrent(context));
  check("cuStreamCreate", cuStreamCreate(&stream, 0));

  struct stat facts;
  const int file = open(words[1], O_RDONLY);
  if (file < 0 || fstat(file, &facts) != 0) return fail(words[1]);
  const size_t bytes = (size_t)facts.st_size;
  char* const expected = malloc(bytes);
  if (expected == NULL) return fail("malloc");
  if (pread(file, expected, bytes, 0) != (ssize_t)bytes) return fail("pread into host memory");

  CUdeviceptr memory = 0;
  check("cuMemAlloc", cuMemAlloc_v2(&memory, bytes));
  char* const address = (char*)memory; /* Never dereferenced. */
  overwrite(memory, bytes);
  int code = by_pread(file, address, bytes);
  if (code == 0) code = compared("pread", expected, memory, bytes);
  overwrite(memory, bytes);
  if (code == 0) code = by_read(file, address, bytes);
  if (code == 0) code = compared("read", expected, memory, bytes);
  if (code == 0) code = written(words[1], address, expected, bytes);
  check("cuMemFree", cuMemFree_v2(memory));
  return code;
}
