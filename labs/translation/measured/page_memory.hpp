#pragma once
// Anonymous memory of this process in pages of one size: 4 KiB (no huge pages), 2 MiB (transparent
// huge pages, else reserved ones) or 1 GiB (reserved ones). All of it is populated, and its page
// size is checked: a probe never takes small pages for large ones.
//
// Threading: confined to one thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "labs/translation/measured/mapping.hpp"

namespace k2k::labs::translation {

enum class PageSize : std::uint8_t { small, large, huge };

constexpr std::size_t bytes_of(PageSize size) {
  return size == PageSize::small   ? std::size_t{4} << 10
         : size == PageSize::large ? std::size_t{2} << 20
                                   : std::size_t{1} << 30;
}
const char* name_of(PageSize size);  // "4 KiB"

class PageMemory {
 public:
  // Expects a whole number of pages. Errors: ENOMEM, with the reason and the command that reserves
  // such pages.
  static Result<PageMemory> create(PageSize size, std::size_t bytes);

  [[nodiscard]] char* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  PageMemory(Mapping mapping, char* data, std::size_t bytes)
      : mapping_(std::move(mapping)), data_(data), bytes_(bytes) {}

  Mapping mapping_;
  char* data_;  // Aligned to the page size.
  std::size_t bytes_;
};

// The bytes of the mapping at `address` that lie in transparent huge pages, of the text of
// /proc/self/smaps.
std::size_t huge_bytes_in(std::string_view smaps, std::uintptr_t address);

// Three quarters of the memory that Linux could still give (MemAvailable); 0 if it cannot be read.
std::size_t spendable_bytes();

}  // namespace k2k::labs::translation
