#pragma once
// Traces as text (docs/design/trace.md):
//
//   # k2k trace 1             the first line
//   0       cost 12.5         12.5 us of CPU time, asked for when the replay begins
//   250     pread 4096        a quarter of a millisecond after the begin
//   +3.5    fault 65536       3.5 us after the answer before, of the work-item that takes it
//   500     nop tenant=3 urgent  on behalf of tenant 3 (0 to 63), and no window holds it up
//   # a remark, or an empty line
//
// Times are microseconds. Those without + do not decrease from line to line. Fields are separated
// by blanks or tabs. What is wrong is an error that names the line.
//
// Threading: pure functions.

#include <span>
#include <string_view>
#include <vector>

#include "backend/trace/event.hpp"
#include "base/result.hpp"

namespace k2k::backend::trace {

inline constexpr std::string_view first_line = "# k2k trace 1";
inline constexpr std::size_t events_max = std::size_t{1} << 22;

// Accepts any bytes. Errors: EINVAL, the line, what it says and what it may say.
Result<std::vector<Event>> parse_trace(std::string_view text);

// Events that no text was read for: what they ask may be asked, and their times are in order.
// Errors: EINVAL, the event by its place, from 0 on, and what it may be.
Status check_events(std::span<const Event> events);

// The events, one after the other.
class ListedEvents final : public Source {
 public:
  // They outlive this.
  explicit ListedEvents(std::span<const Event> events) : events_(events) {}
  bool next(Event& event) override {
    if (next_ == events_.size()) return false;
    event = events_[next_++];
    return true;
  }
  [[nodiscard]] bool endless() const override { return false; }
  [[nodiscard]] bool asks(Ask ask) const override;

 private:
  std::span<const Event> events_;
  std::size_t next_ = 0;
};

}  // namespace k2k::backend::trace
