#include "runtime/control.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "control/folder.hpp"
#include "control/message.hpp"
#include "runtime/report/stats_text.hpp"
#include "runtime/settings/config_options.hpp"
#include "runtime/settings/control_keys.hpp"

namespace k2k::runtime {

namespace {

using nlohmann::ordered_json;

ordered_json settings_json(const server::ServerConfig& config) {
  ordered_json settings = ordered_json::object();
  for (const ControlKey& key : control_keys()) settings[key.name] = show_key(key, config);
  return settings;
}

// Every option in the form of `k2k config show --json`, as text.
ordered_json config_json(const RuntimeConfig& config) {
  const ConfigValues values{config};
  ordered_json all = ordered_json::object();
  for (const ConfigOption& option : config_options()) {
    all[option.key] = plain_value(option, option.show(values, option));
  }
  return all;
}

// [least, width, count] of each bucket that has any, in microseconds: from the call to the
// work-item's next step.
ordered_json latency_json(const telemetry::RequestReport& times) {
  const double us = nanoseconds_per_cycle() / 1000;
  const telemetry::HistogramSnapshot& total = times.cycles.back();
  ordered_json buckets = ordered_json::array();
  for (std::uint32_t bucket = 0; bucket < telemetry::histogram_buckets; ++bucket) {
    const std::uint64_t count = total.in_bucket(bucket);
    if (count == 0) continue;
    buckets.push_back({static_cast<double>(telemetry::bucket_floor(bucket)) * us,
                       static_cast<double>(telemetry::bucket_width(bucket)) * us, count});
  }
  return buckets;
}

}  // namespace

Control::Control(Subject subject) : subject_(std::move(subject)), begun_(now()) {}

Status Control::start() {
  if (subject_.config.control.socket) {
    const Status status = start_listener();
    absent_ = status ? "" : status.error().message;
  }
  const std::uint32_t port = subject_.config.control.metrics_port;
  if (port == 0) return {};
  auto metrics = publish_metrics(port, [this] { return subject_.stats(); });
  if (!metrics) return metrics.error();
  metrics_ = std::move(metrics).value();
  return {};
}

// The listener's thread reads the members written here, so it starts last.
Status Control::start_listener() {
  Result<control::Folder> folder = control::own_folder();
  if (!folder) return folder.error();
  auto listener = control::Listener::open(std::move(folder).value(),
                                          [this](auto line) { return answer(line); });
  if (!listener) return listener.error();
  listener_ = std::move(listener).value();
  Status status = listener_->start();
  if (!status) listener_.reset();
  return status;
}

server::ControlStats Control::stats() const {
  if (listener_ == nullptr) return {"", absent_, 0};
  return {listener_->path(), "", listener_->cpu_seconds()};
}

std::string Control::answer(std::string_view line) const {
  try {
    const Result<control::ControlRequest> request = control::parse_request(line);
    if (!request) return control::failure_line(request.error());
    if (request.value().kind == control::RequestKind::show) {
      return control::success_line(show(request.value().latency));
    }
    const Result<ordered_json> done = set(request.value().values);
    return done ? control::success_line(done.value()) : control::failure_line(done.error());
  } catch (const std::exception& error) {
    return control::failure_line({ENOMEM, fmt::format("control: {}", error.what())});
  }
}

ordered_json Control::show(bool latency) const {
  const server::Stats stats = subject_.stats();
  RuntimeConfig config = subject_.config;
  config.server = subject_.server_config();
  ordered_json all = {{"pid", ::getpid()},
                      {"device", subject_.device},
                      {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)},
                      {"uptime_seconds", seconds_since(begun_)},
                      {"settings", settings_json(config.server)},
                      {"config", config_json(config)},
                      {"stats", to_json(stats)}};
  if (latency) all["latency_us"] = latency_json(stats.times);
  return all;
}

Result<ordered_json> Control::set(
    std::span<const std::pair<std::string, std::string>> values) const {
  ordered_json before;
  server::ServerConfig after;
  Status status = subject_.change([&](server::ServerConfig& config) {
    before = settings_json(config);
    Status edited = set_keys(values, config);
    after = config;
    return edited;
  });
  if (!status) return status.error();
  const ordered_json settings = settings_json(after);
  ordered_json changed = ordered_json::array();
  for (const auto& [key, value] : settings.items()) {
    if (before[key] == value) continue;
    changed.push_back({{"key", key}, {"before", before[key]}, {"after", value}});
  }
  return ordered_json{{"changed", changed}, {"settings", settings}};
}

}  // namespace k2k::runtime
