#include "labs/interference/harm/schedstat.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "base/descriptor.hpp"

namespace k2k::labs::harm {

Result<Schedstat> parse_schedstat(std::string_view line) {
  std::array<std::uint64_t, 2> numbers{};
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::uint64_t& number : numbers) {
    while (at != end && *at == ' ') ++at;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc()) {
      return Error{EIO, fmt::format("'{}' is no line of schedstat", line.substr(0, 60))};
    }
    at = stop;
  }
  return Schedstat{static_cast<double>(numbers[0]) / 1e9, static_cast<double>(numbers[1]) / 1e9};
}

Result<Schedstat> read_schedstat(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text{};
  const ssize_t count = file.open() ? ::read(file.number(), text.data(), text.size()) : -1;
  if (count < 0) {
    const int error = errno;
    return Error{error, fmt::format("cannot read {}: {}; the run delay needs the kernel's "
                                    "schedstat, and /proc of the victim's user",
                                    path, std::strerror(error))};
  }
  std::string_view line(text.data(), static_cast<std::size_t>(count));
  while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  return parse_schedstat(line);
}

Result<Schedstat> own_schedstat() { return read_schedstat("/proc/thread-self/schedstat"); }

}  // namespace k2k::labs::harm
