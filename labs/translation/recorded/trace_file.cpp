#include "labs/translation/recorded/trace_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <type_traits>

#include "base/contract.hpp"
#include "base/descriptor.hpp"

namespace k2k::labs::translation {

namespace {

constexpr char magic[8] = "K2Kacc\n";
constexpr std::size_t name_bytes = 24;
constexpr std::size_t check_at = 72;
constexpr std::uint8_t waits_flag = 1;
constexpr const char* record_anew = "record it anew with k2k-accesses";

template <class Value>
Value value_at(std::span<const std::byte> bytes, std::size_t at) {
  Value value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

class Writer {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  template <class Value>
  void word(Value value) {
    static_assert(std::is_integral_v<Value>);
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(value));
  }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  void difference(std::int64_t value) {
    number(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Reads numbers until one is wrong; then only the first reason counts.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (at_ == bytes_.size()) {
      fail("the file ends within a record");
      return 0;
    }
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (std::uint32_t shift = 0;; shift += 7) {
      const std::uint8_t next = byte();
      if (shift == 63 && next > 1) fail("a number has more than 64 bits");
      if (!ok()) return 0;
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
  }
  std::int64_t difference() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
  }
  // Fails unless low <= value <= high.
  std::uint32_t within(std::uint64_t low, std::uint64_t high, const char* what) {
    const std::uint64_t value = number();
    if (value < low || value > high) {
      fail(fmt::format("{} is {}; permitted are {} to {}", what, value, low, high));
    }
    return static_cast<std::uint32_t>(value);
  }

  void fail(const std::string& reason) {
    if (reason_.empty()) reason_ = fmt::format("byte {}: {}", at_, reason);
  }
  [[nodiscard]] bool ok() const { return reason_.empty(); }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] std::size_t at() const { return at_; }
  void skip(std::size_t bytes) { at_ += bytes; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::string reason_;
};

void write_instruction(const WaveTrace& trace, const WaveTrace::Instruction& one,
                       std::uint64_t& before, Writer& writer) {
  writer.byte(one.waits ? waits_flag : 0);
  writer.number(one.lanes);
  writer.number(one.compute);
  writer.number(one.lines);
  const std::uint64_t* const lines = trace.lines.data() + one.first;
  writer.difference(static_cast<std::int64_t>(lines[0] - before));
  before = lines[0];
  for (std::uint32_t at = 1; at < one.lines; ++at) writer.number(lines[at] - lines[at - 1]);
}

void read_instruction(Reader& reader, std::uint64_t& before, WaveTrace& trace) {
  const std::uint8_t flags = reader.byte();
  if (flags > waits_flag) reader.fail(fmt::format("an instruction has flags {}", flags));
  const std::uint32_t lanes = reader.within(1, thesis::lanes, "the number of lanes");
  const std::uint32_t compute = reader.within(0, trace_compute_most, "the number of others");
  const std::uint32_t count = reader.within(1, 2 * std::uint64_t{lanes}, "the number of lines");
  // Whatever the sum overflows to is judged below.
  std::uint64_t line = before + static_cast<std::uint64_t>(reader.difference());
  if (!reader.ok()) return;
  const auto first = static_cast<std::uint32_t>(trace.lines.size());
  before = line;
  for (std::uint32_t at = 0; at < count; ++at) {
    if (at != 0) {
      const std::uint64_t distance = reader.number();
      if (distance == 0) reader.fail("two lines of an instruction are the same");
      if (distance >= trace_lines_end) reader.fail("a line is beyond the address space");
      line += distance;
    }
    if (line >= trace_lines_end) reader.fail("a line is beyond the address space");
    if (!reader.ok()) return;
    trace.lines.push_back(line);
  }
  trace.instructions.push_back({first, count, lanes, compute, (flags & waits_flag) != 0});
  ++trace.waves.back().count;
}

Result<std::string> name_in(std::span<const std::byte> bytes) {
  const char* const name = reinterpret_cast<const char*>(bytes.data()) + 16;
  const std::size_t length = ::strnlen(name, name_bytes);
  const bool zeros = std::all_of(name + length, name + name_bytes, [](char c) { return c == 0; });
  const bool letters = std::all_of(name, name + length, [](char c) { return c > ' ' && c < 127; });
  if (length == 0 || length == name_bytes || !zeros || !letters) {
    return Error{EINVAL, "byte 16: the name of the program is wrong"};
  }
  return std::string(name, length);
}

Error wrong(const std::string& path, const std::string& reason) {
  return {EINVAL, fmt::format("{}: {}; {}", path, reason, record_anew)};
}

Error of_system(const std::string& path, int error) {
  return {error, fmt::format("{}: {}", path, std::strerror(error))};
}

}  // namespace

std::uint64_t check_of_trace(std::span<const std::byte> bytes) {
  std::uint64_t mixed = 0x6163636573736573;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at >= check_at && at < trace_head_bytes) continue;
    mixed = (mixed ^ static_cast<std::uint64_t>(bytes[at])) * 0x100000001b3;
    mixed ^= mixed >> 29;
  }
  return mixed;
}

