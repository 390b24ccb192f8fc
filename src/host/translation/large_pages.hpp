#pragma once
// Which pages larger than the smallest Linux gives programs of this machine: huge pages without
// their asking (transparent), and reserved ones.
//
//   /sys/kernel/mm/transparent_hugepage/  enabled, defrag, shmem_enabled: the word in brackets;
//                                         hpage_pmd_size
//   /sys/kernel/mm/hugepages/hugepages-NkB/  nr_hugepages, free_hugepages
//
// Threading: pure functions of the files that they read.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace k2k::host {

// The reserved pages of one size.
struct ReservedPages {
  std::uint64_t bytes = 0;             // Of a page.
  std::optional<std::uint64_t> total;  // Empty: Linux does not show it here.
  std::optional<std::uint64_t> free;
};

struct LargePages {
  // Empty: Linux has none, or does not show it.
  std::string enabled;  // "always", "madvise", "never"
  std::string defrag;   // When it makes room for one: "always", "defer", "defer+madvise", …
  std::string shmem;    // For memory that processes share: "always", "within_size", "advise", …
  std::optional<std::uint64_t> bytes;   // Of a transparent huge page.
  std::vector<ReservedPages> reserved;  // By size.
};

// Of the tree below `root`, which is empty for this machine. Files that are missing, unreadable or
// damaged leave their part empty.
LargePages large_pages(const std::string& root = "");

// "2 MiB", "64 KiB", "1 GiB": of a page.
std::string name_of_page(std::uint64_t bytes);

}  // namespace k2k::host
