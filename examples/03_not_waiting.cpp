// Two ways to avoid waiting: a ticket to redeem later, and a call without an answer.
//
//   async     returns a Ticket; redeem it when the answer is needed
//   detached  returns nothing; the bytes are copied, so the buffer is free at once, and an error is
//             kept until drain()

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <k2k/device.hpp>
#include <k2k/runtime.hpp>

int main() {
  char path[] = "/tmp/k2k-example-XXXXXX";
  const int fd = ::mkstemp(path);
  if (::pwrite(fd, "what a work-item reads ahead", 28, 0) != 28) return 1;
  auto runtime = k2k::Runtime::create({.backend = k2k::kernel_backend});
  if (!runtime) return std::fprintf(stderr, "%s\n", runtime.error().message.c_str()), 1;

  auto* const shared = static_cast<bool*>(runtime->allocate_shared(sizeof(bool)).value());
  auto report = runtime->launch({1, 1}, [=] K2K_DEVICE {
    // Both reads are on their way before the first answer is looked at.
    char left[14];
    char rest[14];
    auto first = k2k::pread(k2k::work_item, k2k::async, fd, left, sizeof(left), 0);
    auto second = k2k::pread(k2k::work_item, k2k::async, fd, rest, sizeof(rest), sizeof(left));
    while (!second.ready()) k2k::yield();  // Time for something else.
    *shared = second.redeem() == 14 && first.redeem() == 14 && left[13] == 't' && rest[0] == 'e' &&
              second.redeem() == -EINVAL;

    // Fire and forget. The buffer is ours again at once.
    char line[] = "first\n";
    k2k::pwrite(k2k::work_item, k2k::detached, fd, line, 6, 28);
    for (int place = 0; place < 6; ++place) line[place] = "later\n"[place];
    k2k::pwrite(k2k::work_item, k2k::detached, fd, line, 6, 34);
    k2k::write(k2k::work_item, k2k::detached, -1, line, 6);  // A mistake.
  });
  if (!report) return std::fprintf(stderr, "%s\n", report.error().message.c_str()), 1;

  // Until here the detached calls may still be on their way.
  std::uint64_t errors = 0;
  for (const auto& error : runtime->drain().value()) {
    std::printf("detached %s failed %lu time(s): %s\n", error.name.c_str(), error.count,
                std::strerror(error.error));
    errors += error.count;
  }
  char tail[13] = {};
  bool right = *shared;
  runtime->free_shared(shared);
  right &= ::pread(fd, tail, 12, 28) == 12 && std::strcmp(tail, "first\nlater\n") == 0;
  ::close(fd);
  ::unlink(path);
  return right && errors == 1 ? 0 : 1;
}
