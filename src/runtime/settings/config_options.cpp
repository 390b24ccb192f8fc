#include "runtime/settings/config_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "base/setting_text.hpp"
#include "protocol/area.hpp"
#include "router/door/files_keys.hpp"
#include "runtime/settings/policy_file.hpp"

namespace k2k {

namespace {

using backend::DeviceConfig;
using control::ControlConfig;
using server::ServerConfig;

constexpr std::uint32_t core_max = 4095;
constexpr std::size_t cores_max = 256;  // Entries of a list.
constexpr double permille_in_percent = 10;
constexpr std::size_t path_bytes_max = 4095;
constexpr const char* off = "off";  // A share of 0: nothing is capped.

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string text_of(const std::vector<std::uint32_t>& cores) {
  return fmt::format("{}", fmt::join(cores, ","));
}

// The two accessors of a row, made from the field itself.
template <auto section, auto field>
void store(ConfigValues& values, const OptionValue& value) {
  auto& place = values.config.*section.*field;
  using Field = std::remove_reference_t<decltype(place)>;
  if constexpr (std::is_same_v<Field, std::vector<std::uint32_t>>) {
    place = value.cores;
  } else if constexpr (std::is_same_v<Field, std::string>) {
    place = value.text;
  } else if constexpr (std::is_same_v<Field, bool>) {
    place = value.number != 0;
  } else {
    place = static_cast<Field>(value.number);
  }
}

template <auto section, auto field>
std::string show(const ConfigValues& values, const ConfigOption& option) {
  const auto& place = values.config.*section.*field;
  using Field = std::remove_cvref_t<decltype(place)>;
  if constexpr (std::is_same_v<Field, std::vector<std::uint32_t>>) {
    return text_of(place);
  } else if constexpr (std::is_same_v<Field, std::string>) {
    return place;
  } else if constexpr (std::is_same_v<Field, bool>) {
    return place ? "true" : "false";
  } else if constexpr (std::is_enum_v<Field>) {
    const std::vector<std::string> words = split(option.words, '|');
    const auto position = static_cast<std::size_t>(place);
    return position < words.size() ? words[position] : std::to_string(position);
  } else {
    if (option.kind != OptionKind::share) return std::to_string(place);
    return place == 0 ? off
                      : fmt::format("{:g}%", static_cast<double>(place) / permille_in_percent);
  }
}

constexpr std::uint64_t second_us = 1'000'000;

// A row of one of the sections.
template <auto section, auto field>
constexpr ConfigOption row(const char* key, OptionKind kind, std::uint64_t least,
                           std::uint64_t most, const char* words, const char* unit,
                           const char* help) {
  return {key, kind, least, most, words, unit, help, store<section, field>, show<section, field>};
}
constexpr ConfigOption changeable(ConfigOption option) {
  option.changes_while_running = true;
  return option;
}
template <auto field>
constexpr auto device = row<&RuntimeConfig::device, field>;
template <auto field>
constexpr auto server = row<&RuntimeConfig::server, field>;
template <auto field>
constexpr auto control = row<&RuntimeConfig::control, field>;

// Of the table that kernels and libk2k_io.so share (router/door/files_keys.hpp).
template <std::size_t place>
void store_files(ConfigValues& values, const OptionValue& value) {
  router::files_keys[place].store(values.config.files, value.number, value.text);
}
template <std::size_t place>
std::string show_files(const ConfigValues& values, const ConfigOption& option) {
  const std::uint64_t number = router::files_keys[place].number(values.config.files);
  if (option.kind == OptionKind::boolean) return number != 0 ? "true" : "false";
  if (option.kind == OptionKind::number) return std::to_string(number);
  return split(option.words, '|').at(number);
}
constexpr OptionKind kind_of(router::FilesKey::Kind kind) {
  switch (kind) {
    case router::FilesKey::Kind::boolean:
      return OptionKind::boolean;
    case router::FilesKey::Kind::number:
      return OptionKind::number;
    case router::FilesKey::Kind::choice:
      break;
  }
  return OptionKind::choice;
}
template <std::size_t place>
constexpr ConfigOption files_row() {
  constexpr const router::FilesKey& key = router::files_keys[place];
  return {key.key,           kind_of(key.kind), 0,        key.most,
          key.words,         key.unit,          key.help, store_files<place>,
          show_files<place>, key.short_name};
}

void store_policy(ConfigValues& values, const OptionValue& value) {
  ServerConfig& server = values.config.server;
  server.policy = static_cast<server::CallPolicy>(value.number);
  server.policy_file = server.policy == server::CallPolicy::file ? value.text : "";
}
std::string show_policy(const ConfigValues& values, const ConfigOption& option) {
  const ServerConfig& server = values.config.server;
  if (server.policy == server::CallPolicy::file) return server.policy_file;
  return split(option.words, '|').at(static_cast<std::size_t>(server.policy));
}

void store_backend(ConfigValues& values, const OptionValue& value) {
  values.config.backend = value.text;
}
std::string show_backend(const ConfigValues& values, const ConfigOption&) {
  return values.config.backend;
}

using enum OptionKind;

const ConfigOption options[] = {
    {"backend", text, 1, 64, "", "", "Device to use; k2k info lists the backends of this build.",
     store_backend, show_backend},

    device<&DeviceConfig::compute_units>(
        "device.compute_units", number, 0, 256, "", "",
        "Compute units, one thread each; 0 = usable CPUs less one for the server."),
    device<&DeviceConfig::wave_lanes>("device.wave_lanes", choice, 0, 0, "32|64", "",
                                      "Work-items a wave."),
    device<&DeviceConfig::resident_waves>("device.resident_waves", number, 1, 16384, "",
                                          "waves a unit",
                                          "Waves resident on a compute unit at the same time."),
    device<&DeviceConfig::resident_groups>(
        "device.resident_groups", number, 1, 4096, "", "groups a unit",
        "Work-groups resident on a compute unit at the same time."),
    device<&DeviceConfig::local_bytes>("device.local_bytes", number, 0, 16u << 20, "", "bytes",
                                       "Local memory a work-group may use."),
    device<&DeviceConfig::stack_bytes>("device.stack_bytes", number, 16u << 10, 64u << 20, "",
                                       "bytes", "Stack of a work-item, rounded up to pages."),
    device<&DeviceConfig::schedule>("device.schedule", choice, 0, 0,
                                    "round_robin|random|adversarial", "",
                                    "Which ready work-item runs next."),
    device<&DeviceConfig::seed>(
        "device.seed", number, 0, UINT64_MAX, "", "",
        "Seed of device.schedule = \"random\"; the same seed repeats the schedule."),
    device<&DeviceConfig::strict>(
        "device.strict", boolean, 0, 1, "", "",
        "Hide stacks, local memory and device memory from the host, as a GPU does; for tests."),
    device<&DeviceConfig::spin_us>(
        "device.spin_us", number, 0, second_us, "", "microseconds",
        "A compute unit spins this long while all its work-items wait, then sleeps."),
    device<&DeviceConfig::watchdog_ms>(
        "device.watchdog_ms", number, 0, 3'600'000, "", "milliseconds",
        "Report work-items without progress after this time; 0 = never."),
    device<&DeviceConfig::rings>("device.rings", number, 1, protocol::ring_count_max, "", "",
                                 "Doorbell rings; each can have a top half of its own."),
    device<&DeviceConfig::ring_entries>(
        "device.ring_entries", number, 0, 1u << 20, "", "entries a ring",
        "Length of a doorbell ring, rounded up to a power of two; 0 = "
        "1,024 on the cpu backend, 65,536 on a GPU."),
    device<&DeviceConfig::arena_blocks>("device.arena_blocks", number, 0, 1u << 16, "",
                                        "blocks of 8 KiB",
                                        "Blocks for buffers that the host cannot read in place; "
                                        "0 = 64 on the cpu backend, 1,024 on a GPU."),

    changeable(server<&ServerConfig::cap_permille>(
        "server.cap_permille", share, 0, 1000, "", "",
        "Largest share of all online cores' CPU time that serving may consume; off = no cap.")),
    changeable(server<&ServerConfig::governor>(
        "server.governor", choice, 0, 0, "none|backoff|budget|displaced|auto", "",
        "Policy that keeps the cap: none, the published back-off, a budget of CPU time, a budget "
        "of CPU time that other programs wanted, or a cap chosen from server.loss_max_permille.")),
    changeable(server<&ServerConfig::loss_max_permille>(
        "server.loss_max_permille", share, 1, 1000, "", "",
        "With server.governor = \"auto\": largest loss of CPU programs by serving. The governor "
        "chooses the cap, at most server.cap_permille.")),
    changeable(server<&ServerConfig::tenants>(
        "server.tenants", text, 0, 4096, "", "",
        "Budgets of tenants under the cap: \"1:weight=3 2:guarantee=2%,rate=500\"; all other "
        "tenants share one budget.")),
    changeable(server<&ServerConfig::top_halves>(
        "server.top_halves", number, 1, protocol::ring_count_max, "", "threads",
        "Top halves, one thread each; at most device.rings.")),
    changeable(server<&ServerConfig::steering>("server.steering", choice, 0, 0, "spread|steered",
                                               "",
                                               "Cores of top halves: any, or only server.cores.")),
    changeable(server<&ServerConfig::cores>(
        "server.cores", cores, 0, core_max, "", "",
        "CPUs that steered top halves run on: one CPU, or a set divided among them.")),
    changeable(server<&ServerConfig::coalesce_window_us>(
        "server.coalesce_window_us", number, 0, 10'000, "", "microseconds",
        "Wait this long for more requests before serving a "
        "bundle; 0 = never wait.")),
    changeable(server<&ServerConfig::coalesce_max>(
        "server.coalesce_max", number, 1, 4096, "", "requests a bundle",
        "Serve a bundle at once when it has this many requests.")),
    changeable(
        server<&ServerConfig::coalescing>("server.coalescing", choice, 0, 0, "fixed|adaptive", "",
                                          "Window and size of bundles: fixed by the settings, or "
                                          "adapted to the lowest cost a request.")),
    changeable(server<&ServerConfig::coalesce_delay_us>(
        "server.coalesce_delay_us", number, 10, 10'000, "", "microseconds",
        "Adaptive coalescing: longest average wait of a request before it is served.")),
    changeable(server<&ServerConfig::bottom_half>(
        "server.bottom_half", choice, 0, 0, "monolithic|split|staged|inline", "",
        "Serve requests on the top half's thread, on another thread, by a pre-processing thread "
        "and workers, or (cpu) on the device's own units, between two work-items.")),
    changeable(server<&ServerConfig::preprocess_cores>(
        "server.preprocess_cores", cores, 0, core_max, "", "",
        "Staged and steered: CPUs of the pre-processing thread; none = server.cores.")),
    changeable(server<&ServerConfig::worker_cores>(
        "server.worker_cores", cores, 0, core_max, "", "",
        "Staged and steered: CPUs of the workers; none = all.")),
    server<&ServerConfig::threads_max>("server.threads_max", number, 3, 256, "", "threads",
                                       "Most service threads; they start as calls sleep. Two more "
                                       "wait for all descriptors and for short cold reads."),
    server<&ServerConfig::notify>(
        "server.notify", choice, 0, 0, "interrupt|polling", "",
        "How a sleeping poller learns of doorbells: the device wakes it, or it looks periodically, "
        "for devices that cannot wake the host."),
    server<&ServerConfig::spin_us>("server.spin_us", number, 0, second_us, "", "microseconds",
                                   "An idle poller spins this long after the last request."),
    server<&ServerConfig::yield_us>(
        "server.yield_us", number, 0, second_us, "", "microseconds",
        "After spinning, an idle poller yields its core for this long."),
    server<&ServerConfig::sleep_us>(
        "server.sleep_us", number, 50, second_us, "", "microseconds",
        "After yielding, an idle poller sleeps until a doorbell, at most this long."),
    server<&ServerConfig::rescan_us>(
        "server.rescan_us", number, 100, second_us, "", "microseconds",
        "Interval between scans of a slice of the slots for lost doorbells."),
    server<&ServerConfig::takeover_us>(
        "server.takeover_us", number, 50, second_us, "", "microseconds",
        "A thread loses the poller's role when its call lasts this long."),
    server<&ServerConfig::shutdown_ms>("server.shutdown_ms", number, 0, 600'000, "", "milliseconds",
                                       "How long the end of a runtime waits for calls in flight."),
    {"server.policy", policy, 0, path_bytes_max, "io|any|known_only", "",
     "Calls that kernels may make: those on files, sockets, own memory, time and other queries; "
     "all calls that do not act on the host's own process and threads; only the basic calls "
     "(k2k calls --basic); or as a policy file says.",
     store_policy, show_policy},
    server<&ServerConfig::walls>(
        "server.walls", choice, 0, 0, "off|on|strict", "",
        "Let Linux refuse the threads that make calls for kernels what the policy refuses kernels: "
        "never, as far as this Linux can, or strictly: without it, the runtime does not start."),
    server<&ServerConfig::trace>("server.trace", boolean, 0, 1, "", "",
                                 "Record the events of each request."),

    files_row<0>(),
    files_row<1>(),
    files_row<2>(),
    files_row<3>(),
    files_row<4>(),

    control<&ControlConfig::socket>(
        "control.socket", boolean, 0, 1, "", "",
        "Let k2k ctl and k2k top of the same user show and change the running runtime."),
    control<&ControlConfig::device_file>("control.device_file", boolean, 0, 1, "", "",
                                         "Keep PID.device in the folder of the control sockets: "
                                         "the device's resources and counters, "
                                         "for kernels and other processes."),
    control<&ControlConfig::metrics_port>(
        "metrics.port", number, 0, 65535,
        "", "", "Port on 127.0.0.1 that serves /metrics for Prometheus; 0 = none."),
};

const char* outer_name(const ConfigOption& option) {
  return option.short_name != nullptr ? option.short_name : option.key;
}

// "0,2-3" as numbers, or nothing if it is no such list.
std::optional<std::vector<std::uint32_t>> cores_of(std::string_view text) {
  std::vector<std::uint32_t> list;
  if (text.empty()) return list;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto core_of = [](std::string_view number) {
      return parse_whole_number(number, 0, core_max);
    };
    const auto first = core_of(std::string_view(part).substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : core_of(std::string_view(part).substr(dash + 1));
    if (!first || !last || *first > *last) return {};
    for (std::uint64_t core = *first; core <= *last; ++core) {
      if (list.size() == cores_max) return {};
      list.push_back(static_cast<std::uint32_t>(core));
    }
  }
  return list;
}

// Tests compare this table with the variables in the sources and in the documents.
const OtherVariable others[] = {
    {"K2K_CONFIG", "The configuration file; empty reads none."},
    {"K2K_HOST_DIR", "The folder of the host limit, instead of /run/k2k."},
    {"K2K_CONTROL_DIR", "The folder of control sockets and device files, for k2k ctl and k2k top."},
    {"K2K_PROFILE_DIR", "The folder of the profiles that k2k calibrate makes."},
    {"K2K_LIBRARY", "libk2k.so, for the Python package k2k."},
    {"K2K_IO_LIBRARY", "For libk2k_io.so: the library with the router, by an absolute path."},
    {"K2K_IO_STATS",
     "For libk2k_io.so: true prints statistics of calls at the end; or a file to write them to, by "
     "an absolute path."},
    {"K2K_CLI", ""},
    {"K2K_SOURCE_DIR", ""},
    {"K2K_CONFORMANCE_SEEDS", ""},
    {"K2K_CUFILE_LIBRARY", ""},
    {"K2K_DISCARD_TOUCHES", ""},
    {"K2K_FIO_SECONDS", ""},
    {"K2K_ORDEAL_SECONDS", ""},
    {"K2K_ORDEAL_SEED", ""},
    {"K2K_PEER_DEVICE", ""},
    {"K2K_PEER_REFUSED", ""},
    {"K2K_SIMULATION_SCHEDULES", ""},
    {"K2K_SIMULATION_SEED", ""},
    {"K2K_TEST_DEVICE_MEMORY", ""},
};

}  // namespace

std::span<const ConfigOption> config_options() { return options; }

std::span<const OtherVariable> other_variables() {
  static const std::vector<OtherVariable> all = [] {
    std::vector<OtherVariable> made(std::begin(others), std::end(others));
    for (const router::FilesKey& key : router::files_keys) {
      made.push_back({router::library_variable_of(key),
                      key.kernels ? fmt::format("For libk2k_io.so, as {}: {}", key.key, key.help)
                                  : fmt::format("For libk2k_io.so: {}", key.help)});
    }
    return made;
  }();
  return all;
}

const ConfigOption* find_option(std::string_view key) {
  const auto found = std::find_if(std::begin(options), std::end(options),
                                  [&](const ConfigOption& option) { return option.key == key; });
  return found == std::end(options) ? nullptr : found;
}

std::string environment_name(const ConfigOption& option) {
  return router::variable_name("K2K_", outer_name(option));
}

std::string flag_name(const ConfigOption& option) {
  std::string name = std::string("--") + outer_name(option);
  for (char& letter : name) {
    if (letter == '.' || letter == '_') letter = '-';
  }
  return name;
}

std::string permitted(const ConfigOption& option) {
  switch (option.kind) {
    case number:
      return permitted_whole_number(option.least, option.most, option.unit);
    case share:
      return fmt::format(
          "a percentage such as 5% or 0.5% in steps of 0.1%, a whole number of "
          "thousandths from {} to {}{}",
          option.least, option.most, option.least == 0 ? ", or off" : "");
    case boolean:
      return permitted_truth;
    case choice:
      return permitted_words(option.words);
    case policy:
      return permitted_words(option.words) +
             fmt::format(
                 ", the path of a policy that ends with .toml, or its text of at most {} "
                 "bytes",
                 option.most);
    case cores:
      return fmt::format("a list of CPUs such as 0,2-3 (each at most {}, at most {} of them)",
                         core_max, cores_max);
    case text:
      return fmt::format("a name of {} to {} bytes", option.least, option.most);
  }
  return "";
}

std::optional<std::uint64_t> permille_of(std::string_view text) {
  if (!text.ends_with('%')) return {};
  text.remove_suffix(1);
  double percent = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, percent, std::chars_format::fixed);
  if (error != std::errc() || end != last) return {};
  const double permille = percent * permille_in_percent;
  if (!(permille >= 0 && permille <= 1000)) return {};  // Not a number is neither.
  const double whole = std::round(permille);
  return std::abs(permille - whole) < 1e-6 ? std::optional(static_cast<std::uint64_t>(whole))
                                           : std::nullopt;
}

