#pragma once
// Copies of the memory of calls whose structures have a form of their own, behind a policy that
// names memory: options of sockets, lists of futexes, pieces of vmsplice and of other processes,
// events of queues, operations on keys. For one try of one call, as part_copies.hpp says.
//
// Linux reads and writes the copies; what it wrote goes to the caller's memory, of which only
// judged bytes are touched.
//
// Threading: confined to one thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "calls/pieces.hpp"
#include "services/request.hpp"

namespace k2k::services {

// Is it one of these calls?
bool has_copies(std::uint16_t number);

// By the words of such a request alone: why no copy confines its memory, as a text for the audit
// log. Null: copies do.
const char* unconfined_by(const Request& request);

// 0, or the negative errno of a refusal: judge(what, address, bytes, does Linux write there?).
using JudgeMemory =
    std::function<std::int64_t(const char*, std::uint64_t, std::uint64_t, bool writes)>;

// Copies the elements of a vector and judges each piece. Lets `address` lead to the copy. Expects
// at most pieces_max elements. 0, -EFAULT, or the refusal.
std::int64_t copy_pieces(std::uint64_t& address, std::uint64_t count, bool writes,
                         std::vector<calls::Piece>& pieces, const JudgeMemory& judge);

// Memory that Linux may keep: pages of pipes.
class OwnPages {
 public:
  OwnPages() = default;
  ~OwnPages();
  OwnPages(const OwnPages&) = delete;
  OwnPages& operator=(const OwnPages&) = delete;

  // Maps new pages, once. False: there is no memory.
  bool map(std::size_t bytes);
  [[nodiscard]] std::span<char> bytes() const { return bytes_; }

 private:
  std::span<char> bytes_;
};

class CallCopies {
 public:
  explicit CallCopies(JudgeMemory judge) : judge_(std::move(judge)) {}

  // Lets the request lead to copies. 0, or the negative errno of the answer:
  //   -EFAULT   a part beyond the ranges, or not there
  //   -ENOBUFS  the content of an option above option_bytes_max
  //   -ENOMEM
  // and those that Linux gives for wrong counts. Other calls are left as they are.
  std::int64_t take(Request& judged);

  // For the caller, what Linux wrote. Returns the value of the call, or -EFAULT.
  [[nodiscard]] std::int64_t give_back(std::int64_t value) const;

  static constexpr std::size_t option_bytes_max = std::size_t{1} << 20;
  static constexpr std::size_t splice_bytes_max = std::size_t{1} << 20;  // By one try.

 private:
  // linux/futex.h has it since 5.16.
  struct Waiter {
    std::uint64_t value;
    std::uint64_t address;
    std::uint32_t flags;
    std::uint32_t reserved;
  };
  // sigevent.
  struct Event {
    std::uint64_t value;
    std::int32_t signal;
    std::int32_t notify;
    std::uint64_t rest[6];
  };
  // keyctl_pkey_params.
  struct KeySizes {
    std::int32_t key;
    std::uint32_t in_bytes;
    std::uint32_t other_bytes;  // Of the output, or of a second input.
    std::uint32_t spare[7];
  };

  std::int64_t take_wanted_option(Request& judged);
  std::int64_t take_new_option(Request& judged);
  std::int64_t take_waiters(std::uint64_t& address, std::uint64_t count);
  std::int64_t take_spliced(Request& judged);
  std::int64_t fill_spliced();
  std::int64_t take_event(std::uint64_t& address);
  std::int64_t take_key_sizes(Request& judged);
  std::int64_t take_pieces(std::uint64_t& address, std::uint64_t count, bool writes);

  [[nodiscard]] std::int64_t give_option(std::int64_t value) const;
  [[nodiscard]] std::int64_t give_spliced(std::int64_t value) const;

  const JudgeMemory judge_;
  std::vector<calls::Piece> pieces_;
  std::vector<Waiter> waiters_;
  Event event_{};
  KeySizes key_sizes_{};

  std::vector<char> option_;
  std::int32_t option_bytes_ = 0;  // As Linux answers.
  std::size_t wanted_bytes_ = 0;
  std::uint64_t option_place_ = 0;
  std::uint64_t length_place_ = 0;  // 0: no option is wanted.

  OwnPages pages_;
  calls::Piece spliced_{};
  bool gives_spliced_ = false;  // Linux takes bytes out of the pipe.
};

}  // namespace k2k::services
