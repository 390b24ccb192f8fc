#include "services/rules/call_copies.hpp"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>

#include "services/opens/copy_in.hpp"

namespace k2k::services {

namespace {

using calls::Piece;

constexpr std::uint16_t futex_waitv_number = 449;
constexpr std::uint16_t futex_requeue_number = 456;
constexpr std::uint16_t copied[] = {
    SYS_setsockopt,     SYS_getsockopt,       SYS_vmsplice,  SYS_process_vm_readv,
    futex_waitv_number, futex_requeue_number, SYS_mq_notify, SYS_keyctl,
};

// -- options of sockets ---------------------------------------------------------------------------

// Options whose value Linux measures by its length, and that holds no addresses.
struct Options {
  int level;
  int first;
  int last;
};
constexpr Options plain_options[] = {
    // Without filters (26, 51), whose values are addresses, and SO_ZEROCOPY (60), by which Linux
    // keeps pages of a caller.
    {SOL_SOCKET, 1, 25},
    {SOL_SOCKET, 27, 50},
    {SOL_SOCKET, 52, 59},
    {SOL_SOCKET, 61, 77},
    // Without lists of sources (41, 48), which measure themselves, and those of netfilter (from 64
    // on), which hold addresses.
    {IPPROTO_IP, 1, 8},
    {IPPROTO_IP, 10, 15},
    {IPPROTO_IP, 18, 26},
    {IPPROTO_IP, 32, 40},
    {IPPROTO_IP, 42, 47},
    {IPPROTO_IP, 49, 52},
    {IPPROTO_IPV6, 1, 5},
    {IPPROTO_IPV6, 7, 8},
    {IPPROTO_IPV6, 16, 31},
    {IPPROTO_IPV6, 33, 33},
    {IPPROTO_IPV6, 36, 36},
    {IPPROTO_IPV6, 42, 47},
    {IPPROTO_IPV6, 49, 62},
    {IPPROTO_IPV6, 66, 67},
    {IPPROTO_IPV6, 70, 70},
    {IPPROTO_IPV6, 72, 78},
    {IPPROTO_TCP, 1, 34},  // Without TCP_ZEROCOPY_RECEIVE (35), whose value holds addresses.
    {IPPROTO_TCP, 36, 37},
    {IPPROTO_UDP, 1, 1},
    {IPPROTO_UDP, 100, 104},
    {AF_VSOCK, 0, 8},
    {SOL_NETLINK, 1, 12},
    {SOL_ALG, 1, 7},
    {SOL_TLS, 1, 4},
};

bool is_plain(int level, int option) {
  return std::ranges::any_of(plain_options, [&](const Options& each) {
    return level == each.level && option >= each.first && option <= each.last;
  });
}

// Some protocols of older Linux touch a whole structure, whatever the length is.
constexpr std::size_t option_room = 256;

// -- keys -----------------------------------------------------------------------------------------

// A later operation may take a pointer.
constexpr std::uint32_t last_key_operation = 32;  // KEYCTL_WATCH_KEY

bool has_key_sizes(std::uint64_t operation) {
  const auto number = static_cast<std::uint32_t>(operation);
  return number >= KEYCTL_PKEY_ENCRYPT && number <= KEYCTL_PKEY_VERIFY;
}

// -- futexes --------------------------------------------------------------------------------------

constexpr std::uint64_t waiters_max = 128;  // FUTEX_WAITV_MAX

// FUTEX2_SIZE_MASK; FUTEX2_NUMA: the number of a node follows the word.
std::uint64_t bytes_of_word(std::uint32_t flags) {
  constexpr std::uint32_t has_node = 4;
  return std::uint64_t{(flags & has_node) != 0 ? 2u : 1u} << (flags & 3u);
}

// -- queues ---------------------------------------------------------------------------------------

constexpr std::uint64_t cookie_bytes = 32;  // NOTIFY_COOKIE_LEN

}  // namespace

bool has_copies(std::uint16_t number) {
  return std::ranges::find(copied, number) != std::end(copied);
}

const char* unconfined_by(const Request& request) {
  const auto& word = request.arguments;
  switch (request.number) {
    case SYS_setsockopt:
    case SYS_getsockopt:
      if (is_plain(static_cast<int>(word[1]), static_cast<int>(word[2]))) return nullptr;
      return "the option of the socket may hold addresses, beyond memory.ranges";
    case SYS_process_vm_readv:
      if (static_cast<pid_t>(word[0]) == ::getpid()) return nullptr;
      return "memory.ranges name no memory of another process";
    case SYS_keyctl:
      if (static_cast<std::uint32_t>(word[0]) > last_key_operation ||
          (static_cast<std::uint32_t>(word[0]) == KEYCTL_DH_COMPUTE && word[4] != 0)) {
        return "the memory of this operation on keys cannot be confined to memory.ranges";
      }
      return nullptr;
    default:
      return nullptr;
  }
}

std::int64_t copy_pieces(std::uint64_t& address, std::uint64_t count, bool writes,
                         std::vector<Piece>& pieces, const JudgeMemory& judge) {
  if (count == 0 || address == 0) return 0;
  pieces.resize(count);
  if (copy_in(address, pieces.data(), count * sizeof(Piece)) != 0) return -EFAULT;
  for (const Piece& piece : pieces) {
    const std::int64_t refused = judge("a piece", piece.address, piece.bytes, writes);
    if (refused != 0) return refused;
  }
  address = reinterpret_cast<std::uint64_t>(pieces.data());
  return 0;
}

OwnPages::~OwnPages() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

bool OwnPages::map(std::size_t bytes) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  bytes_ = {static_cast<char*>(memory), bytes};
  return true;
}

