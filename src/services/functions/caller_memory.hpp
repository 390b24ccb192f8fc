#pragma once
// The memory that a host call names: may the host touch it?
//
// The addresses and sizes are the device's and can be anything. A system call on them would answer
// EFAULT, but host functions touch memory themselves, so each range is checked first. A range that
// the program unmaps afterwards is the program's fault.
//
// Threading: from anywhere.

#include <cstdint>
#include <functional>
#include <utility>

#include "backend/backend.hpp"
#include "backend/demand_pages.hpp"

namespace k2k::services {

class CallerMemory {
 public:
  explicit CallerMemory(const backend::Backend& backend)
      : backend_(&backend), of_host_(backend.info().platform == "cpu") {}

  // May a host call name these bytes?
  using Permits = std::function<bool(std::uint64_t address, std::uint64_t bytes, bool only_read)>;
  // As the rules of a policy say, in addition to all else. Before the first call.
  void confine(Permits permits) { permits_ = std::move(permits); }

  // Makes the range present. 0; -EFAULT: memory that the host cannot reach, that the rules do not
  // permit, or that is not mapped for this access; -EAGAIN: a page of a demand-paged region has to
  // be read first.
  [[nodiscard]] std::int64_t reach(std::uint64_t address, std::uint64_t bytes,
                                   backend::PageAccess access, backend::Reading reading) const;

 private:
  // Does the range lie in the arena, which is mapped as long as the device exists?
  [[nodiscard]] bool in_arena(std::uint64_t address, std::uint64_t bytes) const;
  // Asks the system.
  [[nodiscard]] bool is_mapped(std::uint64_t address, std::uint64_t bytes,
                               backend::PageAccess access) const;

  const backend::Backend* backend_;
  // All memory is pages of the host's programs. Pages of a device's driver answer like pages that
  // forbid the access (EINVAL); of these, Backend::host_may_access() knows the bounds.
  const bool of_host_;
  Permits permits_;  // Empty: all memory.
};

}  // namespace k2k::services
