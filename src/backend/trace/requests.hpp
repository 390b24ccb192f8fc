#pragma once
// Turns an event into a system call: number, arguments, and the right answer.
//
// Each work-item has private memory for its calls, so no two requests share any.
//
// Threading: make() by the thread that holds the accelerator's lock; the memory belongs to the
// work-item's request while the request is with the host.

#include <cstdint>
#include <vector>

#include "backend/cpu/pages.hpp"
#include "backend/trace/cost.hpp"
#include "backend/trace/event.hpp"
#include "base/result.hpp"
#include "device/transfer.hpp"

namespace k2k::backend::trace {

struct TraceRequest {
  std::uint16_t number = 0;
  device::Words arguments;
  std::int64_t right = 0;  // Any other answer is an error.
};

class Requests {
 public:
  // Opens the files that the source's calls need, and measures the cost of random bytes unless it
  // is known. Errors: as open(2), with the path; EIO; ENOMEM.
  Status prepare(const Source& source, std::uint32_t items);
  Requests() = default;
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // Expects an event of the source, and an item below `items` with no other request.
  [[nodiscard]] TraceRequest make(const Event& event, std::uint32_t item) const;

 private:
  [[nodiscard]] std::byte* memory_of(std::uint32_t item) const {
    return memory_.data() + std::size_t{item} * item_bytes;
  }

  cpu::Pages memory_;
  int zeros_ = -1;
  int sink_ = -1;
  int random_ = -1;
  std::int64_t process_ = 0;
  std::vector<ReadCost> costs_;
};

}  // namespace k2k::backend::trace
