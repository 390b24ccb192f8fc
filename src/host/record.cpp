#include "host/record.hpp"

#include <algorithm>
#include <cstring>

namespace k2k::host {

namespace {

constexpr std::uint32_t magic = 0x6b326b68;  // "k2kh"
constexpr std::uint32_t version = 1;

struct Bytes {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t beat;
  std::int64_t period_ns;
  double cap;
  double demand;
  double use;
  std::uint64_t sum;
};
static_assert(sizeof(Bytes) == record_bytes);

// FNV-1a of the bytes before the checksum.
std::uint64_t sum_of(const std::array<std::byte, record_bytes>& bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (std::size_t place = 0; place < offsetof(Bytes, sum); ++place) {
    sum = (sum ^ std::to_integer<std::uint64_t>(bytes[place])) * 0x100000001b3;
  }
  return sum;
}

double fraction(double value) { return value > 0 ? std::min(value, 1.0) : 0; }  // NaN is not > 0.

}  // namespace

std::array<std::byte, record_bytes> encode(const Record& record) {
  const Bytes fields{magic,      version,       record.beat, record.period.count(),
                     record.cap, record.demand, record.use,  0};
  std::array<std::byte, record_bytes> bytes{};
  std::memcpy(bytes.data(), &fields, sizeof(fields));
  const std::uint64_t sum = sum_of(bytes);
  std::memcpy(bytes.data() + offsetof(Bytes, sum), &sum, sizeof(sum));
  return bytes;
}

std::optional<Record> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < record_bytes) return {};
  std::array<std::byte, record_bytes> copy{};
  std::copy_n(bytes.begin(), record_bytes, copy.begin());
  Bytes fields{};
  std::memcpy(&fields, copy.data(), sizeof(fields));
  if (fields.magic != magic || fields.version != version || fields.sum != sum_of(copy)) return {};
  Record record;
  record.beat = fields.beat;
  record.period = std::clamp(Nanoseconds(fields.period_ns), Nanoseconds::zero(), period_max);
  record.cap = fraction(fields.cap);
  record.demand = fraction(fields.demand);
  record.use = fraction(fields.use);
  return record;
}

}  // namespace k2k::host
