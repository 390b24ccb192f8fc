#include "apps/grep/word_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace k2k::grep {

namespace {

constexpr std::uint32_t step_max = 8;         // For larger steps, memory is the limit.
constexpr std::uint32_t bits_per_gram = 128;  // 1 in 128 positions is compared in vain.
constexpr std::uint32_t bit_log2_min = 12;    // 512 bytes.
constexpr std::uint32_t bit_log2_max = 21;    // 256 KiB: fits into a second-level cache.
constexpr std::uint32_t bucket_log2_max = 20;

std::uint32_t log2_above(std::uint64_t value, std::uint32_t least, std::uint32_t most) {
  const auto width = static_cast<std::uint32_t>(std::bit_width(value));
  return std::clamp(width, least, most);
}

std::uint32_t gram_of(const unsigned char* text, std::uint32_t bytes) {
  std::uint32_t value = 0;
  for (std::uint32_t index = 0; index < bytes; ++index) {
    value |= static_cast<std::uint32_t>(text[index]) << (8 * index);
  }
  return value;
}

// The largest step that the shortest word permits, unless the tables would become too dense.
std::uint32_t step_for(std::size_t words, std::uint32_t shortest) {
  std::uint32_t step = std::min(shortest - gram_bytes_max + 1, step_max);
  while (step > 1 && words * step * bits_per_gram > (std::size_t{1} << bit_log2_max)) --step;
  return step;
}

}  // namespace

void add_words_of_argument(std::string_view text, std::vector<std::string>& words) {
  while (true) {
    const std::size_t end = text.find('\n');
    words.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

Result<std::string> read_word_file(const std::string& path, std::size_t bytes_max,
                                   std::string_view limit) {
  const auto failed = [&path] {
    return Error{errno, fmt::format("{}: {}", path, std::strerror(errno))};
  };
  std::FILE* const file = path == "-" ? stdin : std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return failed();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> closer(
      path == "-" ? nullptr : file, [](std::FILE* open) { return std::fclose(open); });
  std::string text;
  char piece[65536];
  while (const std::size_t count = std::fread(piece, 1, sizeof(piece), file)) {
    text.append(piece, count);
    if (text.size() > bytes_max) {
      return Error{EFBIG, fmt::format("{}: more than {}", path, limit)};
    }
  }
  if (std::ferror(file) != 0) return failed();
  return text;
}

void add_words_of_file(std::string_view text, std::vector<std::string>& words) {
  if (text.empty()) return;
  if (text.back() == '\n') text.remove_suffix(1);
  add_words_of_argument(text, words);
}

Result<WordSet> WordSet::build(std::vector<std::string> words) {
  WordSet set;
  std::erase_if(words, [](const std::string& word) { return word.find('\0') != word.npos; });
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  if (!words.empty() && words.front().empty()) {
    set.every_line_ = true;
    words.clear();  // A text without a match of the empty word matches no other word.
  }
  std::string bytes;
  std::uint32_t shortest[2] = {UINT32_MAX, UINT32_MAX};
  std::size_t count[2] = {};
  const auto class_of = [](const std::string& word) { return word.size() < gram_bytes_max; };
  for (const std::string& word : words) {
    bytes += word;
    if (bytes.size() > word_bytes_max) {
      return Error{E2BIG, fmt::format("the words have more than {} MiB together; search in several "
                                      "runs",
                                      word_bytes_max >> 20)};
    }
    const auto length = static_cast<std::uint32_t>(word.size());
    set.longest_ = std::max(set.longest_, length);
    std::uint32_t& least = shortest[class_of(word)];
    least = std::min(least, length);
    ++count[class_of(word)];
  }
  const std::uint32_t gram_bytes[2] = {gram_bytes_max, shortest[1]};
  const std::uint32_t step[2] = {count[0] == 0 ? 1 : step_for(count[0], shortest[0]), 1};
  std::vector<Gram> grams[2];
  std::uint32_t place = 0;
  for (const std::string& word : words) {
    const int kind = class_of(word);
    for (std::uint32_t before = 0; before < step[kind]; ++before) {
      const auto* const at = reinterpret_cast<const unsigned char*>(word.data()) + before;
      grams[kind].push_back(
          {gram_of(at, gram_bytes[kind]), place, static_cast<std::uint32_t>(word.size()), before});
    }
    place += static_cast<std::uint32_t>(word.size());
  }
  set.word_bytes_ = set.append(bytes.data(), bytes.size());
  if (count[0] != 0) set.long_table_ = set.add_sieve(grams[0], gram_bytes[0], step[0]);
  if (count[1] != 0) set.short_table_ = set.add_sieve(grams[1], gram_bytes[1], step[1]);
  return set;
}

std::size_t WordSet::append(const void* data, std::size_t bytes) {
  const std::size_t place = this->bytes();
  image_.resize(image_.size() + (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
  if (bytes != 0) std::memcpy(reinterpret_cast<std::byte*>(image_.data()) + place, data, bytes);
  return place;
}

WordSet::Table WordSet::add_sieve(const std::vector<Gram>& grams, std::uint32_t gram_bytes,
                                  std::uint32_t step) {
  const std::uint32_t bit_log2 =
      log2_above(grams.size() * bits_per_gram, bit_log2_min, bit_log2_max);
  const std::uint32_t bucket_log2 = log2_above(grams.size() * 2, 1, bucket_log2_max);
  Table table;
  table.shape.gram_bytes = gram_bytes;
  table.shape.step = step;
  table.shape.bit_shift = 32 - bit_log2;
  table.shape.bucket_shift = 32 - bucket_log2;

  std::vector<std::uint64_t> bits((std::size_t{1} << bit_log2) / 64);
  std::vector<std::uint32_t> starts((std::size_t{1} << bucket_log2) + 1);
  for (const Gram& gram : grams) {
    const std::uint32_t bit = gram_hash(gram.value) >> table.shape.bit_shift;
    bits[bit / 64] |= std::uint64_t{1} << (bit % 64);
    ++starts[(gram_hash(gram.value) >> table.shape.bucket_shift) + 1];
  }
  for (std::size_t bucket = 1; bucket < starts.size(); ++bucket) {
    starts[bucket] += starts[bucket - 1];
  }
  std::vector<Gram> sorted = grams;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Gram& left, const Gram& right) {
    return gram_hash(left.value) >> table.shape.bucket_shift < gram_hash(right.value) >>
           table.shape.bucket_shift;
  });
  table.bits = append(bits.data(), bits.size() * sizeof(bits[0]));
  table.starts = append(starts.data(), starts.size() * sizeof(starts[0]));
  table.grams = append(sorted.data(), sorted.size() * sizeof(sorted[0]));
  return table;
}

Words WordSet::at(const void* base) const {
  const auto* const begin = static_cast<const std::byte*>(base);
  const auto placed = [begin](const Table& table) {
    Sieve sieve = table.shape;
    if (sieve.gram_bytes == 0) return sieve;
    sieve.bits = reinterpret_cast<const std::uint64_t*>(begin + table.bits);
    sieve.starts = reinterpret_cast<const std::uint32_t*>(begin + table.starts);
    sieve.grams = reinterpret_cast<const Gram*>(begin + table.grams);
    return sieve;
  };
  Words words;
  words.sieve = placed(long_table_);
  words.short_sieve = placed(short_table_);
  words.bytes = reinterpret_cast<const unsigned char*>(begin + word_bytes_);
  words.longest = longest_;
  words.every_line = every_line_;
  return words;
}

}  // namespace k2k::grep
