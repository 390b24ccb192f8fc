#pragma once
// The state of each request: the account against which both sides are checked.
//
//   issued ──▶ executed ──▶ taken by its work-item                each once
//      └───────────┴──── or: the work-item got a transport error
//
// The table of moves (world.cpp) checks that no slot is accepted or answered twice.
//
// Threading: confined to one thread.

#include <cstdint>
#include <vector>

#include "device/reply.hpp"
#include "device/transfer.hpp"
#include "services/request.hpp"

namespace k2k::simulation {

class Requests {
 public:
  struct Entry {
    std::uint16_t number = 0;
    std::uint8_t flags = 0;
    bool refused_by_policy = false;
    std::uint8_t executed = 0;
    std::uint8_t taken = 0;
    bool cut_off = false;  // Its work-item got a transport error, or was abandoned.
  };

  void begin() { entries_.clear(); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

  // Numbers a new request, from 1, and stores its content.
  std::uint32_t issue(std::uint16_t number, std::uint8_t flags, bool refused_by_policy);
  static device::Words words_of(std::uint32_t id);

  // Returns 0 or the policy's answer.
  std::int64_t admit(const services::Request& request);
  // Notes that the system call is made; returns its answer.
  std::int64_t execute(const services::Request& request);
  // The work-item has the reply. `may_be_cut_off`: the reply may be a transport error.
  void take(std::uint32_t id, const Reply& reply, bool may_be_cut_off);
  void abandon(std::uint32_t id) { entry(id).cut_off = true; }

  // Expects that all issued requests were answered, except requests cut off. Reports a violation
  // otherwise.
  void expect_settled(bool closed);
  // Is this a simulated request? The slot of a retired claim contains none.
  [[nodiscard]] static bool is_ours(const services::Request& request);

 private:
  Entry& entry(std::uint32_t id) { return entries_[id - 1]; }
  Entry* find(const services::Request& request);
  static std::int64_t value_of(std::uint32_t id, const Entry& entry);

  std::vector<Entry> entries_;
};

}  // namespace k2k::simulation
