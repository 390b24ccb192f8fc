#include "k2k/trace.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "backend/trace/cost.hpp"
#include "backend/trace/format.hpp"
#include "backend/trace/loads.hpp"
#include "backend/trace/trace.hpp"

namespace k2k {

namespace {
// Room for the largest number of events of a trace, and for remarks.
constexpr std::size_t file_bytes_max = std::size_t{1} << 30;
}  // namespace

Result<std::uint64_t> random_bytes_taking(double time_us) {
  const auto costs = backend::trace::measured_reads();
  if (!costs) return costs.error();
  return backend::trace::size_taking(time_us, costs.value());
}

Result<Trace> Trace::parse(std::string_view text, std::string name) {
  auto events = backend::trace::parse_trace(text);
  if (!events) return Error{EINVAL, fmt::format("{}: {}", name, events.error().message)};
  return Trace(std::move(name), std::make_shared<Events>(std::move(events).value()), 0);
}

Result<Trace> Trace::load(const std::string& path) {
  const auto unreadable = [&path] {
    const int error = errno == 0 ? EIO : errno;
    return Error{error, fmt::format("cannot read {}: {}", path, std::strerror(error))};
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable();
  std::string text;
  char part[1 << 16];
  while (file.read(part, sizeof part) || file.gcount() != 0) {
    text.append(part, static_cast<std::size_t>(file.gcount()));
    if (text.size() <= file_bytes_max) continue;
    return Error{EFBIG, fmt::format("{} is larger than {} MiB; cut it into several", path,
                                    file_bytes_max >> 20)};
  }
  if (file.bad()) return unreadable();
  return parse(text, path);
}

Result<Trace> Trace::of(std::vector<TraceEvent> events, std::string name) {
  if (Status status = backend::trace::check_events(events); !status) {
    return Error{EINVAL, fmt::format("{}: {}", name, status.error().message)};
  }
  return Trace(std::move(name), std::make_shared<Events>(std::move(events)), 0);
}

Result<Trace> Trace::named(std::string_view name, std::uint64_t seed) {
  const auto source = backend::trace::create_load(name, seed, 1);
  if (!source) return source.error();
  return Trace(std::string(name), nullptr, seed);
}

std::string Trace::text() const { return backend::trace::text_of(endless() ? Events{} : *events_); }

std::vector<std::string> Trace::names() { return backend::trace::load_names(); }

Result<TraceReport> Trace::replay(Runtime& runtime, const TraceOptions& options,
                                  TraceReport* report) const {
  TraceReport unseen;
  backend::trace::Replay replay;
  replay.report = report == nullptr ? &unseen : report;
  replay.outstanding = options.outstanding;
  replay.longest = options.longest;
  const backend::KernelImage image = backend::trace::image_of(replay, name_.c_str());
  if (runtime.device().platform != image.platform) {
    return Error{EINVAL, fmt::format("trace '{}': this runtime's device is '{}', which replays no "
                                     "traces; set backend = \"trace\"",
                                     name_, runtime.device().name)};
  }
  std::unique_ptr<backend::trace::Source> source;
  if (events_ != nullptr) {
    source = std::make_unique<backend::trace::ListedEvents>(*events_);
  } else {
    auto load = backend::trace::create_load(name_, seed_, options.outstanding);
    if (!load) return load.error();
    source = std::move(load).value();
  }
  replay.source = source.get();
  const Result<LaunchReport> launched = runtime.launch_image({}, image);
  if (!launched) return launched.error();
  return *replay.report;
}

}  // namespace k2k
