#include "apps/common/part_threads.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <optional>
#include <thread>
#include <vector>

#include "base/signals_blocked.hpp"

namespace k2k::apps {

Error too_few_threads(std::size_t started, std::uint32_t wanted, const std::system_error& failure) {
  return Error{EAGAIN, fmt::format("only {} of {} threads could be started ({}); take fewer "
                                   "--threads, or raise the limit of processes (ulimit -u)",
                                   started, wanted, failure.what())};
}

Status run_parts(std::uint32_t threads, std::uint32_t parts,
                 const std::function<void(std::uint32_t)>& part) {
  std::atomic<std::uint32_t> next{0};
  const auto take = [&] {
    while (true) {
      const std::uint32_t mine = next.fetch_add(1, std::memory_order_relaxed);
      if (mine >= parts) return;
      part(mine);
    }
  };
  std::vector<std::thread> others;
  std::optional<Error> failed;
  {
    const SignalsBlocked blocked({SIGBUS});  // That of a file that is cut.
    try {
      while (others.size() + 1 < threads) others.emplace_back(take);
    } catch (const std::system_error& failure) {
      failed = too_few_threads(others.size() + 1, threads, failure);
      next.store(parts, std::memory_order_relaxed);
    }
  }
  if (!failed) take();
  for (std::thread& other : others) other.join();
  return failed ? Status(*failed) : Status();
}

}  // namespace k2k::apps
