#include "apps/common/core_shares.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/cores.hpp"

namespace k2k::apps {

namespace {

bool any_is_set(const LoadedConfig& loaded, std::initializer_list<std::string_view> keys) {
  return std::any_of(loaded.settings.begin(), loaded.settings.end(), [&](const Setting& setting) {
    return setting.origin != "default" &&
           std::find(keys.begin(), keys.end(), setting.key) != keys.end();
  });
}

}  // namespace

void share_cores(LoadedConfig& loaded, std::uint32_t units) {
  if (loaded.config.backend != "cpu") return;  // Other devices have cores of their own.
  if (any_is_set(loaded, {"device.compute_units", "device.rings", "server.top_halves"})) return;
  // A unit serves the calls of its own work-items: a file's data stays in one core's caches. With
  // shared cores /usr/include takes half as long again.
  if (!any_is_set(loaded,
                  {"server.bottom_half", "server.cap_permille", "server.coalesce_window_us",
                   "server.coalescing", "server.notify", "server.steering", "server.tenants"})) {
    loaded.config.device.compute_units = std::clamp(units, 1u, 256u);
    loaded.config.device.rings =
        std::min(loaded.config.device.compute_units, CoreShares::serving_max);
    loaded.config.server.top_halves = loaded.config.device.rings;
    loaded.config.server.bottom_half = server::BottomHalfMode::on_unit;
    return;
  }
  const CoreShares shares = shares_of(usable_cores());
  loaded.config.device.rings = shares.serving;
  loaded.config.device.compute_units = shares.searching;
  loaded.config.server.top_halves = shares.serving;
}

}  // namespace k2k::apps
