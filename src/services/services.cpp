#include "services/services.hpp"

#include <cerrno>
#include <new>

#include "calls/rows.hpp"
#include "router/read/cached_read.hpp"
#include "router/read/registered_memory.hpp"
#include "services/device_call.hpp"
#include "services/fault.hpp"
#include "services/file.hpp"
#include "services/network.hpp"
#include "services/own_descriptors.hpp"
#include "services/positioned_read.hpp"
#include "services/raw.hpp"
#include "services/routed_read.hpp"

namespace k2k::services {

namespace {

// Families whose calls may wait and can be tried first.
bool is_transfer(const calls::Row& row) {
  return row.family == calls::Family::file && row.blocking == calls::Blocking::waits;
}
bool is_message(const calls::Row& row) { return row.family == calls::Family::network; }

// The request as it stands, but for what the router does instead.
std::int64_t pass_on(const Request& request, router::FileReader* files) {
  if (const auto answer = device_call(request)) return *answer;
  const auto& word = request.arguments;
  const auto descriptor = static_cast<int>(word[0]);
  if (request.number == SYS_close_range) return close_range(word[0], word[1], word[2]);
  if (request.number == SYS_close) {
    router::CachedReads::of_process().note_closed(descriptor);
    router::RegisteredMemory::of_process().closing(descriptor);
  }
  if (request.number == SYS_fadvise64) {
    router::RegisteredMemory::of_process().advise(descriptor, static_cast<std::int64_t>(word[1]),
                                                  static_cast<std::int64_t>(word[2]),
                                                  static_cast<int>(word[3]));
  }
  if (files == nullptr) return pass_on(request);
  switch (request.number) {
    case SYS_pread64:
      return files->pread(descriptor, reinterpret_cast<void*>(word[1]), word[2],
                          static_cast<std::int64_t>(word[3]));
    case SYS_pwrite64:
      return files->pwrite(descriptor, reinterpret_cast<const void*>(word[1]), word[2],
                           static_cast<std::int64_t>(word[3]));
    case SYS_fadvise64:
      return -files->advise(descriptor, static_cast<std::int64_t>(word[1]),
                            static_cast<std::int64_t>(word[2]), static_cast<int>(word[3]));
    case SYS_close:
      files->closing(descriptor);
      break;
    default:
      break;
  }
  return pass_on(request);
}

Answer resolve_alone(const Request& request, backend::Reading reading) {
  Fault fault{request, {}};
  resolve({&fault, 1}, reading);
  return fault.answer;
}

// What reads most, so it has a way of its own: nothing on it is asked twice.
Answer read_at_place(const Request& request, router::FileReader* files) {
  if (backend::any_region()) [[unlikely]] {
    const std::int64_t missing = bring_in_arguments(request, backend::Reading::cached_only);
    if (missing == -EAGAIN) return {.would_wait = true};
    if (missing != 0) return {.value = missing};
  }
  if (router::RegisteredMemory::of_process().any()) [[unlikely]] {
    if (const auto answer = device_call(request)) return {.value = *answer};
  }
  const std::int64_t value = pread_without_waiting(request, files);
  if (value == -EAGAIN) return {.would_wait = true, .keeps_role = true};
  return {.value = value};
}

Answer try_at_once(const Request& request, Progress& progress, router::FileReader* files) {
  if (request.number == SYS_pread64) return read_at_place(request, files);
  if (names_own(request)) [[unlikely]]
    return {.value = -EBADF};
  if (request.row < 0) return {.would_wait = true};  // Nothing is known of the call.
  const calls::Row& row = calls::rows[request.row];
  if (row.number == calls::nop_number) return {};
  if (is_fault(request)) return resolve_alone(request, backend::Reading::cached_only);
  const std::int64_t missing = bring_in_arguments(request, backend::Reading::cached_only);
  if (missing == -EAGAIN) return {.would_wait = true};
  if (missing != 0) return {.value = missing};
  if (is_transfer(row)) {
    if (progress.bytes == 0) {
      if (const auto count = routed_read(request, files, Patience::none)) {
        if (*count == -EAGAIN) return {.would_wait = true, .keeps_role = true};
        return {.value = *count};
      }
    }
    return transfer_without_waiting(request, progress);
  }
  if (is_message(row)) return message_without_waiting(request, progress);
  if (row.blocking == calls::Blocking::waits) return {.would_wait = true};
  return {.value = pass_on(request, files)};
}

std::int64_t wait_and_execute(const Request& request, Progress& progress, Interruption interruption,
                              router::FileReader* files) {
  if (names_own(request)) return -EBADF;
  if (request.row >= 0) {
    if (is_fault(request)) return resolve_alone(request, backend::Reading::blocking).value;
    const std::int64_t missing = bring_in_arguments(request, backend::Reading::blocking);
    if (missing != 0) return missing;
    const calls::Row& row = calls::rows[request.row];
    if (is_transfer(row)) {
      if (progress.bytes == 0) {
        if (const auto count = routed_read(request, files, Patience::endless)) return *count;
      }
      return transfer_waiting(request, progress, interruption);
    }
    if (is_message(row)) return message_waiting(request, progress, interruption);
  }
  return pass_on(request, files);
}

}  // namespace

Answer execute_without_waiting(const Request& request, Progress& progress,
                               router::FileReader* files) {
  try {
    return try_at_once(request, progress, files);
  } catch (const std::bad_alloc&) {
    return {.value = -ENOMEM};
  }
}

std::int64_t execute_waiting(const Request& request, Progress& progress, Interruption interruption,
                             router::FileReader* files) {
  try {
    return wait_and_execute(request, progress, interruption, files);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

}  // namespace k2k::services
