#include "host/translation/large_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>

namespace k2k::host {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view pool_prefix = "hugepages-";
constexpr std::string_view pool_suffix = "kB";

// The first line; empty if there is none.
std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

// "always [madvise] never": madvise.
std::string chosen_word(const std::string& line) {
  const std::size_t begin = line.find('[');
  const std::size_t end = line.find(']', begin == std::string::npos ? 0 : begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  return line.substr(begin + 1, end - begin - 1);
}

std::optional<std::uint64_t> bytes_of_pool(std::string_view name) {
  if (!name.starts_with(pool_prefix) || !name.ends_with(pool_suffix)) return std::nullopt;
  if (name.size() < pool_prefix.size() + pool_suffix.size()) return std::nullopt;
  name.remove_prefix(pool_prefix.size());
  name.remove_suffix(pool_suffix.size());
  const auto kib = number_of(name);
  if (!kib || *kib == 0 || *kib > std::numeric_limits<std::uint64_t>::max() >> 10) {
    return std::nullopt;
  }
  return *kib << 10;
}

std::vector<ReservedPages> reserved_below(const std::string& folder) {
  std::vector<ReservedPages> pools;
  std::error_code error;
  for (fs::directory_iterator one(folder, error), end; !error && one != end; one.increment(error)) {
    const auto bytes = bytes_of_pool(one->path().filename().string());
    if (!bytes) continue;
    const std::string pool = one->path().string();
    pools.push_back({*bytes, number_of(line_of(pool + "/nr_hugepages")),
                     number_of(line_of(pool + "/free_hugepages"))});
  }
  std::ranges::sort(pools, {}, &ReservedPages::bytes);
  return pools;
}

}  // namespace

LargePages large_pages(const std::string& root) {
  const std::string transparent = root + "/sys/kernel/mm/transparent_hugepage/";
  return {.enabled = chosen_word(line_of(transparent + "enabled")),
          .defrag = chosen_word(line_of(transparent + "defrag")),
          .shmem = chosen_word(line_of(transparent + "shmem_enabled")),
          .bytes = number_of(line_of(transparent + "hpage_pmd_size")),
          .reserved = reserved_below(root + "/sys/kernel/mm/hugepages")};
}

std::string name_of_page(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; unit + 1 < std::size(units) && bytes != 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, units[unit]);
}

}  // namespace k2k::host
