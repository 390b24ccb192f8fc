// A program outside the repository: includes the public headers, makes one system call from a
// kernel.

#include <unistd.h>

#include <cstdio>
#include <k2k/device.hpp>
#include <k2k/runtime.hpp>

int main() {
  auto runtime = k2k::Runtime::create({});
  if (!runtime) return std::fprintf(stderr, "%s\n", runtime.error().message.c_str()), 1;

  long pid = 0;
  auto report = runtime->launch({.groups = 1, .group_items = 1},
                                [&pid] { pid = k2k::getpid(k2k::work_item).value(); });
  if (!report) return std::fprintf(stderr, "%s\n", report.error().message.c_str()), 1;

  std::printf("getpid() from a kernel: %ld, from the host: %d\n", pid, getpid());
  return pid == getpid() ? 0 : 1;
}
