#include "services/services.hpp"

#include "calls/rows.hpp"
#include "router/registered_memory.hpp"
#include "services/device_call.hpp"
#include "services/fault.hpp"
#include "services/file.hpp"
#include "services/network.hpp"
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
  router::RegisteredMemory& registered = router::RegisteredMemory::of_process();
  if (request.number == SYS_close) registered.closing(descriptor);
  if (request.number == SYS_fadvise64) {
    registered.advise(descriptor, static_cast<std::int64_t>(word[1]),
                      static_cast<std::int64_t>(word[2]), static_cast<int>(word[3]));
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

}  // namespace

Answer execute_without_waiting(const Request& request, Progress& progress,
                               router::FileReader* files) {
  if (request.row < 0) return {0, true, {}};  // Nothing is known of the call.
  const calls::Row& row = calls::rows[request.row];
  if (row.number == calls::nop_number) return {0, false, {}};
  if (is_fault(request)) return resolve_alone(request, backend::Reading::cached_only);
  const std::int64_t missing = bring_in_arguments(request, backend::Reading::cached_only);
  if (missing == -EAGAIN) return {0, true, {}};
  if (missing != 0) return {missing, false, {}};
  if (is_transfer(row)) {
    if (progress.bytes == 0) {
      if (const auto count = routed_read(request, files)) return {*count, false, {}};
    }
    return transfer_without_waiting(request, progress);
  }
  if (is_message(row)) return message_without_waiting(request, progress);
  if (row.blocking == calls::Blocking::waits) return {0, true, {}};
  return {pass_on(request, files), false, {}};
}

std::int64_t execute_waiting(const Request& request, Progress& progress, Interruption interruption,
                             router::FileReader* files) {
  if (request.row >= 0) {
    if (is_fault(request)) return resolve_alone(request, backend::Reading::blocking).value;
    const std::int64_t missing = bring_in_arguments(request, backend::Reading::blocking);
    if (missing != 0) return missing;
    const calls::Row& row = calls::rows[request.row];
    if (is_transfer(row)) return transfer_waiting(request, progress, interruption);
    if (is_message(row)) return message_waiting(request, progress, interruption);
  }
  return pass_on(request, files);
}

}  // namespace k2k::services