std::vector<std::byte> bytes_of(const RecordedTrace& trace) {
  const WaveTrace& accesses = trace.accesses;
  K2K_EXPECT(!trace.program.empty() && trace.program.size() < name_bytes);
  K2K_EXPECT(accesses.lines.size() < std::uint64_t{1} << 32);
  Writer writer;
  for (const char letter : magic) writer.byte(static_cast<std::uint8_t>(letter));
  writer.word(trace_version);
  writer.word(static_cast<std::uint32_t>(line_bytes));
  for (std::size_t at = 0; at < name_bytes; ++at) {
    writer.byte(at < trace.program.size() ? static_cast<std::uint8_t>(trace.program[at]) : 0);
  }
  writer.word(std::uint32_t{trace.sorted ? 1u : 0u});
  writer.word(static_cast<std::uint32_t>(accesses.waves.size()));
  writer.word(std::uint64_t{accesses.instructions.size()});
  writer.word(std::uint64_t{accesses.lines.size()});
  writer.word(trace.bytes);
  writer.word(std::uint64_t{0});
  std::uint64_t before = 0;
  for (const WaveTrace::Wave& wave : accesses.waves) {
    writer.number(wave.count);
    for (std::uint32_t at = 0; at < wave.count; ++at) {
      write_instruction(accesses, accesses.instructions[wave.first + at], before, writer);
    }
  }
  const std::uint64_t check = check_of_trace(writer.bytes());
  std::memcpy(writer.bytes().data() + check_at, &check, sizeof(check));
  return std::move(writer.bytes());
}

Result<RecordedTrace> trace_of(std::span<const std::byte> bytes) {
  if (bytes.size() < trace_head_bytes || std::memcmp(bytes.data(), magic, sizeof(magic)) != 0) {
    return Error{EINVAL, "it is no trace of accesses, or is cut within its head"};
  }
  if (const auto version = value_at<std::uint32_t>(bytes, 8); version != trace_version) {
    return Error{EINVAL, fmt::format("it has version {}; this program reads version {}", version,
                                     trace_version)};
  }
  if (const auto bytes_a_line = value_at<std::uint32_t>(bytes, 12); bytes_a_line != line_bytes) {
    return Error{EINVAL, fmt::format("its lines have {} bytes, not {}", bytes_a_line, line_bytes)};
  }
  Result<std::string> name = name_in(bytes);
  if (!name) return name.error();
  const auto sorted = value_at<std::uint32_t>(bytes, 40);
  const auto waves = value_at<std::uint32_t>(bytes, 44);
  const auto instructions = value_at<std::uint64_t>(bytes, 48);
  const auto lines = value_at<std::uint64_t>(bytes, 56);
  const std::size_t body = bytes.size() - trace_head_bytes;
  // Each takes at least a byte: nothing is reserved that the file cannot have.
  if (sorted > 1 || waves > body || instructions > body || lines > body || lines >> 32 != 0) {
    return Error{EINVAL, fmt::format("its head names {} wavefronts, {} instructions and {} lines, "
                                     "more than {} bytes have: it is cut or damaged",
                                     waves, instructions, lines, body)};
  }
  if (value_at<std::uint64_t>(bytes, check_at) != check_of_trace(bytes)) {
    return Error{EINVAL, "its check is wrong: it is cut or damaged"};
  }
  RecordedTrace trace{std::move(name.value()), sorted == 1, value_at<std::uint64_t>(bytes, 64), {}};
  trace.accesses.waves.reserve(waves);
  trace.accesses.instructions.reserve(instructions);
  trace.accesses.lines.reserve(lines);
  Reader reader(bytes);
  reader.skip(trace_head_bytes);
  std::uint64_t before = 0;
  for (std::uint32_t wave = 0; wave < waves && reader.ok(); ++wave) {
    trace.accesses.begin_wave();
    const std::uint64_t count = reader.number();
    if (count > instructions - trace.accesses.instructions.size()) {
      reader.fail("a wavefront has more instructions than the head names");
    }
    for (std::uint64_t at = 0; at < count && reader.ok(); ++at) {
      read_instruction(reader, before, trace.accesses);
      if (trace.accesses.lines.size() > lines) reader.fail("more lines than the head names");
    }
  }
  if (reader.ok() && reader.left() != 0) reader.fail("bytes follow the last wavefront");
  if (reader.ok() && (trace.accesses.instructions.size() != instructions ||
                      trace.accesses.lines.size() != lines)) {
    reader.fail("fewer instructions or lines than the head names");
  }
  if (!reader.ok()) return Error{EINVAL, reader.reason()};
  return trace;
}

Status write_trace(const std::string& path, const RecordedTrace& trace) {
  const std::vector<std::byte> bytes = bytes_of(trace);
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.open()) return of_system(path, errno);
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t went = ::write(file.number(), bytes.data() + at, bytes.size() - at);
    if (went < 0 && errno == EINTR) continue;
    if (went <= 0) return of_system(path, went < 0 ? errno : EIO);
    at += static_cast<std::size_t>(went);
  }
  return {};
}

Result<RecordedTrace> read_trace(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!file.open() || ::fstat(file.number(), &status) != 0) return of_system(path, errno);
  if (!S_ISREG(status.st_mode)) return wrong(path, "it is no file");
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t came = ::read(file.number(), bytes.data() + at, bytes.size() - at);
    if (came < 0 && errno == EINTR) continue;
    if (came < 0) return of_system(path, errno);
    if (came == 0) break;
    at += static_cast<std::size_t>(came);
  }
  bytes.resize(at);
  Result<RecordedTrace> trace = trace_of(bytes);
  if (!trace) return wrong(path, trace.error().message);
  return trace;
}

Result<std::vector<RecordedTrace>> read_traces(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".accesses") paths.push_back(entry.path().string());
  }
  if (error) return of_system(folder, error.value());
  if (paths.empty()) {
    return Error{ENOENT,
                 folder + " has no file that ends in .accesses; make them with k2k-accesses"};
  }
  std::sort(paths.begin(), paths.end());
  std::vector<RecordedTrace> traces;
  for (const std::string& path : paths) {
    Result<RecordedTrace> trace = read_trace(path);
    if (!trace) return trace.error();
    traces.push_back(std::move(trace.value()));
  }
  return traces;
}

}  // namespace k2k::labs::translation
