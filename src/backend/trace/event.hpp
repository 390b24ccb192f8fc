#pragma once
// What a trace is made of: events that say when to ask the host for what, drawn one at a time.
//
// Threading: values; a source is used by one thread at a time, which may change between two events.

#include <cstdint>
#include <span>
#include <string_view>

namespace k2k::backend::trace {

// What an event's time counts from.
enum class Since : std::uint8_t {
  begin,   // Of the replay: arrivals that nobody holds back (open loop).
  answer,  // The answer before, of the work-item that takes the event: think time (closed loop).
};

// Each is one real system call.
enum class Ask : std::uint8_t {
  nop,            // K2K's own: answered by the server at once.
  getpid,         //
  clock_gettime,  // A call without a row: run by a thread that may be kept.
  nanosleep,      // Waits: run by a thread that may be kept. Amount: nanoseconds.
  pread,          // From /dev/zero. Amount: bytes.
  pwrite,         // To /dev/null. Amount: bytes.
  fault,          // Pages anew, zeroed, as a page fault brings them: mmap of bytes in place.
  cost,           // CPU time: random bytes, as many as take so long. Amount: nanoseconds.
};
inline constexpr int ask_count = 8;

struct Event {
  Since since = Since::answer;
  Ask ask = Ask::nop;
  std::int64_t after_ns = 0;  // Not negative.
  std::uint64_t amount = 0;   // As the call says; 0 where it takes none.
  std::uint16_t tenant = 0;   // On whose behalf; below protocol::tenants_max.
  bool urgent = false;        // Ends a coalescing window.
};

enum class Unit : std::uint8_t { none, bytes, microseconds };

// The calls as text, and what their amount may be, in its unit.
struct AskRow {
  Ask ask;
  std::string_view name;
  Unit unit;
  double least;
  double most;
};
std::span<const AskRow, ask_count> ask_rows();
// The row of a call, by name; nullptr: there is none.
const AskRow* find_ask(std::string_view name);
std::string_view name_of(Ask ask);

// Bytes of memory that each work-item has for its calls.
inline constexpr std::uint32_t item_bytes = 128u << 10;
// Of an event: an hour.
inline constexpr double time_us_max = 3.6e9;

class Source {
 public:
  virtual ~Source() = default;
  // The next event, or false: that was the last.
  virtual bool next(Event& event) = 0;
  // Goes on for ever?
  [[nodiscard]] virtual bool endless() const = 0;
  // Does it ever ask for this?
  [[nodiscard]] virtual bool asks(Ask ask) const = 0;
};

}  // namespace k2k::backend::trace
