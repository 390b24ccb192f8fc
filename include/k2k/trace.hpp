#pragma once
// What an accelerator asks of the host, replayed by a runtime whose backend is `trace`: real system
// calls, served by the real server, without a device that takes a core (docs/design/trace.md).
//
//   auto trace = k2k::Trace::load("requests.trace");      // Or Trace::named("uniform", 1).
//   auto runtime = k2k::Runtime::create({.backend = "trace"});
//   auto report = trace->replay(runtime.value(), {.outstanding = 64});
//
// Threading: a trace is a value; replays of one runtime run one after the other.
// Runtime::cancel() ends one.

#if __cplusplus < 202002L
#error "<k2k/trace.hpp> needs C++20: compile with -std=c++20"
#else

#include <cstdint>
#include <k2k/runtime.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/trace/event.hpp"
#include "backend/trace/report.hpp"
#include "base/api.hpp"
#include "base/result.hpp"

namespace k2k {

using TraceReport = backend::trace::Report;
using TraceEvent = backend::trace::Event;
using backend::trace::Ask;
using backend::trace::Since;

// How many random bytes take so long to read here, 64 to 128 KiB; measured with direct calls once
// in a process, in some 20 ms. Random bytes are computed, not fetched: such a read takes as long
// with caches gone cold as without. Errors: those of open(2) for /dev/urandom, the path named; EIO.
K2K_API Result<std::uint64_t> random_bytes_taking(double time_us);

struct TraceOptions {
  std::uint32_t outstanding = 64;  // Requests that wait for the host at most, 1 to all slots.
  Nanoseconds longest{};           // Events due later are left out; 0 = to the trace's end.
};

class K2K_API Trace {
 public:
  // Errors: EINVAL, the line and what is wrong with it.
  static Result<Trace> parse(std::string_view text, std::string name = "trace");
  // Errors: the same, and those of reading the file.
  static Result<Trace> load(const std::string& path);
  // Events as they stand. Errors: EINVAL, the event and what is wrong with it.
  static Result<Trace> of(std::vector<TraceEvent> events, std::string name = "trace");
  // A load that is computed from a seed and goes on for ever. Errors: EINVAL, the names there are.
  static Result<Trace> named(std::string_view name, std::uint64_t seed = 1);
  // What named() takes, for people: "uniform", "poisson:RATE".
  static std::vector<std::string> names();

  [[nodiscard]] const std::string& name() const { return name_; }
  // Must it be told when to end?
  [[nodiscard]] bool endless() const { return events_ == nullptr; }
  [[nodiscard]] std::size_t events() const { return events_ == nullptr ? 0 : events_->size(); }

  // Replays it to its end, and waits until every request is answered. `report`, if given, is filled
  // in also where this fails. Errors:
  //   EINVAL     another backend; outstanding or longest out of range
  //   ECANCELED  Runtime::cancel() was called
  //   ESHUTDOWN  the runtime ended meanwhile
  //   ENOMEM, and those of open(2) and read(2) for the files that its calls need
  // Wrong answers are no error: the report counts them.
  Result<TraceReport> replay(Runtime& runtime, const TraceOptions& options = {},
                             TraceReport* report = nullptr) const;

 private:
  using Events = std::vector<TraceEvent>;
  Trace(std::string name, std::shared_ptr<const Events> events, std::uint64_t seed)
      : name_(std::move(name)), events_(std::move(events)), seed_(seed) {}

  std::string name_;
  std::shared_ptr<const Events> events_;  // Or none: it is computed.
  std::uint64_t seed_;
};

}  // namespace k2k

#endif
