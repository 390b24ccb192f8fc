#pragma once
// Traces as text (docs/design/trace.md):
//
//   # k2k trace 1             the first line
//   0       cost 12.5         12.5 us of CPU time, requested when the replay begins
//   250     pread 4096        a quarter of a millisecond after the begin
//   +3.5    fault 65536       3.5 us after the previous answer of the work-item that takes it
//   500     nop tenant=3 urgent  for tenant 3 (0 to 63); no coalescing window delays it
//   # a remark, or an empty line
//
// Times are microseconds. Times without + must not decrease from line to line. Fields are separated
// by blanks or tabs. Any mistake is an error that names the line.
//
// Threading: pure functions.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/trace/event.hpp"
#include "base/result.hpp"

namespace k2k::backend::trace {

inline constexpr std::string_view first_line = "# k2k trace 1";
inline constexpr std::size_t events_max = std::size_t{1} << 22;

// Accepts any bytes. Errors: EINVAL, with the line, its content and the permitted content.
Result<std::vector<Event>> parse_trace(std::string_view text);

// The text of events that check_events() accepts. parse_trace() gives the same events back, with
// times and amounts rounded to a nanosecond.
std::string text_of(std::span<const Event> events);

// Checks events that come from no text: their requests are permitted, and their times are in order.
// Errors: EINVAL, with the event's index, from 0 on, and the permitted values.
Status check_events(std::span<const Event> events);

// The events, one after the other.
class ListedEvents final : public Source {
 public:
  // The events must outlive this object.
  explicit ListedEvents(std::span<const Event> events) : events_(events) {}
  bool next(Event& event) override {
    if (next_ == events_.size()) return false;
    event = events_[next_++];
    return true;
  }
  [[nodiscard]] bool endless() const override { return false; }
  [[nodiscard]] bool uses(Operation operation) const override;

 private:
  std::span<const Event> events_;
  std::size_t next_ = 0;
};

}  // namespace k2k::backend::trace
