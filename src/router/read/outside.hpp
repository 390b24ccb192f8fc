#pragma once
// Reads of files that are outside (expectation.hpp): the router keeps no state of them. The time of
// a plain read shows whether there is time to gain; if so, the file is entered.
//
//   up to trial_bytes        a plain read; slower than memory, and the file is not small: entered
//   longer                   plain, if cachestat(2) reports all of it as cached; else entered
//   small_file_bytes long    plain, whatever is requested
//
// Threading: any thread.

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>

#include "base/clock.hpp"
#include "io/file/page_range.hpp"
#include "io/file/residency.hpp"
#include "router/file/expectation.hpp"
#include "router/read/execution.hpp"
#include "router/read/file_reader.hpp"
#include "router/read/read_steps.hpp"

namespace k2k::router {

class OutsideFiles {
 public:
  // All outlive it.
  OutsideFiles(const ReaderConfig& config, Expectation& expectation, const ReadSteps& steps)
      : small_file_bytes_(config.small_file_bytes),
        trial_bytes_(config.trial_bytes),
        bound_is_strict_(config.partition_pages > 0 && !config.partition_where_free),
        expectation_(expectation),
        steps_(steps) {}

  // Does the read-ahead cache track each file from its first request on?
  [[nodiscard]] bool bound_is_strict() const { return bound_is_strict_; }
  [[nodiscard]] bool is_small(const struct stat& facts) const {
    return S_ISREG(facts.st_mode) && facts.st_size <= small_file_bytes_;
  }
  // May a request of a file that is outside need a plan?
  [[nodiscard]] bool may_enter(std::size_t bytes, bool trusted) const {
    return bound_is_strict_ || (bytes > trial_bytes_ && !trusted);
  }
  // Would the file stay outside with this request?
  [[nodiscard]] bool would_keep(const FileRequest& request) const {
    const bool has_trials = trial_bytes_ > 0 && !bound_is_strict_;
    if (has_trials &&
        (request.bytes <= trial_bytes_ || expectation_.expects_cached(request.descriptor))) {
      return true;
    }
    struct stat facts{};
    if (::fstat(request.descriptor, &facts) != 0 || is_small(facts)) return true;
    return has_trials && is_all_cached(request, facts);
  }
  // Does the file stay outside with this request? If not, it is entered.
  bool keeps(const FileRequest& request) {
    if (would_keep(request)) return true;
    expectation_.note_entered(request.descriptor);
    return false;
  }
  // A plain read. If it was not from memory, and the file is not small, the file is entered.
  template <class Use>
  ssize_t read(const FileRequest& request, Use& use) {
    expectation_.note_end(request.descriptor, request.end());
    const std::uint64_t begin = cycles();
    const ssize_t count = steps_.unprobed(request, use);
    note_read(request, count, begin);
    return count;
  }
  // A plain read gave this count; it began at `begin`, in cycles.
  void note_read(const FileRequest& request, ssize_t count, std::uint64_t begin) {
    if (count < static_cast<ssize_t>(request.bytes)) return;
    if (steps_.is_fast(begin, request.bytes)) {
      expectation_.note_fast(request.descriptor);
    } else if (struct stat facts{};
               trial_bytes_ > 0 && ::fstat(request.descriptor, &facts) == 0 && !is_small(facts)) {
      expectation_.note_entered(request.descriptor);
    }
  }

 private:
  // By one call, and without a probe.
  static bool is_all_cached(const FileRequest& whole, const struct stat& facts) {
    const FileRequest request = within_file(whole, facts);
    if (request.bytes == 0) return true;
    const io::PageRange pages{request.first_page(), request.pages()};
    return io::cached_pages(request.descriptor, pages) == static_cast<std::int64_t>(pages.pages);
  }

  const std::int64_t small_file_bytes_;
  const std::uint32_t trial_bytes_;
  const bool bound_is_strict_;
  Expectation& expectation_;
  const ReadSteps& steps_;
};

}  // namespace k2k::router
