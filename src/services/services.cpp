#include "services/services.hpp"

#include <sys/sem.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>

#include "calls/rows.hpp"
#include "calls/table.hpp"
#include "calls/waits.hpp"
#include "router/door/files.hpp"
#include "services/device_call.hpp"
#include "services/fault.hpp"
#include "services/file.hpp"
#include "services/nested.hpp"
#include "services/network.hpp"
#include "services/opens/guarded_open.hpp"
#include "services/opens/served_file.hpp"
#include "services/own_descriptors.hpp"
#include "services/own_process.hpp"
#include "services/polls.hpp"
#include "services/raw.hpp"
#include "services/sleep.hpp"

namespace k2k::services {

namespace {

// Calls that may wait and can be tried first, by number: other calls of their families wait, too.
constexpr std::uint16_t transfers[] = {SYS_read, SYS_write};
constexpr std::uint16_t vectors[] = {SYS_readv, SYS_writev, SYS_preadv2, SYS_pwritev2};
constexpr std::uint16_t messages[] = {SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg};

bool is_transfer(const calls::Shape& row) {
  return std::ranges::find(transfers, row.number) != std::end(transfers);
}
bool is_vector(const calls::Shape& row) {
  return std::ranges::find(vectors, row.number) != std::end(vectors);
}
bool is_message(const calls::Shape& row) {
  return std::ranges::find(messages, row.number) != std::end(messages);
}

// -ERANGE if a set has more semaphores than the wrapper's caller has elements for: Linux is not
// told their number, and would read or write beyond a copy of them. 0 elements: there is no copy.
std::int64_t refuse_too_many(const Request& request) {
  const auto& word = request.arguments;
  const auto command = static_cast<int>(word[2]);
  if ((command != GETALL && command != SETALL) || word[4] == 0) return 0;
  semid_ds status{};
  const std::int64_t failed = raw(SYS_semctl, word[0], 0, IPC_STAT, &status);
  if (failed != 0) return failed;
  return status.sem_nsems > word[4] ? -ERANGE : 0;
}

// The request as it stands, but for what the router does instead.
std::int64_t pass_on(const Request& request, router::Files& files) {
  const auto& word = request.arguments;
  const auto descriptor = static_cast<int>(word[0]);
  auto* const memory = reinterpret_cast<void*>(word[1]);
  switch (request.number) {
    case SYS_pread64:
      return files.pread(descriptor, memory, word[2], static_cast<std::int64_t>(word[3]));
    case SYS_pwrite64:
      return files.pwrite(descriptor, memory, word[2], static_cast<std::int64_t>(word[3]));
    case SYS_fadvise64:
      return -files.advise(descriptor, static_cast<std::int64_t>(word[1]),
                           static_cast<std::int64_t>(word[2]), static_cast<int>(word[3]));
    case SYS_close:
      files.closing(descriptor);
      return pass_on(request);
    case SYS_close_range:
      return close_range(word[0], word[1], word[2]);
    case SYS_madvise:
      return advise_memory(request);
    case SYS_sendmsg:
    case SYS_sendmmsg:
      return send_messages(request);
    case SYS_semctl:
      if (const std::int64_t refused = refuse_too_many(request); refused != 0) return refused;
      break;
    case SYS_open:
    case SYS_creat:
    case SYS_openat:
    case SYS_openat2:
      refresh_served(request.number, word);
      if (const auto answer = open_guarded(request.number, word)) return *answer;
      break;
    default:
      break;
  }
  if (const auto answer = vector_call(request, files)) return *answer;
  return pass_on(request);
}

// A call without a wrapper that is not worth another thread: a query, or a change of an object.
bool answers_from_memory(std::uint16_t number) {
  const calls::Entry* const entry = calls::entry_of(number);
  return entry != nullptr && entry->blocking == calls::Blocking::never &&
         entry->changes == calls::Changes::call;
}

Answer resolve_alone(const Request& request, backend::Reading reading) {
  Fault fault{request, {}};
  resolve({&fault, 1}, reading);
  return fault.answer;
}

// What reads most, so it has a way of its own: nothing on it is asked twice.
Answer read_at_place(const Request& request, router::Files& files) {
  if (backend::any_region()) [[unlikely]] {
    const std::int64_t missing = bring_in_arguments(request, backend::Reading::cached_only);
    if (missing == -EAGAIN) return {.would_wait = true};
    if (missing != 0) return {.value = missing};
  }
  const auto& word = request.arguments;
  const std::int64_t value =
      files.try_pread(static_cast<int>(word[0]), reinterpret_cast<void*>(word[1]), word[2],
                      static_cast<std::int64_t>(word[3]));
  if (value == -EAGAIN) return {.would_wait = true, .keeps_role = true};
  return {.value = value};
}

// A long read(2) of a file. Nothing: it is for transfer_without_waiting().
std::optional<std::int64_t> read_at_position(const Request& request, router::Files& files,
                                             router::Patience patience) {
  if (request.number != SYS_read) return {};
  const auto& word = request.arguments;
  return files.read(static_cast<int>(word[0]), reinterpret_cast<void*>(word[1]), word[2], patience);
}

// A call with a wrapper. Expects its memory brought in, and judged.
Answer try_row(const Request& request, Progress& progress, router::Files& files) {
  const calls::Shape& row = calls::shapes[request.row];
  if (is_transfer(row)) {
    if (progress.bytes == 0) {
      if (const auto count = read_at_position(request, files, router::Patience::none)) {
        if (*count == -EAGAIN) return {.would_wait = true, .keeps_role = true};
        return {.value = *count};
      }
    }
    return transfer_without_waiting(request, progress, files);
  }
  if (row.blocking != calls::Blocking::waits) return {.value = pass_on(request, files)};
  if (is_vector(row)) return vector_without_waiting(request, progress, files);
  if (is_message(row)) return message_without_waiting(request, progress);
  if (row.number == SYS_connect) return connect_without_waiting(request, progress);
  return sleep_or_wait(request, progress);
}

Answer try_judged_row(const Request& request, Progress& progress, router::Files& files) {
  // Only a thread that may wait makes the call: no copy yet.
  if (calls::wait_end_of(request.number) == calls::WaitEnd::signal) return {.would_wait = true};
  Answer answer;
  const std::int64_t value = request.parts->make_call(request, [&](const Request& judged) {
    answer = try_row(judged, progress, files);
    return answer.would_wait ? -EAGAIN : answer.value;
  });
  if (!answer.would_wait) answer.value = value;
  return answer;
}

Answer try_at_once(const Request& request, Progress& progress, router::Files& files) {
  if (request.number == SYS_pread64) return read_at_place(request, files);
  if (const std::int64_t refused = refuse_own(request); refused != 0) [[unlikely]]
    return {.value = refused};
  if (request.row < 0) {
    if (!answers_from_memory(request.number)) return sleep_or_wait(request, progress);
    return {.value = pass_on(request, files)};
  }
  if (request.number == calls::nop_number) return {};
  if (is_fault(request)) return resolve_alone(request, backend::Reading::cached_only);
  const std::int64_t missing = bring_in_arguments(request, backend::Reading::cached_only);
  if (missing == -EAGAIN) return {.would_wait = true};
  if (missing != 0) return {.value = missing};
  if (request.parts != nullptr) [[unlikely]]
    return try_judged_row(request, progress, files);
  return try_row(request, progress, files);
}

std::int64_t wait_for_row(const Request& request, Progress& progress, Interruption interruption,
                          router::Files& files) {
  const calls::Shape& row = calls::shapes[request.row];
  if (is_transfer(row)) {
    if (progress.bytes == 0) {
      const auto count = read_at_position(request, files, router::Patience::endless);
      if (count) return *count;
    }
    return transfer_waiting(request, progress, interruption, files);
  }
  if (is_vector(row)) return vector_waiting(request, progress, interruption, files);
  if (is_message(row)) return message_waiting(request, progress, interruption);
  if (row.number == SYS_connect) return connect_waiting(request, progress);
  if (const auto answer = wait_for_polls(request, progress)) return *answer;
  return pass_on(request, files);
}

std::int64_t wait_and_execute(const Request& request, Progress& progress, Interruption interruption,
                              router::Files& files) {
  if (const std::int64_t refused = refuse_own(request); refused != 0) return refused;
  if (request.row < 0) return pass_on(request, files);
  if (is_fault(request)) return resolve_alone(request, backend::Reading::blocking).value;
  const std::int64_t missing = bring_in_arguments(request, backend::Reading::blocking);
  if (missing != 0) return missing;
  if (request.parts == nullptr) return wait_for_row(request, progress, interruption, files);
  return request.parts->make_call(request, [&](const Request& judged) {
    return wait_for_row(judged, progress, interruption, files);
  });
}

}  // namespace

Answer execute_without_waiting(const Request& request, Progress& progress, router::Files& files) {
  try {
    return try_at_once(request, progress, files);
  } catch (const std::bad_alloc&) {
    return {.value = -ENOMEM};
  }
}

std::int64_t execute_waiting(const Request& request, Progress& progress, Interruption interruption,
                             router::Files& files) {
  try {
    return wait_and_execute(request, progress, interruption, files);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

}  // namespace k2k::services
