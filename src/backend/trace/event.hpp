#pragma once
// The elements of a trace: events with a time and a request, drawn one at a time.
//
// Threading: values; a source is used by one thread at a time, which may change between two events.

#include <cstdint>
#include <span>
#include <string_view>

namespace k2k::backend::trace {

// The origin of an event's time.
enum class Since : std::uint8_t {
  begin,   // Of the replay: arrivals independent of answers (open loop).
  answer,  // The previous answer of the work-item that takes the event: think time (closed loop).
};

// Each is one real system call.
enum class Operation : std::uint8_t {
  nop,            // K2K's own: the server answers it at once.
  getpid,         //
  clock_gettime,  // A call without a row: run by a thread that may be kept.
  nanosleep,      // Waits: run by a thread that may be kept. Amount: nanoseconds.
  pread,          // From /dev/zero. Amount: bytes.
  pwrite,         // To /dev/null. Amount: bytes.
  fault,          // Zeroed pages, as a page fault makes them: mmap of bytes in place.
  cost,           // CPU time: a read of the number of random bytes that takes so long. Amount:
                  // nanoseconds.
  release,        // Gives the pages of an earlier fault back: madvise. Amount: bytes.
  move_pages,     // Asks for the nodes of pages. Amount: pages.
  signal,         // Queues SIGURG for this process, which ignores it unless it has a handler.
};
inline constexpr int operation_count = 11;

struct Event {
  Since since = Since::answer;
  Operation operation = Operation::nop;
  std::int64_t after_ns = 0;  // Not negative.
  std::uint64_t amount = 0;   // In the call's unit; 0 for calls without one.
  std::uint16_t tenant = 0;   // The request's owner; below protocol::tenants_max.
  bool urgent = false;        // Ends a coalescing window.
};

enum class Unit : std::uint8_t { none, bytes, pages, microseconds };

// The calls as text, with the limits of their amount, in its unit.
struct OperationRow {
  Operation operation;
  std::string_view name;
  Unit unit;
  double least;
  double most;
};
std::span<const OperationRow, operation_count> operation_rows();
// The row of a call, by name; nullptr if there is none.
const OperationRow* find_operation(std::string_view name);
std::string_view name_of(Operation operation);

// Bytes of each work-item's memory for its calls.
inline constexpr std::uint32_t item_bytes = 128u << 10;
// The pages whose nodes one call asks for. Their addresses and nodes lie behind them, in the last
// page of the work-item's memory.
inline constexpr std::uint32_t pages_a_call_max = 31;
// The limit of an event's time: an hour.
inline constexpr double time_us_max = 3.6e9;

class Source {
 public:
  virtual ~Source() = default;
  // Draws the next event; false: there are no more.
  virtual bool next(Event& event) = 0;
  // Is it infinite?
  [[nodiscard]] virtual bool endless() const = 0;
  // Can it contain this call?
  [[nodiscard]] virtual bool uses(Operation operation) const = 0;
};

}  // namespace k2k::backend::trace
