#pragma once
// The bottom half: reads a bundle's slots once, validates, classifies, and answers on the spot what
// can be answered from memory.
//
// Threading: one instance serves all threads. Monolithic, no two of them hold bundles that name the
// same row. In split mode they may (a rescan found what a queued bundle names too): a host-side
// flag a row lets one of them in at a time, so that a slot is accepted once.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.hpp"
#include "server/account/completion.hpp"
#include "server/poll/top_half.hpp"
#include "services/policy.hpp"
#include "services/services.hpp"

namespace k2k::services {
class CallRules;
}

namespace k2k::server {

// A request between acceptance and answer.
struct Pending {
  services::Request request;
  services::Progress progress;
  services::Readiness readiness;  // What it waits for, once it was tried.
  bool keeps_role = false;        // It waits, but for a disk.
  std::uint64_t begun = 0;        // cycles() when it was first tried; 0 = not yet.
};

// A request whose slot is ready, as its bundle is walked through.
struct ReadySlot {
  protocol::Slot& slot;
  std::uint32_t wave = 0;
  std::uint8_t lane = 0;
  std::int16_t row = -1;
  std::uint16_t number = 0;
  std::uint32_t stamp = 0;
  protocol::Attributes attributes;
  std::size_t left = 0;  // Doorbells of the bundle behind this one's.
  bool follows = false;  // Nothing else was accepted since the bundle, or OnTheSpot::settle().

  // Into a request that is to be made of it: all but the arguments, which are read once.
  void describe(services::Request& request) const {
    request.wave = wave;
    request.lane = lane;
    request.number = number;
    request.row = row;
    request.stamp = stamp;
    request.attributes = attributes;
  }
};

// Makes some calls while their bundle is walked through, from their slots (core/spot_calls.hpp).
class OnTheSpot {
 public:
  enum class Outcome : std::uint8_t {
    declined,  // Nothing has happened: it is accepted as others are.
    answered,
    put_off,  // It would wait. Its slot is taken; the request belongs to the batch.
    lost,     // The role was taken over meanwhile: bundle and batch are the taker's.
  };
  OnTheSpot() = default;
  virtual ~OnTheSpot() = default;
  OnTheSpot(const OnTheSpot&) = delete;
  OnTheSpot& operator=(const OnTheSpot&) = delete;

  // Expects ThreadStats::booking begun, and leaves it so, but where the role is lost. Fills
  // `request` where it is put off or lost.
  virtual Outcome serve(const ReadySlot& ready, services::Request& request) = 0;
  // Charges the calls made since the last time, and adds to `charged` what it charged. Returns
  // cycles() at its end.
  virtual std::uint64_t settle(std::uint64_t& charged) = 0;
};

// How a bundle is processed.
struct Processing {
  services::Openness openness = services::Openness::any;
  bool trace = false;       // Record events.
  bool shared = false;      // Another thread may hold a bundle that names the same rows.
  bool defer = false;       // Answer only refused requests on the spot: the others need admission.
  std::uint64_t begun = 0;  // cycles() as of a moment ago; 0: it is read.
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
        checks_rows_(backend.info().hides_memory || rules != nullptr),
        reads_on_the_spot_(!backend.info().hides_memory && permits_reads(rules)),
        functions_on_the_spot_(rules == nullptr),
        row_lanes_(~std::uint64_t{0} >> (64 - area.wave_lanes)),
        busy_rows_(std::make_unique<std::atomic_flag[]>(area.wave_count)) {}

  // Moves every ready slot the bundle names to processing. What never blocks, and what is refused,
  // is answered here, its rows appended to `answered`; the rest is appended to `batch`.
  // A named slot that is not ready (a duplicate, a stale or a scribbled doorbell) is passed over.
  // Charges what it took. Returns cycles() at its end; 0: the role was lost on the spot.
  std::uint64_t process(const Bundle& bundle, const Processing& how, std::vector<Pending>& batch,
                        std::vector<std::uint32_t>& answered, ThreadStats& stats) const;

 private:
  // What the rows of a bundle share.
  struct Pass;
  // Of one row; the number of requests that were answered.
  std::uint64_t process_row(const protocol::Doorbell& doorbell, Pass& pass) const;
  // May the request be executed? As services::admit(). Sets request.row to -1 where the rules make
  // the call: only a thread that may wait does.
  std::int64_t admit(services::Request& request, services::Openness openness) const;
  static bool permits_reads(const services::CallRules* rules);
  // Is the request tried on the spot, given the Processing?
  [[nodiscard]] bool is_for_the_spot(std::int16_t row) const;
  // Was the request dealt with on the spot?
  bool serve_on_the_spot(const ReadySlot& ready, Pass& pass) const;

  const protocol::AreaView* area_;
  const backend::Backend* backend_;
  router::Files* files_;
  DetachedErrors* detached_errors_;
  services::CallRules* rules_;  // Null: there is no policy file.
  bool checks_rows_;            // Some memory is the device's alone, or there are rules.
  bool reads_on_the_spot_;
  bool functions_on_the_spot_;
  std::uint64_t row_lanes_;  // The lanes that a row has.
  std::unique_ptr<std::atomic_flag[]> busy_rows_;
};

}  // namespace k2k::server
