#pragma once
// The calls that the policy `io` or a policy file permits the kernels of a runtime
// (docs/design/security.md).
//
//   judge()    as a request is accepted: by the call's number, the address family of a socket, the
//              process that a signal goes to, the name of a host function
//   judge_memory()  then: by the memory that its pointers name (memory_ranges.hpp); at each try,
//                   part_copies.hpp judges the memory that this memory names
//   perform()  instead of the call, where paths are confined to roots (rooted_files.hpp)
//
// The rules permit no further call: a call that every policy refuses stays refused
// (services/policy.hpp).
//
// Threading: any thread. perform() may wait.

#include <sys/syscall.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "calls/rows.hpp"
#include "services/policy.hpp"
#include "services/request.hpp"
#include "services/rules/audit_log.hpp"
#include "services/rules/memory_ranges.hpp"
#include "services/rules/rooted_files.hpp"

namespace k2k::services {

struct WantedRules {
  enum class Otherwise : std::uint8_t {
    any,
    io,  // The calls of `Access::open`: files, sockets, own memory, time, queries.
    known_only,
    none,
  };
  Otherwise otherwise = Otherwise::any;  // Of the calls in neither list.
  std::vector<std::uint16_t> allowed{};
  std::vector<std::uint16_t> refused{};
  // Where one of these is not set, it restricts nothing.
  std::optional<std::vector<std::string>> roots{};
  std::optional<std::vector<int>> families{};           // AF_UNIX, ...
  std::optional<std::vector<pid_t>> targets{};          // 0 = this process.
  std::optional<std::vector<std::string>> functions{};  // Names of host functions.
  std::optional<WantedMemory> memory{};                 // That pointers may name.
  std::string audit_file{};                             // "" = standard error.
};

// The policy `io`: signals reach this process alone.
WantedRules io_rules();

class CallRules {
 public:
  // Errors: of roots (RootedFiles::open) and of the log (AuditLog::open).
  static Result<std::shared_ptr<CallRules>> create(const WantedRules& wanted);
  CallRules(WantedRules wanted, RootedFiles files, AuditLog audit);

  // 0, or the negative errno of the answer: -EPERM, -EACCES of paths and sockets, -ENOSYS of a call
  // that is not known where only known ones are permitted.
  [[nodiscard]] std::int64_t judge(const Request& request);
  // 0, or -EFAULT or -EACCES where memory is confined (MemoryRanges::refusal).
  [[nodiscard]] std::int64_t judge_memory(const Request& request, const backend::Backend& backend,
                                          const Ranges& registered);
  // Must PartCopies make the call?
  [[nodiscard]] bool judges_parts_of(std::uint16_t number) const {
    return memory_ && memory_->of(number) == MemoryRanges::Use::parts;
  }
  // Null: the rules say nothing of memory.
  [[nodiscard]] const MemoryRanges* memory() const { return memory_ ? &*memory_ : nullptr; }
  // Writes to the audit log that the policy refuses the request, whatever the rules are: -EPERM, a
  // call that every policy refuses; -ENOSYS, a call that is unknown to it.
  void refused(const Request& request, std::int64_t value);
  // Writes that the rules refuse it. Returns `value`.
  std::int64_t refuse(const Request& request, std::int64_t value, std::string_view why);

  // True: perform() makes the call.
  [[nodiscard]] bool confines(std::uint16_t number) const {
    return number < call_number_end && verdicts_[number] == Verdict::confined;
  }
  // True: judge() answers 0 whatever the arguments are.
  [[nodiscard]] bool permits(std::uint16_t number) const {
    if (number >= call_number_end) return true;
    return verdicts_[number] == Verdict::open && !judges_memory_of(number);
  }
  // Likewise, and no path is confined; of calls of host functions: no name is judged, and a print
  // may write.
  [[nodiscard]] bool permits_all(std::uint16_t number) const {
    if (number == calls::host_call_number) return !wanted_.functions && permits(SYS_write);
    return permits(number);
  }
  [[nodiscard]] std::int64_t perform(const Request& request);

  // True: no arguments make judge() answer 0, and perform() does not make the call.
  [[nodiscard]] bool refuses(std::uint16_t number) const;

  // Are paths confined to roots, and the descriptors of these (RootedFiles::folders()).
  [[nodiscard]] bool has_roots() const { return wanted_.roots.has_value(); }
  [[nodiscard]] std::vector<int> root_folders() const { return files_.folders(); }

 private:
  enum class Verdict : std::uint8_t {
    open,
    unknown,
    privileged,
    refused,
    unconfined,
    confined,
    family,
    target
  };

  [[nodiscard]] bool judges_memory_of(std::uint16_t number) const {
    return memory_ && memory_->of(number) != MemoryRanges::Use::nothing;
  }
  [[nodiscard]] bool may_get_signals(pid_t target) const;
  [[nodiscard]] bool may_be_sent(const Request& request) const;
  [[nodiscard]] std::int64_t judge_host_call(const Request& request);

  const WantedRules wanted_;
  const RootedFiles files_;
  std::optional<const MemoryRanges> memory_;
  AuditLog audit_;
  std::array<Verdict, call_number_end> verdicts_{};
  std::vector<std::uint64_t> functions_;  // Ids of the permitted host functions, sorted.
};

}  // namespace k2k::services
