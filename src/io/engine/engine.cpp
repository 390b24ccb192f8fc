#include "io/engine/engine.hpp"

#include <fmt/format.h>

namespace k2k::io {

namespace {

constexpr std::uint32_t pool_threads = 4;

}  // namespace

Result<std::unique_ptr<Engine>> make_direct(std::uint32_t outstanding) {
  Result<std::unique_ptr<Engine>> uring = make_uring(outstanding);
  if (uring) return uring;
  Result<std::unique_ptr<Engine>> pool = make_pool(outstanding, pool_threads);
  if (pool || pool.error().message == uring.error().message) return pool;
  return Error{pool.error().code,
               fmt::format("{}; and {}", uring.error().message, pool.error().message)};
}

}  // namespace k2k::io
