#pragma once
// The bottom half: reads a bundle's slots once, validates, classifies, and answers on the spot what
// can be answered from memory.
//
// Threading: one instance serves all threads. In split mode two of them may hold bundles that name
// the same row (a rescan found what a queued bundle names too): a host-side flag a row lets one of
// them in at a time, so that a slot is accepted once.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.hpp"
#include "server/completion.hpp"
#include "server/top_half.hpp"
#include "services/policy.hpp"
#include "services/services.hpp"

namespace k2k::server {

// A request between acceptance and answer.
struct Pending {
  services::Request request;
  services::Progress progress;
};

class BottomHalf {
 public:
  BottomHalf(const protocol::AreaView& area, const backend::Backend& backend,
             DetachedErrors& detached_errors)
      : area_(&area),
        backend_(&backend),
        detached_errors_(&detached_errors),
        busy_rows_(std::make_unique<std::atomic_flag[]>(area.wave_count)) {}

  // Moves every ready slot the bundle names to processing. What never blocks, and what is refused,
  // is answered here, its rows appended to `answered`; the rest is appended to `batch`.
  // A named slot that is not ready (a duplicate, a stale or a scribbled doorbell) is passed over.
  void process(const Bundle& bundle, services::Openness openness, bool trace,
               std::vector<Pending>& batch, std::vector<std::uint32_t>& answered,
               ThreadStats& stats) const;

 private:
  // The slot's words, copied once.
  static services::Request copy(const protocol::Slot& slot, std::uint32_t wave, std::uint32_t lane,
                                std::uint16_t number);

  const protocol::AreaView* area_;
  const backend::Backend* backend_;
  DetachedErrors* detached_errors_;
  std::unique_ptr<std::atomic_flag[]> busy_rows_;
};

}  // namespace k2k::server
