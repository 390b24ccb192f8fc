#include "server/reads/read_table.hpp"

#include <cerrno>

#include "base/contract.hpp"

namespace k2k::server {

namespace {

// Errors that the ring or the read itself may cause; only a separate pread(2) can tell which.
bool is_no_answer(std::int64_t result) {
  return result == -EAGAIN || result == -EINVAL || result == -EOPNOTSUPP || result == -ENOMEM ||
         result == -ECANCELED || result == -EINTR;
}

}  // namespace

ReadTable::ReadTable(std::uint32_t reads_max) : entries_(reads_max) {
  free_.reserve(reads_max);
  for (std::uint32_t place = reads_max; place > 0; --place) free_.push_back(place - 1);
}

std::uint32_t ReadTable::add(const Pending& call, std::uint64_t moment) {
  K2K_EXPECT(!full());
  const std::uint32_t place = free_.back();
  free_.pop_back();
  entries_[place] = {call, moment, 0};
  return place;
}

ColdRead ReadTable::rest(std::uint32_t place) const {
  const Entry& entry = entries_[place];
  ColdRead read = cold_read_of(entry.call.request);
  read.memory += entry.done;
  read.bytes -= entry.done;
  read.offset += entry.done;
  return read;
}

ReadTable::Step ReadTable::completed(std::uint32_t place, std::int64_t result) {
  Entry& entry = entries_[place];
  if (is_no_answer(result)) return {Next::pool, 0};
  const auto done = static_cast<std::int64_t>(entry.done);
  // As pread(2): if bytes were read, their number is the answer, not the error that follows.
  if (result < 0) return {Next::answer, done > 0 ? done : result};
  entry.done += static_cast<std::uint64_t>(result);
  if (result == 0 || rest(place).bytes == 0) return {Next::answer, done + result};
  return {Next::more, 0};
}

ReadTable::Entry ReadTable::remove(std::uint32_t place) {
  free_.push_back(place);
  return entries_[place];
}

}  // namespace k2k::server
