// A program outside the tree: its kernel writes a line, on an AMD GPU.

#include <cstdio>
#include <k2k/device.hpp>
#include <k2k/runtime.hpp>

int main() {
  k2k::RuntimeConfig config;
  config.backend = k2k::kernel_backend;
  auto runtime = k2k::Runtime::create(config);
  if (!runtime) {
    std::fprintf(stderr, "%s\n", runtime.error().message.c_str());
    return 77;
  }
  const auto report = runtime->launch(
      {.groups = 2, .group_items = 64},
      [] K2K_DEVICE {
        const char line[] = "written by a kernel\n";
        k2k::write(k2k::work_group, 1, line, sizeof(line) - 1);
      },
      "outside");
  if (report) return 0;
  std::fprintf(stderr, "%s\n", report.error().message.c_str());
  return 1;
}
