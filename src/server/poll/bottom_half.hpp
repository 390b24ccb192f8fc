#pragma once
// The bottom half: reads a bundle's slots once, validates and classifies their requests, and
// answers on the spot those that need only memory.
//
// Threading: one instance serves all threads. In monolithic mode no two threads hold bundles that
// name the same row. In split mode they may, because a rescan may find requests that a queued
// bundle names: a host-side flag per row admits one thread at a time, so a slot is accepted once.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.hpp"
#include "server/account/completion.hpp"
#include "server/poll/top_half.hpp"
#include "server/settings/config.hpp"
#include "services/policy.hpp"
#include "services/rules/judgements.hpp"
#include "services/rules/part_copies.hpp"
#include "services/services.hpp"

namespace k2k::services {
class CallJudge;
class CallRules;
}  // namespace k2k::services

namespace k2k::server {

// A request between acceptance and answer.
struct Pending {
  // Not the implicit constructor: `emplace_back()` would clear the whole object first.
  Pending() noexcept {}
  explicit Pending(const services::Request& accepted) : request(accepted) {}

  services::Request request;
  services::Progress progress;
  services::Readiness readiness;  // The event that it waits for, once it was tried.
  bool keeps_role = false;        // It waits only for a disk.
  std::uint64_t begun = 0;        // cycles() at its first try; 0 = not tried yet.
};

// A request whose slot is ready, while its bundle is processed.
struct ReadySlot {
  protocol::Slot& slot;
  std::uint32_t wave = 0;
  std::uint8_t lane = 0;
  std::int16_t row = -1;
  std::uint16_t number = 0;
  std::uint32_t stamp = 0;
  // Not a copy: its fields were just written one by one, and reading them together would wait.
  const protocol::Attributes& attributes;
  std::size_t left = 0;  // Doorbells of the bundle after this one.
  bool follows =
      false;  // No other request was accepted since the bundle began, or since OnTheSpot::settle().

  // Fills in a request, except for the arguments, which are read once.
  void describe(services::Request& request) const {
    request.wave = wave;
    request.lane = lane;
    request.number = number;
    request.row = row;
    request.stamp = stamp;
    request.attributes = attributes;
  }
};

// Makes some calls directly from their slots while their bundle is processed (core/spot_calls.hpp).
class OnTheSpot {
 public:
  enum class Outcome : std::uint8_t {
    declined,  // No effect: it is accepted like other requests.
    answered,
    put_off,  // It would wait. Its slot is taken, its request is in the batch.
    lost,     // The role was taken over meanwhile: bundle and batch belong to its new holder.
  };
  OnTheSpot() = default;
  virtual ~OnTheSpot() = default;
  OnTheSpot(const OnTheSpot&) = delete;
  OnTheSpot& operator=(const OnTheSpot&) = delete;

  // Expects ThreadStats::counting begun, and leaves it begun unless the role is lost. Appends a
  // request that is put off to `batch`; no other needs a copy of its slot.
  virtual Outcome serve(const ReadySlot& ready, std::vector<Pending>& batch) = 0;
  // Charges the calls since the last settle(), and adds the charged cycles to `charged`. Returns
  // cycles() at its end.
  virtual std::uint64_t settle(std::uint64_t& charged) = 0;
};

// The policies `io` and of files permit calls by rules beside this (services/rules/call_rules.hpp).
constexpr services::Openness openness_of(CallPolicy policy) {
  return policy == CallPolicy::known_only ? services::Openness::known_only
                                          : services::Openness::any;
}

// Settings for processing a bundle.
struct Processing {
  services::Openness openness = services::Openness::any;
  bool trace = false;       // Record events.
  bool shared = false;      // Another thread may hold a bundle that names the same rows.
  bool defer = false;       // Answer only refused requests on the spot: the others need admission.
  std::uint64_t begun = 0;  // A recent value of cycles(); 0: process() reads it.
  OnTheSpot* on_the_spot = nullptr;
};

class SlotsAhead;

class BottomHalf {
 public:
  BottomHalf(const protocol::AreaView& area, const backend::Backend& backend, router::Files& files,
             DetachedErrors& detached_errors, services::CallRules* rules = nullptr)
      : area_(&area),
        backend_(&backend),
        files_(&files),
        detached_errors_(&detached_errors),
        rules_(rules),
        hides_memory_(backend.info().hides_memory),
        reads_on_the_spot_(!hides_memory_ && permits_reads(rules)),
        functions_on_the_spot_(rules == nullptr || rules->permits_all(calls::host_call_number)),
        row_lanes_(~std::uint64_t{0} >> (64 - area.wave_lanes)),
        busy_rows_(std::make_unique<std::atomic_flag[]>(area.wave_count)),
        open_rows_(hides_memory_, rules),
        judgements_(hides_memory_ || rules != nullptr ? services::Judgements(hides_memory_, rules)
                                                      : services::Judgements()),
        parts_(rules, backend, files) {}

  // Moves every ready slot that the bundle names to processing. Answers calls that never block and
  // refused requests, and appends their rows to `answered`; appends all others to `batch`. Skips
  // named slots that are not ready (a duplicate, stale or invalid doorbell). Charges its CPU time.
  // Returns cycles() at its end; 0 if the role was lost on the spot.
  std::uint64_t process(const Bundle& bundle, const Processing& how, std::vector<Pending>& batch,
                        std::vector<std::uint32_t>& answered, ThreadStats& stats) const;

 private:
  // State that the rows of a bundle share.
  struct Pass;
  // Processes one row; returns the number of answered requests.
  std::uint64_t process_row(const protocol::Doorbell& doorbell, Pass& pass) const;
  // The judge of the pass' requests.
  services::CallJudge& judge_of(Pass& pass) const;
  static bool permits_reads(const services::CallRules* rules);
  // Returns true if a request of this row is tried on the spot.
  [[nodiscard]] bool is_for_the_spot(std::int16_t row) const;
  // Returns true if the request was served on the spot.
  bool serve_on_the_spot(const ReadySlot& ready, Pass& pass) const;

  const protocol::AreaView* area_;
  const backend::Backend* backend_;
  router::Files* files_;
  DetachedErrors* detached_errors_;
  services::CallRules* rules_;  // Null in tests alone: refusals leave no line in the log.
  bool hides_memory_;
  bool reads_on_the_spot_;
  bool functions_on_the_spot_;
  std::uint64_t row_lanes_;  // The lanes that a row has.
  std::unique_ptr<std::atomic_flag[]> busy_rows_;
  services::OpenRows open_rows_;
  // Of no call where no row needs one. Behind the other members: a pass needs these, in one line.
  services::Judgements judgements_;
  services::PartCopies parts_;
};

}  // namespace k2k::server
