#include "services/own_process.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/keyctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/own_process.hpp"
#include "services/own_descriptors.hpp"
#include "services/raw.hpp"

namespace k2k::services {

namespace {

constexpr std::uint16_t watched[] = {
    SYS_mmap,          SYS_mprotect,
    SYS_munmap,        SYS_mremap,
    SYS_madvise,       SYS_shmat,
    SYS_fcntl,         SYS_rt_sigqueueinfo,
    SYS_waitid,        SYS_remap_file_pages,
    SYS_add_key,       SYS_request_key,
    SYS_keyctl,        SYS_rt_tgsigqueueinfo,
    SYS_pkey_mprotect, SYS_futex,
};

// So that the calls that are made most pay one load.
constexpr std::size_t watched_end = *std::max_element(std::begin(watched), std::end(watched)) + 1u;
constexpr std::array<bool, watched_end> is_watched = [] {
  std::array<bool, watched_end> table{};
  for (const std::uint16_t number : watched) table[number] = true;
  return table;
}();

// Advice that leaves the content of pages as it is, now and after a fork. New advice is none.
bool preserves_pages(int advice) {
  switch (advice) {
    case MADV_NORMAL:
    case MADV_RANDOM:
    case MADV_SEQUENTIAL:
    case MADV_WILLNEED:
    case MADV_DOFORK:
    case MADV_HUGEPAGE:
    case MADV_NOHUGEPAGE:
    case MADV_DODUMP:
    case MADV_DONTDUMP:
    case MADV_COLD:
    case MADV_PAGEOUT:
    case MADV_POPULATE_READ:
    case MADV_POPULATE_WRITE:
      return true;
    default:
      return false;
  }
}

// A segment whose size the system does not tell could be of any size.
bool attaches_to_own(int segment, std::uintptr_t address) {
  struct shmid_ds status{};
  const bool known = ::shmctl(segment, IPC_STAT, &status) == 0;
  return meets_own_memory(address, known ? status.shm_segsz : UINT64_MAX);
}

bool ends_or_stops(std::uint64_t signal) {
  return static_cast<int>(signal) == SIGKILL || static_cast<int>(signal) == SIGSTOP;
}

// Keyrings that Linux keeps for each thread. It makes a process keyring, too, for one thread and
// those that this thread starts later.
bool is_keyring_of_thread(std::uint64_t key) {
  const auto number = static_cast<std::int32_t>(key);
  return number == KEY_SPEC_THREAD_KEYRING || number == KEY_SPEC_PROCESS_KEYRING ||
         number == KEY_SPEC_REQKEY_AUTH_KEY || number == KEY_SPEC_REQUESTOR_KEYRING;
}

// An operation of keyctl: does it change the thread, and which of its arguments name keys?
struct KeyOperation {
  std::uint32_t number;
  bool changes_thread;
  std::array<std::uint8_t, 3> keys{};  // 0 = no further one.
};
constexpr KeyOperation key_operations[] = {
    {KEYCTL_JOIN_SESSION_KEYRING, true}, {KEYCTL_SESSION_TO_PARENT, true},
    {KEYCTL_SET_REQKEY_KEYRING, true},   {KEYCTL_ASSUME_AUTHORITY, true},
    {KEYCTL_DH_COMPUTE, false},    // Pointers.
    {KEYCTL_PKEY_ENCRYPT, false},  // Likewise, and the next three.
    {KEYCTL_PKEY_DECRYPT, false},        {KEYCTL_PKEY_SIGN, false},
    {KEYCTL_PKEY_VERIFY, false},         {KEYCTL_CAPABILITIES, false},
    {KEYCTL_GET_PERSISTENT, false, {2}}, {KEYCTL_LINK, false, {1, 2}},
    {KEYCTL_UNLINK, false, {1, 2}},      {KEYCTL_SEARCH, false, {1, 4}},
    {KEYCTL_INSTANTIATE, false, {1, 4}}, {KEYCTL_INSTANTIATE_IOV, false, {1, 4}},
    {KEYCTL_REJECT, false, {1, 4}},      {KEYCTL_NEGATE, false, {1, 3}},
    {KEYCTL_MOVE, false, {1, 2, 3}},
};

bool changes_keys_of_thread(const std::uint64_t (&word)[protocol::argument_count]) {
  constexpr KeyOperation other{0, false, {1}};
  const auto* const found =
      std::ranges::find(key_operations, static_cast<std::uint32_t>(word[0]), &KeyOperation::number);
  const KeyOperation& operation = found == std::end(key_operations) ? other : *found;
  return operation.changes_thread || std::ranges::any_of(operation.keys, [&](std::uint8_t at) {
           return at != 0 && is_keyring_of_thread(word[at]);
         });
}

// The lock would have a service thread as its owner.
bool locks_for_thread(std::uint64_t operation) {
  switch (static_cast<std::uint32_t>(operation) & FUTEX_CMD_MASK) {
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_TRYLOCK_PI:
    case FUTEX_UNLOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI:
      return true;
    default:
      return false;
  }
}

// Linux takes the number of any thread for its process.
bool is_in_this_process(std::uint64_t thread) {
  return raw(SYS_tgkill, ::getpid(), static_cast<pid_t>(thread), 0) == 0;
}

bool harms_own(const Request& request) {
  const auto& word = request.arguments;
  switch (request.number) {
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_remap_file_pages:
      return meets_own_memory(word[0], word[1]);
    case SYS_madvise:
      return !preserves_pages(static_cast<int>(word[2])) && meets_own_memory(word[0], word[1]);
    case SYS_mmap:
      return (word[3] & MAP_FIXED) != 0 && meets_own_memory(word[0], word[1]);
    case SYS_mremap:
      // With an old size of 0 it makes a second mapping of shared pages at this address.
      return meets_own_memory(word[0], std::max<std::uint64_t>(word[1], 1)) ||
             ((word[3] & MREMAP_FIXED) != 0 && meets_own_memory(word[4], word[2]));
    case SYS_shmat:
      return (static_cast<int>(word[2]) & SHM_REMAP) != 0 &&
             attaches_to_own(static_cast<int>(word[0]), word[1]);
    case SYS_waitid:
      // A kernel has no children of its own: it cannot make any.
      return (word[3] & WNOWAIT) == 0;
    case SYS_fcntl:
      return static_cast<int>(word[1]) == F_SETSIG && ends_or_stops(word[2]);
    case SYS_futex:
      return locks_for_thread(word[1]);
    case SYS_add_key:
      return is_keyring_of_thread(word[4]);
    case SYS_request_key:
      return is_keyring_of_thread(word[3]);
    case SYS_keyctl:
      return changes_keys_of_thread(word);
    case SYS_rt_sigqueueinfo:
      return ends_or_stops(word[1]) && is_in_this_process(word[0]);
    case SYS_rt_tgsigqueueinfo:
      return is_own_thread(static_cast<pid_t>(word[1])) ||
             (ends_or_stops(word[2]) && is_in_this_process(word[1]));
    default:
      return false;
  }
}

}  // namespace

std::int64_t refuse_own(const Request& request) {
  if (names_own(request)) [[unlikely]]
    return -EBADF;
  if (request.number >= watched_end || !is_watched[request.number]) return 0;
  return harms_own(request) ? -EPERM : 0;
}

}  // namespace k2k::services