std::string plain_value(const ConfigOption& option, const std::string& shown) {
  if (option.kind != OptionKind::share) return shown;
  const Result<OptionValue> value = parse_value(option, shown);
  return value ? std::to_string(value.value().number) : shown;
}

Result<OptionValue> parse_value(const ConfigOption& option, std::string_view text) {
  const Error wrong{EINVAL, permitted(option)};
  OptionValue value;
  value.text = text;
  switch (option.kind) {
    case number: {
      const auto parsed = parse_whole_number(text, option.least, option.most);
      if (!parsed) return wrong;
      value.number = *parsed;
      return value;
    }
    case share: {
      auto parsed = text.ends_with('%') ? permille_of(text)
                                        : parse_whole_number(text, option.least, option.most);
      if (text == off) parsed = 0;
      if (!parsed || *parsed < option.least || *parsed > option.most) return wrong;
      value.number = *parsed;
      return value;
    }
    case boolean: {
      const auto parsed = parse_truth(text);
      if (!parsed) return wrong;
      value.number = *parsed ? 1 : 0;
      return value;
    }
    case choice: {
      const auto parsed = parse_word(text, option.words);
      if (!parsed) return wrong;
      value.number = *parsed;
      return value;
    }
    case policy: {
      if ((text.ends_with(policy_file_ending) || is_policy_text(text)) &&
          text.size() <= option.most) {
        value.number = static_cast<std::uint64_t>(server::CallPolicy::file);
        return value;
      }
      const auto parsed = parse_word(text, option.words);
      if (!parsed) return wrong;
      value.number = *parsed;
      return value;
    }
    case cores: {
      auto parsed = cores_of(text);
      if (!parsed) return wrong;
      value.cores = std::move(*parsed);
      return value;
    }
    case OptionKind::text:
      if (text.size() < option.least || text.size() > option.most) return wrong;
      return value;
  }
  return wrong;
}

}  // namespace k2k
