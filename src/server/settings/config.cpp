#include "server/settings/config.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <cerrno>

#include "server/settings/tenants.hpp"

namespace k2k::server {

namespace {

Status check(const char* key, std::uint32_t value, std::uint32_t low, std::uint32_t high) {
  if (value >= low && value <= high) return {};
  return Error{EINVAL,
               fmt::format("server.{} is {}; permitted are {} to {}", key, value, low, high)};
}

Status check_cores(const ServerConfig& config) {
  if (config.steering == Steering::steered && config.cores.empty()) {
    return Error{EINVAL, "server.steering is steered, but server.cores names no core"};
  }
  cpu_set_t usable;
  CPU_ZERO(&usable);
  sched_getaffinity(0, sizeof(usable), &usable);
  struct Named {
    const char* key;
    const std::vector<std::uint32_t>& cores;
  };
  const Named lists[] = {{"cores", config.cores},
                         {"preprocess_cores", config.preprocess_cores},
                         {"worker_cores", config.worker_cores}};
  for (const Named& list : lists) {
    for (const std::uint32_t core : list.cores) {
      if (core < CPU_SETSIZE && CPU_ISSET(core, &usable)) continue;
      return Error{EINVAL, fmt::format("server.{} names core {}, which is offline or not allowed "
                                       "for this process (see taskset -p)",
                                       list.key, core)};
    }
  }
  return {};
}

Status check_tenants(const ServerConfig& config) {
  const auto tenants = parse_tenants(config.tenants);
  if (!tenants) return tenants.error();
  double guaranteed = 0;
  for (const governor::TenantConfig& tenant : tenants.value().budgets) {
    guaranteed += tenant.guarantee;
    const bool promised = tenant.guarantee > 0 || tenant.rate_min > 0;
    const bool kept =
        config.governor != governor::Policy::none && config.governor != governor::Policy::backoff;
    if (!promised || kept) continue;
    return Error{EINVAL, fmt::format("server.tenants guarantees something to {}, which "
                                     "server.governor = \"{}\" cannot keep; use budget",
                                     tenant.name, governor::name_of(config.governor))};
  }
  const double cap = config.cap_permille == 0 ? 1 : config.cap_permille / 1000.0;
  if (guaranteed <= cap * (1 + 1e-9)) return {};
  return Error{EINVAL,
               fmt::format("server.tenants guarantees {:.6g} % of all cores' CPU time, more "
                           "than the cap of {:.6g} %; raise server.cap_permille or lower a "
                           "guarantee",
                           guaranteed * 100, cap * 100)};
}

}  // namespace

Status validate(const ServerConfig& config, std::uint32_t rings) {
  struct Range {
    const char* key;
    std::uint32_t value, low, high;
  };
  const Range ranges[] = {
      {"coalesce_window_us", config.coalesce_window_us, 0, 10'000},
      {"coalesce_max", config.coalesce_max, 1, 4096},
      {"coalesce_delay_us", config.coalesce_delay_us, 10, 10'000},
      {"threads_max", config.threads_max, 3, 256},
      {"spin_us", config.spin_us, 0, 1'000'000},
      {"yield_us", config.yield_us, 0, 1'000'000},
      {"sleep_us", config.sleep_us, 50, 1'000'000},
      {"rescan_us", config.rescan_us, 100, 1'000'000},
      {"takeover_us", config.takeover_us, 50, 1'000'000},
      {"shutdown_ms", config.shutdown_ms, 0, 600'000},
      {"cap_permille", config.cap_permille, 0, 1000},
      {"loss_max_permille", config.loss_max_permille, 1, 1000},
  };
  for (const Range& range : ranges) {
    if (Status status = check(range.key, range.value, range.low, range.high); !status)
      return status;
  }
  if (config.top_halves < 1 || config.top_halves > rings) {
    return Error{EINVAL,
                 fmt::format("server.top_halves is {}; permitted are 1 to {}, one a doorbell "
                             "ring (device.rings)",
                             config.top_halves, rings)};
  }
  // One thread watches, one makes calls that sleep.
  const bool staged = config.bottom_half == BottomHalfMode::staged;
  const std::uint32_t threads_min = config.top_halves + (staged ? 3 : 2);
  if (config.threads_max < threads_min) {
    return Error{EINVAL, fmt::format("server.threads_max is {}; {} top halves{} need at least {}",
                                     config.threads_max, config.top_halves,
                                     staged ? " and the pre-processing thread" : "", threads_min)};
  }
  const bool coalesces =
      config.coalesce_window_us != 0 || config.coalescing == Coalescing::adaptive;
  if (config.bottom_half == BottomHalfMode::on_unit && coalesces) {
    return Error{EINVAL,
                 "server.bottom_half = \"inline\" serves what was rung at once; set "
                 "server.coalesce_window_us = 0 and server.coalescing = \"fixed\""};
  }
  if (config.bottom_half == BottomHalfMode::on_unit && config.walls != WallMode::off) {
    return Error{EINVAL,
                 "server.bottom_half = \"inline\" makes calls on the device's units, which have no "
                 "walls; set server.walls = \"off\" or server.bottom_half = \"monolithic\""};
  }
  if (Status status = check_tenants(config); !status) return status;
  return check_cores(config);
}

}  // namespace k2k::server
