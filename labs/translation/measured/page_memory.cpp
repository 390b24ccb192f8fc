#include "labs/translation/measured/page_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "labs/interference/harm/machine.hpp"

#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#define MAP_HUGE_1GB (30 << 26)
#endif

namespace k2k::labs::translation {

namespace {

// The number behind `key` in lines of "Key:   123 kB", in bytes; 0 without it.
std::size_t kilobytes_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  const std::size_t digit = text.find_first_of("0123456789", at + key.size());
  if (digit == std::string_view::npos) return 0;
  std::size_t kilobytes = 0;
  std::from_chars(text.data() + digit, text.data() + text.size(), kilobytes);
  return kilobytes << 10;
}

// A write to each page of the processor: all of the memory is there afterwards.
void populate(char* data, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += bytes_of(PageSize::small)) {
    *static_cast<volatile char*>(data + at) = 1;
  }
}

}  // namespace

const char* name_of(PageSize size) {
  return size == PageSize::small ? "4 KiB" : size == PageSize::large ? "2 MiB" : "1 GiB";
}

Result<PageMemory> PageMemory::create(PageSize size, std::size_t bytes) {
  const std::size_t page = bytes_of(size);
  K2K_EXPECT(bytes > 0 && bytes % page == 0);
  const auto refused = [&](const std::string& why) {
    return Error{ENOMEM, fmt::format("no {} bytes in pages of {}: {}", bytes, name_of(size), why)};
  };
  if (size == PageSize::small) {
    Result<Mapping> mapping = anonymous(bytes);
    if (!mapping) return refused(std::strerror(mapping.error().code));
    char* const data = mapping->data();
    ::madvise(data, bytes, MADV_NOHUGEPAGE);  // Fails where Linux has none anyway.
    populate(data, bytes);
    return PageMemory(std::move(mapping).value(), data, bytes);
  }
  // Reserved pages: Linux refuses the mapping if too few are free.
  const int flag = MAP_HUGETLB | (size == PageSize::large ? MAP_HUGE_2MB : MAP_HUGE_1GB);
  if (Result<Mapping> mapping = anonymous(bytes, flag); mapping) {
    char* const data = mapping->data();
    populate(data, bytes);
    return PageMemory(std::move(mapping).value(), data, bytes);
  }
  if (size == PageSize::huge) {
    return refused(
        fmt::format("none are reserved; as root: echo {} > "
                    "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
                    bytes / page));
  }
  Result<Mapping> mapping = anonymous(bytes + page);
  if (!mapping) return refused(std::strerror(mapping.error().code));
  const auto address = reinterpret_cast<std::uintptr_t>(mapping->data());
  char* const data = mapping->data() + (page - address % page) % page;
  ::madvise(data, bytes, MADV_HUGEPAGE);
  populate(data, bytes);
  const std::size_t huge =
      huge_bytes_in(harm::text_of("/proc/self/smaps"), reinterpret_cast<std::uintptr_t>(data));
  if (huge < bytes) {
    return refused(
        fmt::format("Linux gave {} bytes in huge pages; as root: echo madvise > "
                    "/sys/kernel/mm/transparent_hugepage/enabled, or echo {} > "
                    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
                    huge, bytes / page));
  }
  return PageMemory(std::move(mapping).value(), data, bytes);
}

std::size_t huge_bytes_in(std::string_view smaps, std::uintptr_t address) {
  bool inside = false;
  while (!smaps.empty()) {
    const std::string_view line = smaps.substr(0, smaps.find('\n'));
    smaps.remove_prefix(std::min(smaps.size(), line.size() + 1));
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    const char* const stop = line.data() + line.size();
    const auto [dash, error] = std::from_chars(line.data(), stop, begin, 16);
    if (error == std::errc() && dash != stop && *dash == '-' &&
        std::from_chars(dash + 1, stop, end, 16).ec == std::errc()) {
      inside = address >= begin && address < end;
    } else if (inside && line.starts_with("AnonHugePages:")) {
      return kilobytes_behind(line, "AnonHugePages:");
    }
  }
  return 0;
}

std::size_t spendable_bytes() {
  return kilobytes_behind(harm::text_of("/proc/meminfo"), "MemAvailable:") / 4 * 3;
}

}  // namespace k2k::labs::translation
