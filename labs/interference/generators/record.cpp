#include "labs/interference/generators/record.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "labs/interference/generators/files_kernel.hpp"
#include "labs/interference/generators/group_heap.hpp"
#include "labs/interference/generators/measure.hpp"
#include "labs/interference/generators/pages_kernel.hpp"

namespace k2k::labs::generators {

namespace {

using telemetry::Event;
using telemetry::EventKind;

constexpr std::uint64_t page = 4'096;
constexpr std::uint16_t fault_in = 0xfffd;
// Times are kept to a tenth of a microsecond: clocks of service threads are read once a bundle.
constexpr double kept_ns = 100;
constexpr double cost_ns_max = 1e7;

// The events of one slot, each list in the order of time. The n-th request has the n-th answer.
struct OneSlot {
  std::vector<const Event*> accepted;
  std::vector<const Event*> started;
  std::vector<const Event*> completed;
};
using Place = std::pair<std::uint32_t, std::uint8_t>;

std::int64_t rounded_ns(std::uint64_t from, std::uint64_t to, double ns_per_cycle) {
  if (to <= from) return 0;  // A thread's clock may be older than another thread's answer.
  const double ns = static_cast<double>(to - from) * ns_per_cycle;
  return static_cast<std::int64_t>(std::round(ns / kept_ns) * kept_ns);
}

class Translation {
 public:
  explicit Translation(double ns_per_cycle) : ns_per_cycle_(ns_per_cycle) {}

  // The call of the trace device for a request that was served from `begun` to `done`.
  void describe(const Event& request, std::uint64_t begun, std::uint64_t done, TraceEvent& event) {
    switch (request.number) {
      case fault_in:
        if (pages_.insert(request.argument / page).second)
          return set(event, Operation::fault, page);
        return set(event, Operation::nop, 0);
      case SYS_mmap:
        return set(event, Operation::fault, heap_chunk_bytes);
      case SYS_munmap:
        return set(event, Operation::release, heap_chunk_bytes);
      case SYS_pread64:
        return set(event, Operation::pread, sizeof(FileRecord));
      case SYS_pwrite64:
        return set(event, Operation::pwrite, sizeof(FileRecord));
      case SYS_move_pages:
        return set(event, Operation::move_pages, pages_a_call);
      case SYS_rt_sigqueueinfo:
        return set(event, Operation::signal, 0);
      default:
        break;
    }
    const auto cost = static_cast<double>(rounded_ns(begun, done, ns_per_cycle_));
    set(event, Operation::cost, static_cast<std::uint64_t>(std::clamp(cost, kept_ns, cost_ns_max)));
  }

 private:
  static void set(TraceEvent& event, Operation operation, std::uint64_t amount) {
    event.operation = operation;
    event.amount = amount;
  }

  double ns_per_cycle_;
  std::set<std::uint64_t> pages_;  // That have been asked for.
};

std::map<Place, OneSlot> slots_of(std::span<const Event> events) {
  std::map<Place, OneSlot> slots;
  for (const Event& event : events) {
    OneSlot& slot = slots[{event.wave, event.lane}];
    if (event.kind == EventKind::accepted) slot.accepted.push_back(&event);
    if (event.kind == EventKind::started) slot.started.push_back(&event);
    if (event.kind == EventKind::completed) slot.completed.push_back(&event);
  }
  return slots;
}

}  // namespace

Result<Trace> trace_from(std::span<const Event> events, double ns_per_cycle,
                         const std::string& name) {
  struct Request {
    const Event* accepted;
    const Event* before;  // The answer before in the same slot; nullptr: none.
    const Event* started;
    const Event* completed;
  };
  std::vector<Request> requests;
  for (const auto& [place, slot] : slots_of(events)) {
    const std::size_t count = slot.accepted.size();
    if (slot.started.size() != count || slot.completed.size() != count) {
      return Error{EINVAL, fmt::format("{}: slot {}.{} has {} requests and {} answers", name,
                                       place.first, place.second, count, slot.completed.size())};
    }
    for (std::size_t at = 0; at < count; ++at) {
      requests.push_back({slot.accepted[at], at == 0 ? nullptr : slot.completed[at - 1],
                          slot.started[at], slot.completed[at]});
    }
  }
  std::stable_sort(requests.begin(), requests.end(), [](const Request& left, const Request& right) {
    return left.accepted->cycles < right.accepted->cycles;
  });
  Translation translation(ns_per_cycle);
  std::vector<TraceEvent> trace(requests.size());
  for (std::size_t at = 0; at < requests.size(); ++at) {
    const Request& one = requests[at];
    TraceEvent& event = trace[at];
    event.since = one.before == nullptr ? Since::begin : Since::answer;
    const std::uint64_t from = (one.before == nullptr ? requests[0].accepted : one.before)->cycles;
    event.after_ns = rounded_ns(from, one.accepted->cycles, ns_per_cycle);
    translation.describe(*one.accepted, one.started->cycles, one.completed->cycles, event);
  }
  return Trace::of(std::move(trace), name);
}

Result<Trace> record(const Generator& generator, const RuntimeConfig& base,
                     const Settings& settings) {
  RuntimeConfig config = base;
  config.server.trace = true;
  Result<std::vector<Event>> events = std::vector<Event>{};
  const Result<Row> row = measure(generator, config, settings, &events);
  if (!row) return row.error();
  if (row->skipped) return Error{ENOTSUP, row->note};
  if (!row->agrees()) {
    return Error{EIO, fmt::format("{} of {} answers are wrong; {}", row->answers.wrong,
                                  row->answers.compared, row->answers.first)};
  }
  if (!events) return events.error();
  const auto accepted = static_cast<std::uint64_t>(
      std::count_if(events->begin(), events->end(),
                    [](const Event& event) { return event.kind == EventKind::accepted; }));
  if (accepted < row->requests()) {
    return Error{ENOBUFS, fmt::format("{} of {} requests were recorded; take a smaller --scale",
                                      accepted, row->requests())};
  }
  return trace_from(events.value(), nanoseconds_per_cycle(), generator.name);
}

Status write_trace(const std::string& path, const Trace& trace) {
  const std::string part = path + ".part";
  errno = 0;
  std::ofstream file(part, std::ios::binary);
  file << trace.text();
  file.close();
  if (file && std::rename(part.c_str(), path.c_str()) == 0) return {};
  const int code = errno == 0 ? EIO : errno;
  std::remove(part.c_str());
  return Error{code, fmt::format("cannot write {}: {}", path, std::strerror(code))};
}

}  // namespace k2k::labs::generators
