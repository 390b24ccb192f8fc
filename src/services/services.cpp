#include "services/services.hpp"

#include "calls/rows.hpp"
#include "services/fault.hpp"
#include "services/file.hpp"
#include "services/network.hpp"
#include "services/raw.hpp"

namespace k2k::services {

namespace {

// Families whose calls may wait and can be tried first.
bool is_transfer(const calls::Row& row) {
  return row.family == calls::Family::file && row.blocking == calls::Blocking::waits;
}
bool is_message(const calls::Row& row) { return row.family == calls::Family::network; }

Answer resolve_alone(const Request& request, backend::Reading reading) {
  Fault fault{request, {}};
  resolve({&fault, 1}, reading);
  return fault.answer;
}

}  // namespace

Answer execute_without_waiting(const Request& request, Progress& progress) {
  if (request.row < 0) return {0, true, {}};  // Nothing is known of the call.
  const calls::Row& row = calls::rows[request.row];
  if (row.number == calls::nop_number) return {0, false, {}};
  if (is_fault(request)) return resolve_alone(request, backend::Reading::cached_only);
  const std::int64_t missing = bring_in_arguments(request, backend::Reading::cached_only);
  if (missing == -EAGAIN) return {0, true, {}};
  if (missing != 0) return {missing, false, {}};
  if (is_transfer(row)) return transfer_without_waiting(request, progress);
  if (is_message(row)) return message_without_waiting(request, progress);
  if (row.blocking == calls::Blocking::waits) return {0, true, {}};
  return {pass_on(request), false, {}};
}

std::int64_t execute_waiting(const Request& request, Progress& progress,
                             Interruption interruption) {
  if (request.row >= 0) {
    if (is_fault(request)) return resolve_alone(request, backend::Reading::blocking).value;
    const std::int64_t missing = bring_in_arguments(request, backend::Reading::blocking);
    if (missing != 0) return missing;
    const calls::Row& row = calls::rows[request.row];
    if (is_transfer(row)) return transfer_waiting(request, progress, interruption);
    if (is_message(row)) return message_waiting(request, progress, interruption);
  }
  return pass_on(request);
}

}  // namespace k2k::services