std::int64_t CallCopies::take(Request& judged) {
  auto& word = judged.arguments;
  switch (judged.number) {
    case SYS_setsockopt:
      return take_new_option(judged);
    case SYS_getsockopt:
      return take_wanted_option(judged);
    case futex_waitv_number:
      return take_waiters(word[0], word[1]);
    case futex_requeue_number:
      return take_waiters(word[0], 2);
    case SYS_vmsplice:
      return take_spliced(judged);
    case SYS_process_vm_readv:
      return take_pieces(word[3], word[4], false);
    case SYS_mq_notify:
      return take_event(word[1]);
    case SYS_keyctl:
      return has_key_sizes(word[0]) ? take_key_sizes(judged) : 0;
    default:
      return 0;
  }
}

std::int64_t CallCopies::give_back(std::int64_t value) const {
  if (length_place_ != 0) return give_option(value);
  return gives_spliced_ && value > 0 ? give_spliced(value) : value;
}

std::int64_t CallCopies::take_pieces(std::uint64_t& address, std::uint64_t count, bool writes) {
  if (count > calls::pieces_max) return -EINVAL;
  return copy_pieces(address, count, writes, pieces_, judge_);
}

// The content is copied, too: a few options read it, and Linux leaves bytes behind its answer.
std::int64_t CallCopies::take_wanted_option(Request& judged) {
  auto& word = judged.arguments;
  if (word[4] == 0 || copy_in(word[4], &option_bytes_, sizeof(option_bytes_)) != 0) return -EFAULT;
  if (option_bytes_ < 0) return -EINVAL;
  const auto bytes = static_cast<std::uint64_t>(option_bytes_);
  if (word[3] != 0) {
    if (const std::int64_t refused = judge_("the option", word[3], bytes, true); refused != 0)
      return refused;
    wanted_bytes_ = std::min(bytes, option_bytes_max);
    option_bytes_ = static_cast<std::int32_t>(wanted_bytes_);
    option_.resize(wanted_bytes_ + option_room);
    if (wanted_bytes_ != 0 && copy_in(word[3], option_.data(), wanted_bytes_) != 0) return -EFAULT;
    option_place_ = word[3];
    word[3] = reinterpret_cast<std::uint64_t>(option_.data());
  }
  length_place_ = word[4];
  word[4] = reinterpret_cast<std::uint64_t>(&option_bytes_);
  return 0;
}

// An error may have an answer, too: -ERANGE, the length that it would need.
std::int64_t CallCopies::give_option(std::int64_t value) const {
  const bool failed = value < 0 && value != -ERANGE;
  if (failed) return value;
  const std::size_t written =
      value < 0 || option_bytes_ < 0
          ? 0
          : std::min(wanted_bytes_, static_cast<std::size_t>(option_bytes_));
  if (written != 0 && copy_out(option_place_, option_.data(), written) != 0) return -EFAULT;
  return copy_out(length_place_, &option_bytes_, sizeof(option_bytes_)) == 0 ? value : -EFAULT;
}

