#pragma once
// The steps of a read, for all memory. A port (host_port.hpp, device_port.hpp) makes a `Use` for
// each request, which moves the bytes:
//
//   refusal()       0, or the errno of a request that cannot be served
//   read()          by the page cache, as pread(2)
//   is_transfer()   may all of it be one direct transfer?
//   transfer()      that transfer
//   prepare()       takes the resources of a plan; false: there are none
//   part_bytes_max, residency()   the longest part of a plan, and room for a byte a page
//   run()           a plan: direct transfers, and the cached pages meanwhile
//   write(), whole()   one call of Linux
//
// Threading: any thread; a Use has one owner.

#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.hpp"
#include "router/ahead/prefetch.hpp"
#include "router/file/expectation.hpp"
#include "router/file/open_files.hpp"
#include "router/read/execution.hpp"
#include "router/read/reader_parts.hpp"

namespace k2k::router {

// A probe of longer requests takes little of their time.
inline constexpr std::uint32_t unprobed_pages_max = 256;

struct StepSettings {
  // A read was not from memory if it took this long and twice its copy.
  double slow_ns = 0;
  double cache_gbs = 1;  // Of that copy.
  std::uint32_t grain_pages = 8;
};

class ReadSteps {
 public:
  // Both outlive it.
  ReadSteps(const StepSettings& settings, Expectation& expectation, Counters& counters)
      : settings_(settings), expectation_(expectation), counters_(counters) {}
  // `prefetch` is notified of the used pages. Null: nothing is read ahead.
  void set_prefetch(Prefetch* prefetch) { prefetch_ = prefetch; }

  // Through the page cache.
  template <class Use>
  ssize_t buffered(const FileRequest& request, Use& use) const {
    const ssize_t count = use.read(request);
    if (count > 0) add(counters_.bytes_cache, static_cast<std::uint64_t>(count));
    return count;
  }
  template <class Use>
  ssize_t unprobed(const FileRequest& request, Use& use) const {
    const ssize_t count = use.read(request);
    count_unprobed(count);
    return count;
  }
  // Of an unprobed read.
  void count_unprobed(ssize_t count) const {
    add(counters_.unprobed, 1);
    if (count > 0) add(counters_.bytes_cache, static_cast<std::uint64_t>(count));
  }
  // As unprobed(); its time says whether it came from memory.
  template <class Use>
  ssize_t timed(const FileRequest& request, Use& use) const {
    const std::uint64_t begin = cycles();
    const ssize_t count = unprobed(request, use);
    if (is_fast(begin, request.bytes)) {
      expectation_.note_fast(request.descriptor);
    } else {
      expectation_.note_slow(request.descriptor, request.bytes);
    }
    return count;
  }
  // Did a read that began at `begin`, in cycles, come from memory?
  [[nodiscard]] bool is_fast(std::uint64_t begin, std::size_t bytes) const {
    return ns_since(begin) <= fast_ns(bytes);
  }

  // Directly, because nothing of the last requests was cached. A probe before the read would take
  // longer than all other steps: a core that has waited for a disk finds nothing of Linux in its
  // caches. No value: the request must be probed.
  template <class Use>
  std::optional<ssize_t> expected_absent(const FileRequest& whole, const FileRequest& request,
                                         const struct stat& facts, OpenFile& file,
                                         const io::DirectFile& direct, Use& use) const {
    const Expectation::Absent absent = expectation_.expects_absent(whole.descriptor);
    if (!absent.expected || request.bytes != whole.bytes || request.pages() > unprobed_pages_max ||
        !use.is_transfer(request, direct.alignment())) {
      return {};
    }
    const Outcome outcome = use.transfer(request, file, direct);
    if (absent.probe) {
      std::array<std::uint8_t, unprobed_pages_max> residency;
      probe(request, facts, file, std::span(residency).first(request.pages()));
    } else {
      expectation_.note_direct(request.descriptor);
    }
    add(absent.probe ? counters_.probed : counters_.unprobed, 1);
    note(outcome, counters_, file);
    return outcome.answer;
  }

  // Probed, planned and run.
  template <class Use>
  ssize_t probed(const FileRequest& part, const struct stat& facts, OpenFile& file,
                 const io::DirectFile& direct, Use& use) const {
    const std::span<std::uint8_t> residency = use.residency(part.pages());
    if (probe(part, facts, file, residency) == residency.size()) {
      return expected_cached(part, file, use);
    }
    const Outcome outcome = use.run(part, residency, file, direct);
    note(outcome, counters_, file);
    return outcome.answer;
  }

 private:
  // The number of its cached pages. A guess is noted as `some`.
  std::size_t probe(const FileRequest& request, const struct stat& facts, OpenFile& file,
                    std::span<std::uint8_t> residency) const {
    using Cached = Expectation::Cached;
    const std::size_t pages = file.probe(request.descriptor, facts, request.first_page(), residency,
                                         settings_.grain_pages);
    const bool none = pages == 0 && file.knows_residency();
    expectation_.note_probed(request.descriptor, pages == request.pages() ? Cached::all
                                                 : none                   ? Cached::none
                                                                          : Cached::some);
    if (prefetch_ != nullptr) prefetch_->used_again(file, {request.first_page(), request.pages()});
    return pages;
  }
  // Pages that a probe reports as cached. If that is a guess, the read's time corrects it.
  template <class Use>
  ssize_t expected_cached(const FileRequest& request, OpenFile& file, Use& use) const {
    if (file.knows_residency()) return buffered(request, use);
    const std::uint64_t begin = cycles();
    const ssize_t count = buffered(request, use);
    const std::size_t pages = request.pages();
    if (count > 0) {
      file.note_read(pages, static_cast<std::uint64_t>(ns_since(begin)),
                     static_cast<std::uint64_t>(fast_ns(request.bytes)) / pages);
    }
    return count;
  }

  [[nodiscard]] double ns_since(std::uint64_t begin) const {
    return static_cast<double>(cycles() - begin) * ns_per_cycle_;
  }
  // The longest time of a read from memory.
  [[nodiscard]] double fast_ns(std::size_t bytes) const {
    return std::max(settings_.slow_ns, slow_factor * static_cast<double>(bytes) * ns_per_byte_);
  }

  static constexpr double slow_factor = 2;
  const StepSettings settings_;
  const double ns_per_cycle_ = nanoseconds_per_cycle();
  const double ns_per_byte_ = 1 / settings_.cache_gbs;
  Expectation& expectation_;
  Counters& counters_;
  Prefetch* prefetch_ = nullptr;
};

}  // namespace k2k::router
