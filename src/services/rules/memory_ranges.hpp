#pragma once
// The memory that a policy lets calls name by pointers and addresses: that of kernels, ranges that
// the program gives, or both.
//
// The host judges words of the request, which it has copied. Memory that holds further addresses
// could change after such a judgement: part_copies.hpp copies and judges the structures of which
// the table of calls has the form. All other calls that follow memory are refused as a whole, and
// so are calls whose memory K2K does not know.
//
// Threading: immutable; any thread. refusal() may take a lock of the device's allocator.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "calls/row.hpp"
#include "services/policy.hpp"
#include "services/request.hpp"

namespace k2k {
class Ranges;
}

namespace k2k::services {

struct WantedMemory {
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t bytes = 0;
  };
  bool of_kernels = false;  // KernelMemory::gave_to_kernels(), the arena, and registered memory.
  std::vector<Range> ranges{};
};

class MemoryRanges {
 public:
  enum class Use : std::uint8_t {
    nothing,     // The call names no memory.
    known,       // refusal() judges each pointer and address.
    parts,       // Likewise, and PartCopies judges what the memory behind them names.
    unconfined,  // The call reaches memory that its words do not tell.
  };
  static Use use_of(std::uint16_t number);

  explicit MemoryRanges(WantedMemory wanted);

  [[nodiscard]] Use of(std::uint16_t number) const {
    return number < call_number_end ? uses_[number] : Use::nothing;
  }

  struct Refusal {
    std::int64_t value;  // -EFAULT: other memory; -EACCES: memory that the words do not tell.
    std::string why;
  };
  [[nodiscard]] std::optional<Refusal> refusal(const Request& request,
                                               const backend::Backend& backend,
                                               const Ranges& registered) const;
  // Do all of these bytes lie in one range?
  [[nodiscard]] bool hold(std::uint64_t address, std::uint64_t bytes, bool only_read,
                          const backend::Backend& backend, const Ranges& registered) const;

 private:
  const WantedMemory wanted_;
  std::array<Use, call_number_end> uses_{};
};

}  // namespace k2k::services
