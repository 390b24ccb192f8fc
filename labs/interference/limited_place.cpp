#include "labs/interference/limited_place.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <string>

#include "base/cores.hpp"
#include "host/share.hpp"

namespace k2k::labs {

namespace {

constexpr int acquaintance_refreshes = 4;

}  // namespace

host::Place host_place(const TemporaryFolder& folder) {
  return {.path = folder.path() + "/host", .callers = true};
}

Result<TemporaryFolder> limited_place(double limit) {
  const Result<std::optional<double>> machines = host::read_limit(host::Place{});
  if (machines && machines.value()) {
    return Error{EBUSY, fmt::format("this machine has a host limit of {:g} %, which no study may "
                                    "replace; remove it first: k2k host limit off",
                                    100 * *machines.value())};
  }
  Result<TemporaryFolder> folder = TemporaryFolder::create("k2k-limit");
  if (!folder) return folder.error();
  if (Status status = host::write_limit(host_place(folder.value()), limit); !status) {
    return status.error();
  }
  return folder;
}

Nanoseconds acquaintance(std::size_t runtimes, double limit) {
  return acquaintance_refreshes * host::shared_period(runtimes, limit, online_cores());
}

}  // namespace k2k::labs