// Its memory was judged by the words of the request.
std::int64_t CallCopies::take_new_option(Request& judged) {
  auto& word = judged.arguments;
  const auto bytes = static_cast<std::int32_t>(word[4]);
  if (bytes < 0) return -EINVAL;
  const auto count = static_cast<std::size_t>(bytes);
  if (word[3] == 0) return 0;  // Linux answers it.
  if (count > option_bytes_max) return -ENOBUFS;
  option_.resize(count + option_room);
  if (count != 0 && copy_in(word[3], option_.data(), count) != 0) return -EFAULT;
  word[3] = reinterpret_cast<std::uint64_t>(option_.data());
  return 0;
}

std::int64_t CallCopies::take_waiters(std::uint64_t& address, std::uint64_t count) {
  if (count > waiters_max) return -EINVAL;
  if (count == 0 || address == 0) return 0;
  waiters_.resize(count);
  if (copy_in(address, waiters_.data(), count * sizeof(Waiter)) != 0) return -EFAULT;
  for (const Waiter& each : waiters_) {
    const std::int64_t refused = judge_("a waiter", each.address, bytes_of_word(each.flags), true);
    if (refused != 0) return refused;
  }
  address = reinterpret_cast<std::uint64_t>(waiters_.data());
  return 0;
}

// A pipe keeps the pages that it gets, longer than the caller may have them: it gets pages of the
// copy. Which way the bytes go, the descriptor says. If another takes its number meanwhile, bytes
// may be lost; Linux touches the copy alone.
std::int64_t CallCopies::take_spliced(Request& judged) {
  auto& word = judged.arguments;
  const auto descriptor = static_cast<int>(word[0]);
  const int flags = ::fcntl(descriptor, F_GETFL);
  gives_spliced_ = flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
  if (const std::int64_t refused = take_pieces(word[1], word[2], gives_spliced_); refused != 0)
    return refused;
  if (pieces_.empty()) return 0;
  const int room = ::fcntl(descriptor, F_GETPIPE_SZ);
  if (room <= 0) return -EBADF;
  std::uint64_t left = std::min<std::uint64_t>(static_cast<std::uint64_t>(room), splice_bytes_max);
  std::uint64_t bytes = 0;
  for (Piece& piece : pieces_) {
    piece.bytes = std::min(piece.bytes, left);
    left -= piece.bytes;
    bytes += piece.bytes;
  }
  if (bytes == 0) return 0;
  if (!pages_.map(bytes)) return -ENOMEM;
  if (const std::int64_t failed = fill_spliced(); failed != 0) return failed;
  spliced_ = {reinterpret_cast<std::uint64_t>(pages_.bytes().data()), bytes};
  word[1] = reinterpret_cast<std::uint64_t>(&spliced_);
  word[2] = 1;
  return 0;
}

std::int64_t CallCopies::fill_spliced() {
  if (gives_spliced_) return 0;
  std::size_t at = 0;
  for (const Piece& piece : pieces_) {
    if (piece.bytes == 0) continue;
    if (copy_in(piece.address, pages_.bytes().data() + at, piece.bytes) != 0) return -EFAULT;
    at += piece.bytes;
  }
  return 0;
}

std::int64_t CallCopies::give_spliced(std::int64_t value) const {
  std::size_t at = 0;
  for (const Piece& piece : pieces_) {
    const std::size_t bytes =
        std::min<std::size_t>(piece.bytes, static_cast<std::size_t>(value) - at);
    if (bytes == 0) continue;
    if (copy_out(piece.address, pages_.bytes().data() + at, bytes) != 0) return -EFAULT;
    at += bytes;
  }
  return value;
}

// For a thread, Linux reads a cookie for its message behind the value.
std::int64_t CallCopies::take_event(std::uint64_t& address) {
  if (address == 0) return 0;
  if (copy_in(address, &event_, sizeof(event_)) != 0) return -EFAULT;
  address = reinterpret_cast<std::uint64_t>(&event_);
  if (event_.notify != SIGEV_THREAD) return 0;
  return judge_("the cookie", event_.value, cookie_bytes, false);
}

std::int64_t CallCopies::take_key_sizes(Request& judged) {
  auto& word = judged.arguments;
  if (word[1] == 0) return 0;
  if (copy_in(word[1], &key_sizes_, sizeof(key_sizes_)) != 0) return -EFAULT;
  word[1] = reinterpret_cast<std::uint64_t>(&key_sizes_);
  const bool writes = static_cast<std::uint32_t>(word[0]) != KEYCTL_PKEY_VERIFY;
  const std::int64_t refused = judge_("the input", word[3], key_sizes_.in_bytes, false);
  if (refused != 0) return refused;
  return judge_(writes ? "the output" : "the second input", word[4], key_sizes_.other_bytes,
                writes);
}

}  // namespace k2k::services
