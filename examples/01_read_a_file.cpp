// A kernel opens a file, reads it and prints it: the shortest complete program.
//
// Sixty-four work-items make each call together: one of them sends the request, and all get the
// answer. If nvcc compiles this file, it runs on a GPU: K2K_DEVICE marks the device code.

#include <cstdio>
#include <k2k/device.hpp>
#include <k2k/runtime.hpp>

int main() {
  auto runtime = k2k::Runtime::create({.backend = k2k::kernel_backend});
  if (!runtime) return std::fprintf(stderr, "%s\n", runtime.error().message.c_str()), 1;

  auto report = runtime->launch({.groups = 1, .group_items = 64}, [] K2K_DEVICE {
    K2K_LOCAL(char[4096], buffer);  // Shared by the work-group.
    const int fd = k2k::open(k2k::work_group, "/etc/hostname", 0).fd();
    const long bytes = k2k::pread(k2k::work_group, k2k::relaxed, fd, buffer, sizeof(buffer), 0);
    if (bytes < 0) {
      constexpr char text[] = "/etc/hostname cannot be read\n";
      k2k::write(k2k::work_group, k2k::relaxed, 2, text, sizeof(text) - 1);
      return;
    }
    k2k::write(k2k::work_group, k2k::relaxed, 1, buffer, bytes);
    k2k::close(k2k::work_group, k2k::relaxed, fd);
  });
  if (!report) return std::fprintf(stderr, "%s\n", report.error().message.c_str()), 1;
}
