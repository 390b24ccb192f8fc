#include "services/functions/host_functions.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "base/naps.hpp"
#include "base/system_call.hpp"
#include "calls/host_call.hpp"
#include "calls/rows.hpp"
#include "services/functions/host_frame.hpp"

namespace k2k::services {

namespace {

constexpr std::string_view own_names = "k2k.";

// A function that runs on this thread. It may launch on another runtime, whose functions may run on
// this thread within it.
class RunsHere {
 public:
  explicit RunsHere(const HostFunctions* functions) : functions_(functions), outer_(innermost_) {
    innermost_ = this;
  }
  ~RunsHere() { innermost_ = outer_; }
  RunsHere(const RunsHere&) = delete;
  RunsHere& operator=(const RunsHere&) = delete;

  static bool any(const HostFunctions* functions) {
    const RunsHere* at = innermost_;
    while (at != nullptr && at->functions_ != functions) at = at->outer_;
    return at != nullptr;
  }

 private:
  static thread_local const RunsHere* innermost_;
  const HostFunctions* functions_;
  const RunsHere* outer_;
};
thread_local const RunsHere* RunsHere::innermost_ = nullptr;

void log_exception(const std::string& name, const char* text, int code) {
  std::fprintf(stderr, "k2k: host function '%s' threw: %s; its caller gets %s\n", name.c_str(),
               text, std::strerror(code));
}

Status check_name(const std::string& name) {
  if (name.empty()) return Error{EINVAL, "a host function needs a name"};
  if (name.size() > calls::host_name_bytes_max) {
    return Error{EINVAL, fmt::format("the name of a host function has {} bytes, at most {} are "
                                     "possible: shorten \"{}...\"",
                                     name.size(), calls::host_name_bytes_max, name.substr(0, 32))};
  }
  if (name.find('\0') != std::string::npos) {
    return Error{EINVAL, "the name of a host function has a zero byte"};
  }
  if (name.starts_with(own_names)) {
    return Error{EINVAL, fmt::format("the name '{}' begins with \"{}\", which is for functions of "
                                     "K2K: choose another name",
                                     name, own_names)};
  }
  return {};
}

}  // namespace

bool is_host_call(const Request& request) { return request.number == calls::host_call_number; }

// --- The table.

HostFunctions::Use::Use(HostFunctions& functions, std::uint64_t id) {
  Entry* const entry = functions.find(id);
  if (entry == nullptr) return;
  // Sequentially consistent with remove(): it sees this user, or this thread sees !live.
  entry->users.fetch_add(1);
  if (entry->live.load() != 0 && entry->id.load() == id) {
    entry_ = entry;
  } else {
    entry->users.fetch_sub(1);
  }
}

HostFunctions::Use::~Use() {
  // Pairs with remove(): it writes the entry after this.
  if (entry_ != nullptr) entry_->users.fetch_sub(1, std::memory_order_release);
}

Status HostFunctions::add(HostFunction function) {
  if (Status status = check_name(function.name); !status) return status;
  if (!function.body) {
    return Error{EINVAL, fmt::format("the host function '{}' is null", function.name)};
  }
  Result<HostSignature> signature = parse_host_signature(function.signature);
  if (!signature) return signature.error();
  const std::uint64_t id = calls::host_id(function.name.c_str());
  const std::lock_guard lock(changing_);
  Entry* free = nullptr;
  for (std::size_t step = 0; step < host_functions_max; ++step) {
    Entry& entry = entries_[(id + step) % host_functions_max];
    if (entry.live.load() == 0) {
      if (free == nullptr && !entry.leaving) free = &entry;
      continue;
    }
    if (entry.id.load() != id) continue;
    if (entry.function.name != function.name) {
      return Error{EEXIST, fmt::format("the host function '{}' has the id of '{}': rename it",
                                       function.name, entry.function.name)};
    }
    return Error{EEXIST,
                 fmt::format("the host function '{}' is provided already: withdraw it first",
                             function.name)};
  }
  if (free == nullptr) {
    return Error{ENOSPC, fmt::format("{} host functions are provided, no more are possible: "
                                     "withdraw one",
                                     host_functions_max)};
  }
  free->function = std::move(function);
  free->signature = std::move(signature).value();
  free->is_quick =
      free->function.host_class == HostClass::never_blocks && free->signature.layout.in_slot();
  free->mismatch_told.store(false);
  free->id.store(id, std::memory_order_release);  // Pairs with find().
  free->live.store(1);
  return {};
}

Status HostFunctions::remove(const std::string& name) {
  if (runs_here()) {
    return Error{EDEADLK,
                 fmt::format("'{}' cannot be withdrawn by a host function: that would wait "
                             "for itself",
                             name)};
  }
  const std::uint64_t id = calls::host_id(name.c_str());
  std::unique_lock lock(changing_);
  for (Entry& entry : entries_) {
    if (entry.live.load() == 0 || entry.id.load() != id || entry.function.name != name) continue;
    entry.live.exchange(0);
    entry.leaving = true;
    lock.unlock();    // Others come and go while the last calls run.
    heavy_barrier();  // Pairs with InSlot: it sees !live, or is_used() sees its entry.
    Naps naps(std::chrono::microseconds(50), std::chrono::milliseconds(5));
    while (is_used(entry)) naps.take();
    entry.function.body = {};
    lock.lock();
    entry.leaving = false;
    return {};
  }
  return Error{ENOENT, fmt::format("no host function '{}' is provided", name)};
}

bool HostFunctions::is_used(const Entry& entry) const {
  if (entry.users.load() != 0) return true;
  for (const Reader& reader : readers_) {
    if (reader.entry.load() == &entry) return true;  // Pairs with ~InSlot: the call has ended.
  }
  return false;
}

bool HostFunctions::runs_here() const { return RunsHere::any(this); }

// --- Calls.

Answer HostFunctions::attempt(const Request& request) {
  const Use use(*this, request.arguments[calls::host_id_word]);
  if (use.entry() == nullptr) {
    if (is_print(request)) return {.would_wait = true};
    return {.value = -ENOSYS};
  }
  if (use.entry()->function.host_class == HostClass::may_block) return {.would_wait = true};
  return call(*use.entry(), request, nullptr);
}

std::int64_t HostFunctions::run(const Request& request, Interruption interruption,
                                router::Files& files, HostRun& host_run) {
  try {
    if (is_print(request)) return printer_.run(request, interruption, files, host_run);
    const Use use(*this, request.arguments[calls::host_id_word]);
    if (use.entry() == nullptr) return -ENOSYS;
    const Answer answer = call(*use.entry(), request, &host_run);
    return answer.would_wait ? -EFAULT : answer.value;  // Pages that no thread can read.
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

bool HostFunctions::matches(const Entry& entry, const std::uint64_t* words) {
  const calls::HostLayout& layout = entry.signature.layout;
  return words[calls::host_signature_word] == entry.signature.id &&
         words[calls::host_shape_word] == layout.shape() &&
         (layout.in_slot() || words[calls::host_frame_bytes_word] == layout.frame_bytes());
}

void HostFunctions::tell_mismatch(Entry& entry) {
  if (entry.mismatch_told.exchange(true)) return;
  std::fprintf(stderr,
               "k2k: a kernel calls host function '%s' with another signature than \"%s\"; it gets "
               "%s\n",
               entry.function.name.c_str(), entry.signature.text.c_str(), std::strerror(EPROTO));
}

std::int64_t HostFunctions::invoke(const Entry& entry, const HostArguments& arguments) const {
  const std::string& name = entry.function.name;
  const RunsHere here(this);
  try {
    const std::int64_t value = entry.function.body(arguments);
    if (value >= 0) return 0;
    return is_error(value) ? value : -EIO;
  } catch (const std::bad_alloc& thrown) {
    log_exception(name, thrown.what(), ENOMEM);
    return -ENOMEM;
  } catch (const std::system_error& thrown) {
    const std::error_condition condition = thrown.code().default_error_condition();
    const bool is_errno = condition.category() == std::generic_category() &&
                          condition.value() > 0 && condition.value() <= errno_max;
    const int code = is_errno ? condition.value() : EIO;
    log_exception(name, thrown.what(), code);
    return -code;
  } catch (const std::exception& thrown) {
    log_exception(name, thrown.what(), EIO);
  } catch (const abi::__forced_unwind&) {
    throw;  // The function ends its thread, as Python's do once the interpreter has ended.
  } catch (...) {
    log_exception(name, "no std::exception", EIO);
  }
  return -EIO;
}

std::int64_t HostFunctions::invoke(const Entry& entry, const HostArguments& arguments,
                                   HostRun* host_run) const {
  if (host_run == nullptr) return invoke(entry, arguments);
  if (!host_run->begins()) return -ECANCELED;
  const std::int64_t value = invoke(entry, arguments);
  return host_run->ends() ? value : -ECANCELED;
}

std::int64_t HostFunctions::call_in_slot(const Entry& entry, const std::uint64_t* words,
                                         HostRun* host_run) const {
  std::uint64_t reply = 0;
  const std::int64_t value =
      invoke(entry,
             {nullptr, reinterpret_cast<const std::byte*>(words + calls::host_arguments_word),
              reinterpret_cast<std::byte*>(&reply)},
             host_run);
  return value < 0 ? value : static_cast<std::int64_t>(reply);
}

Answer HostFunctions::call(Entry& entry, const Request& request, HostRun* host_run) const {
  const auto& word = request.arguments;
  if (!matches(entry, word)) {
    tell_mismatch(entry);
    return {.value = -EPROTO};
  }
  const calls::HostLayout& layout = entry.signature.layout;
  if (layout.in_slot()) return {.value = call_in_slot(entry, word, host_run)};
  using Buffers = HostFrame::Buffers;
  HostFrame frame(memory_, entry.signature,
                  host_run != nullptr ? Buffers::copied : Buffers::in_place);
  const std::int64_t refusal = frame.open(word[calls::host_frame_word]);
  if (refusal == -EAGAIN) return {.would_wait = true};
  if (refusal != 0) return {.value = refusal};
  HostArguments arguments = frame.arguments();
  std::uint64_t short_reply = 0;
  if (layout.replies_in_answer()) arguments.reply = reinterpret_cast<std::byte*>(&short_reply);
  const std::int64_t value = invoke(entry, arguments, host_run);
  if (value < 0) return {.value = value};
  const std::int64_t given = frame.give_back();
  return {.value = given < 0 ? given : static_cast<std::int64_t>(short_reply)};
}

// --- Calls without a frame.

std::int64_t HostFunctions::InSlot::call() const {
  return functions_.call_in_slot(*entry_, words_, nullptr);
}

}  // namespace k2k::services
