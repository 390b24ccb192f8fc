#pragma once
// Answers requests: writes the result into the slot, counts the answer in the thread's statistics
// and notifies the device.
//
// An answer is late if stop() may have abandoned its thread in a stuck call. The area may be gone
// then: refuse_the_rest() answers open requests and drops every later answer.
//
// Threading: from anywhere. A thread answers a request that it owns, and counts in its own
// statistics. The lock orders late answers before or behind refuse_the_rest(). The caller must not
// hold a lock that Backend::resume() or a woken thread takes.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "base/units.hpp"
#include "protocol/area.hpp"
#include "server/account/completion.hpp"
#include "server/account/detached_errors.hpp"
#include "server/account/thread_stats.hpp"
#include "services/fault.hpp"
#include "services/request.hpp"

namespace k2k::server {

class Answers {
 public:
  // `backend` must outlive this object, except while answers are dropped.
  explicit Answers(backend::Backend& backend) : backend_(&backend), area_(backend.area()) {}
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  [[nodiscard]] const protocol::AreaView& area() const { return area_; }
  [[nodiscard]] DetachedErrors& errors() { return errors_; }
  [[nodiscard]] const DetachedErrors& errors() const { return errors_; }

  void answer(ThreadStats& stats, const services::Request& request, std::int64_t value,
              const Moments& moments) {
    answer_by(stats, request, value, protocol::TransportError::none, moments);
  }
  // As answer(), for a request whose times are not measured because another request of its kind is
  // sampled.
  void answer_untimed(ThreadStats& stats, const services::Request& request, std::int64_t value,
                      std::uint64_t moment) {
    stats.counting.begin();
    complete_untimed(area_, request, value, protocol::TransportError::none, {moment, moment}, stats,
                     errors_);
    stats.counting.end();
    backend_->resume(&request.wave, 1);
  }
  // Answers all faults except faults that would wait. `rows` is a scratch buffer of the thread.
  void answer_faults(ThreadStats& stats, std::vector<std::uint32_t>& rows,
                     std::span<const services::Fault> faults, const Moments& moments);

  // For a thread that stop() may have abandoned. -ECANCELED becomes TransportError::shutdown: only
  // an interrupted wait gives it.
  void answer_late(ThreadStats& stats, const services::Request& request, std::int64_t value,
                   const Moments& moments);
  void answer_faults_late(ThreadStats& stats, std::vector<std::uint32_t>& rows,
                          std::span<const services::Fault> faults, const Moments& moments);

  // The host's own account of its work: a number if no request is on its way, which changes with
  // every request.
  using Work = std::function<std::optional<std::uint64_t>()>;
  // Returns once no request is published or accepted, or false after `longest`. Slots of which only
  // the device says that they are accepted do not count: by `work`, the host is at rest at two
  // looks, and nothing happened in between.
  [[nodiscard]] bool wait_for_all(Nanoseconds longest, const Work& work = {}) const;
  // Closes the area, answers every request that is published or accepted with
  // TransportError::shutdown, and drops all late answers from then on. Allocates no memory, except
  // for names of failed detached calls.
  void refuse_the_rest();

 private:
  void answer_by(ThreadStats& stats, const services::Request& request, std::int64_t value,
                 protocol::TransportError error, const Moments& moments) {
    stats.counting.begin();
    complete(area_, request, value, error, moments, stats, errors_);
    stats.counting.end();
    backend_->resume(&request.wave, 1);
  }
  // The first that holds of any slot: it is published, it is accepted.
  enum class Open : std::uint8_t { none, processing, ready };
  [[nodiscard]] Open open_slots() const;

  backend::Backend* backend_;
  const protocol::AreaView area_;
  DetachedErrors errors_;
  // Statistics for refuse_the_rest(), which may not allocate. Nothing reads them.
  const std::unique_ptr<ThreadStats> unread_ = std::make_unique<ThreadStats>();
  std::mutex late_;
  bool refused_ = false;  // Under late_: the area may be gone.
};

}  // namespace k2k::server
