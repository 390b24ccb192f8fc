#include "emulator/cuda/exec/check/shadow.hpp"

#include <algorithm>

namespace k2k::emulator::exec::check {

void Shadow::Page::forget_words(std::uint64_t begin, std::uint64_t end) {
  if (words.empty()) return;
  for (std::uint64_t at = begin - std::min(begin, word_bytes_max - 1); at < end; ++at) {
    const auto found = words.find(at);
    if (found == words.end()) continue;
    if (at >= begin || at + found->second.bytes > begin) words.erase(found);
  }
}

void Shadow::forget(std::uint64_t begin, std::uint64_t end) {
  std::erase_if(pages_, [&](auto& entry) {
    const std::uint64_t first = entry.first * shadow_page_bytes;
    const std::uint64_t last = first + shadow_page_bytes;
    if (last <= begin || first >= end) return false;
    if (begin <= first && last <= end) return true;
    Page& page = *entry.second;
    const std::uint64_t from = std::max(begin, first);
    const std::uint64_t to = std::min(end, last);
    for (std::uint64_t at = from; at < to; at += cell_bytes) page.cell(at).clear();
    std::erase_if(page.words,
                  [&](const auto& word) { return word.first >= from && word.first < to; });
    return false;
  });
}

}  // namespace k2k::emulator::exec::check
