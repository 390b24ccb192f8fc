#include "cli/watch/sources/text_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/descriptor.hpp"

namespace k2k::watch {

Result<std::string> read_text(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) {
    const int error = errno;
    return Error{error, fmt::format("cannot open {}: {}", path, std::strerror(error))};
  }
  std::string text;
  std::size_t filled = 0;
  while (true) {
    if (filled == text.size()) {
      if (text.size() >= file_bytes_max) {
        return Error{EFBIG, fmt::format("{} is larger than {} bytes", path, file_bytes_max)};
      }
      text.resize(text.empty() ? 4096 : text.size() * 2);
    }
    const ssize_t count = ::read(file.number(), text.data() + filled, text.size() - filled);
    if (count < 0) {
      const int error = errno;
      if (error == EINTR) continue;
      return Error{error, fmt::format("cannot read {}: {}", path, std::strerror(error))};
    }
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  text.resize(filled);
  return text;
}

std::string line_of_file(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text) return {};
  return text->substr(0, text->find('\n'));
}

std::string name_behind(const std::string& link) {
  std::error_code error;
  return std::filesystem::read_symlink(link, error).filename().string();
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\r\n";
  std::vector<std::string_view> words;
  std::size_t at = line.find_first_not_of(blanks);
  while (at != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(blanks, end);
  }
  return words;
}

std::string_view take_until(std::string_view& rest, char mark) {
  const std::size_t end = rest.find(mark);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::optional<std::uint64_t> number_of(std::string_view word) {
  std::uint64_t number = 0;
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, number);
  if (word.empty() || error != std::errc() || end != last) return std::nullopt;
  return number;
}

std::optional<std::vector<int>> cores_of(std::string_view list) {
  while (list.ends_with('\n') || list.ends_with(' ')) list.remove_suffix(1);
  std::vector<int> cores;
  for (bool more = true; more;) {
    more = list.find(',') != std::string_view::npos;
    std::string_view range = take_until(list, ',');
    const bool single = range.find('-') == std::string_view::npos;
    const auto first = number_of(take_until(range, '-'));
    const auto last = single ? first : number_of(range);
    if (!first || !last || *first > *last || *last >= cores_max) return std::nullopt;
    for (auto core = *first; core <= *last; ++core) cores.push_back(static_cast<int>(core));
  }
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

std::string list_of(const std::vector<int>& cores) {
  std::string list;
  for (std::size_t at = 0; at < cores.size();) {
    std::size_t end = at + 1;
    while (end < cores.size() && cores[end] == cores[end - 1] + 1) ++end;
    if (!list.empty()) list += ',';
    list += end - at == 1 ? fmt::format("{}", cores[at])
                          : fmt::format("{}-{}", cores[at], cores[end - 1]);
    at = end;
  }
  return list;
}

}  // namespace k2k::watch
