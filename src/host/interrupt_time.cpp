#include "host/interrupt_time.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <span>

namespace k2k::host {

namespace {

// softirq total HI TIMER NET_TX NET_RX BLOCK IRQ_POLL
constexpr std::size_t first_io_field = 3;
constexpr std::size_t softirq_fields = 7;

// The rest of the line that begins with this word.
std::optional<std::string_view> rest_of_line(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(word) && line.substr(word.size()).starts_with(' ')) {
      return line.substr(word.size());
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

// Takes the next number from the begin of a line. Empty: the line is at its end or has other text.
std::optional<std::uint64_t> next_number(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  std::uint64_t number = 0;
  const char* const last = line.data() + line.size();
  const auto [end, error] = std::from_chars(line.data(), last, number);
  if (error != std::errc() || (end != last && *end != ' ')) return {};
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return number;
}

bool read_numbers(std::string_view line, std::span<std::uint64_t> numbers) {
  for (std::uint64_t& number : numbers) {
    const auto next = next_number(line);
    if (!next) return false;
    number = *next;
  }
  return true;
}

}  // namespace

std::optional<CoreTicks> core_ticks_of(std::string_view stat) {
  const auto line = rest_of_line(stat, "cpu");
  std::array<std::uint64_t, sizeof(CoreTicks) / sizeof(std::uint64_t)> columns{};
  if (!line || !read_numbers(*line, columns)) return {};
  return std::bit_cast<CoreTicks>(columns);
}

std::optional<InterruptCounts> interrupt_counts_of(std::string_view stat, Nanoseconds tick) {
  const auto cores = core_ticks_of(stat);
  const auto interrupts = rest_of_line(stat, "intr");
  const auto soft = rest_of_line(stat, "softirq");
  std::array<std::uint64_t, softirq_fields> kinds{};
  if (!cores || !interrupts || !soft || !read_numbers(*soft, kinds)) return {};
  const auto time_of = [&](std::uint64_t ticks) { return tick * static_cast<std::int64_t>(ticks); };
  InterruptCounts counts{time_of(cores->hard), time_of(cores->soft), time_of(cores->stolen)};
  std::string_view left = *interrupts;
  if (!next_number(left)) return {};  // The sum, which has timers and calls between cores.
  while (const auto next = next_number(left)) counts.of_devices += *next;
  for (std::size_t kind = first_io_field; kind < softirq_fields; ++kind)
    counts.of_io += kinds[kind];
  return counts;
}

Result<InterruptTime> InterruptTime::open(const std::string& proc) {
  Result<ProcFile> file = ProcFile::open(proc + "/stat");
  if (!file) return file.error();
  InterruptTime time(std::move(file).value());
  const Result<std::string_view> text = time.whole_text();
  if (!text) return text.error();
  if (!time.read()) {
    return Error{EBADMSG, fmt::format("{} has no lines cpu, intr and softirq with numbers",
                                      time.file_.path())};
  }
  return time;
}

// A text that fills the buffer may be a part: the last line has what is wanted, too.
Result<std::string_view> InterruptTime::whole_text() {
  while (true) {
    Result<std::string_view> text = file_.read(text_);
    if (!text || text.value().size() < text_.size()) return text;
    if (text_.size() >= text_bytes_max) {
      return Error{EFBIG, fmt::format("{} has more than {} bytes, which is no account of cores and "
                                      "interrupts",
                                      file_.path(), text_bytes_max)};
    }
    text_.resize(2 * text_.size());
  }
}

std::optional<InterruptCounts> InterruptTime::read() {
  static const Nanoseconds tick{1'000'000'000 / std::max(1L, ::sysconf(_SC_CLK_TCK))};
  const Result<std::string_view> text = whole_text();
  if (!text) return {};
  return interrupt_counts_of(text.value(), tick);
}

}  // namespace k2k::host
