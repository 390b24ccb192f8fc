// Scopes and orders: many work-groups write one file together.
//
//   strong   (default) barrier, call, barrier: the others wait for the call to end
//   relaxed  a consumer such as pwrite keeps the barrier before it, so that all data is complete,
//            and drops the one after it: only item 0 gets the result, the others continue
//   kernel   one call for the whole grid: the last group to arrive makes it

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <k2k/device.hpp>
#include <k2k/runtime.hpp>

// Kernel and host both use it: it lies in memory they share.
struct Outcome {
  long synced;
  bool wrong;
};

int main() {
  constexpr std::uint32_t groups = 100;  // More than fit on the device at a time.
  constexpr std::uint32_t items = 32;
  char path[] = "/tmp/k2k-example-XXXXXX";
  const int fd = ::mkstemp(path);
  auto runtime = k2k::Runtime::create({.backend = k2k::kernel_backend});
  if (!runtime) return std::fprintf(stderr, "%s\n", runtime.error().message.c_str()), 1;

  auto* const outcome = static_cast<Outcome*>(runtime->allocate_shared(sizeof(Outcome)).value());
  outcome->synced = -1;
  auto report = runtime->launch({groups, items}, [=] K2K_DEVICE {
    K2K_LOCAL(char[items], line);
    const std::uint32_t me = k2k::item_rank();
    line[me] = me + 1 == items ? '\n' : static_cast<char>('a' + (k2k::group_rank() + me) % 26);

    // Item 0 makes the call once all have written their letter. The others do not wait for it.
    const long written = k2k::pwrite(k2k::work_group, k2k::relaxed, fd, line, items,
                                     static_cast<std::int64_t>(k2k::group_rank()) * items);
    if (me != 0 && written != -EINPROGRESS) outcome->wrong = true;

    // Once, when every group has come here: their writes are behind them.
    const long answer = k2k::fsync(k2k::kernel(0), k2k::relaxed, fd);
    if (answer != -EINPROGRESS) outcome->synced = answer;  // Only one work-item gets here.
  });
  if (!report) return std::fprintf(stderr, "%s\n", report.error().message.c_str()), 1;

  const off_t size = ::lseek(fd, 0, SEEK_END);
  std::printf("%ld bytes from %u work-groups, synced: %ld\n", static_cast<long>(size), groups,
              outcome->synced);
  const bool right = size == groups * items && outcome->synced == 0 && !outcome->wrong;
  runtime->free_shared(outcome);
  ::close(fd);
  ::unlink(path);
  return right ? 0 : 1;
}
