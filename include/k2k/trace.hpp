#pragma once
// A sequence of an accelerator's requests, replayed by a runtime with the backend `trace`: real
// system calls, served by the real server, without a device that occupies a core
// (docs/design/trace.md).
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
using backend::trace::Operation;
using backend::trace::Since;

// The number of random bytes with a read time of `time_us` on this machine, 64 to 128 KiB, measured
// once per process in some 20 ms. Random bytes are computed, so cold caches do not slow such a
// read. Errors: as open(2) for /dev/urandom, with the path; EIO.
K2K_API Result<std::uint64_t> random_bytes_taking(double time_us);

struct TraceOptions {
  std::uint32_t outstanding = 64;  // The limit of requests that wait for the host, 1 to all slots.
  Nanoseconds longest{};           // Events due later are omitted; 0: no limit.
};

class K2K_API Trace {
 public:
  // Errors: EINVAL, with the line and the mistake.
  static Result<Trace> parse(std::string_view text, std::string name = "trace");
  // Errors: as parse(), and errors of reading the file.
  static Result<Trace> load(const std::string& path);
  // A trace of the given events. Errors: EINVAL, with the event and the mistake.
  static Result<Trace> of(std::vector<TraceEvent> events, std::string name = "trace");
  // An infinite load, computed from a seed. Errors: EINVAL, with the list of names.
  static Result<Trace> named(std::string_view name, std::uint64_t seed = 1);
  // The names that named() accepts: "uniform", "poisson:RATE".
  static std::vector<std::string> names();

  [[nodiscard]] const std::string& name() const { return name_; }
  // True if the trace never ends by itself.
  [[nodiscard]] bool endless() const { return events_ == nullptr; }
  // Its events as text, which parse() accepts; without events if it is endless.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::size_t events() const { return events_ == nullptr ? 0 : events_->size(); }

  // Replays it to its end, and waits until every request is answered. `report`, if given, is also
  // filled in on errors. Errors:
  //   EINVAL     another backend; outstanding or longest out of range
  //   ECANCELED  Runtime::cancel() was called
  //   ESHUTDOWN  the runtime ended meanwhile
  //   ENOMEM, and as open(2) and read(2) for the files that its calls need
  // Wrong answers are not an error: the report counts them.
  Result<TraceReport> replay(Runtime& runtime, const TraceOptions& options = {},
                             TraceReport* report = nullptr) const;

 private:
  using Events = std::vector<TraceEvent>;
  Trace(std::string name, std::shared_ptr<const Events> events, std::uint64_t seed)
      : name_(std::move(name)), events_(std::move(events)), seed_(seed) {}

  std::string name_;
  std::shared_ptr<const Events> events_;  // nullptr: the load is computed.
  std::uint64_t seed_;
};

}  // namespace k2k

#endif
