#include "services/rules/call_rules.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "calls/host_call.hpp"
#include "calls/table.hpp"
#include "services/functions/printer.hpp"
#include "services/opens/served_file.hpp"

namespace k2k::services {

namespace {

constexpr std::uint16_t makes_socket[] = {SYS_socket, SYS_socketpair};
// The last two choose the process that gets the signals of a descriptor.
constexpr std::uint16_t sends_signal[] = {SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_fcntl,
                                          SYS_ioctl};
// <linux/sockios.h> cannot be included beside <sys/socket.h>.
constexpr std::uint32_t set_owner_of_socket[] = {0x8901, 0x8902};  // FIOSETOWN, SIOCSPGRP

constexpr std::string_view known_calls_only = "the policy permits known calls only";

bool is_privileged(const calls::Entry* entry) {
  return entry != nullptr && entry->access == calls::Access::privileged;
}

}  // namespace

WantedRules io_rules() {
  return {.otherwise = WantedRules::Otherwise::io, .targets = std::vector<pid_t>{0}};
}

Result<std::shared_ptr<CallRules>> CallRules::create(const WantedRules& wanted) {
  Result<RootedFiles> files = RootedFiles::open(wanted.roots.value_or(std::vector<std::string>()));
  if (!files) return files.error();
  Result<AuditLog> audit = AuditLog::open(wanted.audit_file);
  if (!audit) return audit.error();
  return std::make_shared<CallRules>(wanted, std::move(files).value(), std::move(audit).value());
}

CallRules::CallRules(WantedRules wanted, RootedFiles files, AuditLog audit)
    : wanted_(std::move(wanted)), files_(std::move(files)), audit_(std::move(audit)) {
  using Otherwise = WantedRules::Otherwise;
  if (wanted_.memory) memory_.emplace(*wanted_.memory);
  for (std::uint16_t number = 0; number < call_number_end; ++number) {
    Verdict& verdict = verdicts_[number];
    if (wanted_.otherwise == Otherwise::none) verdict = Verdict::refused;
    if (wanted_.otherwise == Otherwise::io) {
      const calls::Entry* const entry = calls::entry_of(number);
      if (entry == nullptr) verdict = Verdict::unknown;
      if (is_privileged(entry)) verdict = Verdict::privileged;
    }
    if (wanted_.otherwise == Otherwise::known_only && !calls::is_basic(calls::find(number))) {
      verdict = Verdict::unknown;
    }
  }
  for (const std::uint16_t number : wanted_.allowed) verdicts_[number] = Verdict::open;
  for (const std::uint16_t number : wanted_.refused) verdicts_[number] = Verdict::refused;
  const auto restrict_to = [this](std::uint16_t number, Verdict verdict) {
    if (verdicts_[number] == Verdict::open) verdicts_[number] = verdict;
  };
  if (wanted_.roots) {
    for (std::uint16_t number = 0; number < call_number_end; ++number) {
      if (RootedFiles::confines(number)) {
        restrict_to(number, Verdict::confined);
      } else if (RootedFiles::takes_path(number) || calls::entry_of(number) == nullptr) {
        restrict_to(number, Verdict::unconfined);  // A call of a newer Linux may take a path.
      }
    }
  }
  if (wanted_.families || wanted_.roots) {
    for (const std::uint16_t number : makes_socket) restrict_to(number, Verdict::family);
  }
  if (wanted_.targets) {
    for (const std::uint16_t number : sends_signal) restrict_to(number, Verdict::target);
  }
  if (wanted_.functions) {
    for (const std::string& name : *wanted_.functions) {
      functions_.push_back(calls::host_id(name.c_str()));
    }
    std::ranges::sort(functions_);
  }
}

bool CallRules::may_get_signals(pid_t target) const {
  return std::any_of(wanted_.targets->begin(), wanted_.targets->end(), [target](pid_t permitted) {
    return target == (permitted == 0 ? ::getpid() : permitted);
  });
}

bool CallRules::may_be_sent(const Request& request) const {
  const auto& word = request.arguments;
  if (request.number == SYS_fcntl) {
    const auto command = static_cast<int>(word[1]);
    if (command == F_SETOWN) return may_get_signals(static_cast<pid_t>(word[2]));
    return command != F_SETOWN_EX;
  }
  if (request.number == SYS_ioctl) {
    const auto command = static_cast<std::uint32_t>(word[1]);
    return std::find(std::begin(set_owner_of_socket), std::end(set_owner_of_socket), command) ==
           std::end(set_owner_of_socket);
  }
  return may_get_signals(static_cast<pid_t>(word[0]));
}

// The program permits a function by providing it; the file can take it away.
std::int64_t CallRules::judge_host_call(const Request& request) {
  if (is_print(request)) return judge(write_of_print(request));
  const std::uint64_t id = request.arguments[calls::host_id_word];
  if (!wanted_.functions || std::ranges::binary_search(functions_, id)) return 0;
  audit_.refused(request, -EPERM,
                 fmt::format("the policy permits no host function with the id {:#x}", id));
  return -EPERM;
}

std::int64_t CallRules::judge(const Request& request) {
  if (request.number == calls::host_call_number) return judge_host_call(request);
  if (request.number >= call_number_end) return 0;
  const auto refused = [&](std::int64_t value, std::string_view why) {
    return refuse(request, value, why);
  };
  switch (verdicts_[request.number]) {
    case Verdict::open:
    case Verdict::confined:
      return 0;
    case Verdict::unknown:
      return refused(-ENOSYS, known_calls_only);
    case Verdict::privileged:
      return refused(-EPERM,
                     "the call acts on the machine or on other processes; server.policy = \"any\" "
                     "permits it");
    case Verdict::refused:
      return refused(-EPERM, "the policy refuses the call");
    case Verdict::unconfined:
      return refused(-EACCES, "the call cannot be confined to roots");
    case Verdict::family: {
      const auto family = static_cast<int>(request.arguments[0]);
      const bool permitted =
          wanted_.families ? std::find(wanted_.families->begin(), wanted_.families->end(),
                                       family) != wanted_.families->end()
                           : family != AF_UNIX;  // It reaches sockets by paths, beside the roots.
      if (permitted) return 0;
      return refused(-EACCES, fmt::format("the policy refuses address family {}", family));
    }
    case Verdict::target:
      if (may_be_sent(request)) return 0;
      return refused(-EPERM, "the policy refuses the target of the signal");
  }
  return -EPERM;
}

std::int64_t CallRules::judge_memory(const Request& request, const backend::Backend& backend,
                                     const Ranges& registered) {
  if (!memory_) return 0;
  const std::optional<MemoryRanges::Refusal> refusal =
      memory_->refusal(request, backend, registered);
  return refusal ? refuse(request, refusal->value, refusal->why) : 0;
}

std::int64_t CallRules::refuse(const Request& request, std::int64_t value, std::string_view why) {
  audit_.refused(request, value, why);
  return value;
}

bool CallRules::refuses(std::uint16_t number) const {
  if (number >= call_number_end) return false;
  const Verdict verdict = verdicts_[number];
  return verdict == Verdict::refused || verdict == Verdict::privileged ||
         verdict == Verdict::unknown || verdict == Verdict::unconfined;
}

void CallRules::refused(const Request& request, std::int64_t value) {
  if (value != -ENOSYS) return audit_.refused(request, value, "every policy refuses this request");
  audit_.refused(request, value,
                 request.number < call_number_end ? known_calls_only : "Linux has no such call");
}

std::int64_t CallRules::perform(const Request& request) {
  refresh_served(request.number, request.arguments);
  std::string path;
  const std::int64_t value = files_.perform(request, path);
  if (value == -EACCES) audit_.refused(request, value, fmt::format("'{}'", path));
  return value;
}

}  // namespace k2k::services
