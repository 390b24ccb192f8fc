#include "apps/common/resident.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/signals_blocked.hpp"

namespace k2k::apps {

namespace {

constexpr std::uint64_t page = 4096;

std::string text_of(const char* path) {
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  std::string text(8192, '\0');
  const ssize_t bytes = file.open() ? ::read(file.number(), text.data(), text.size()) : 0;
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return text;
}

}  // namespace

std::uint64_t kilobyte_line(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at)) {
    const bool begins = at == 0 || text[at - 1] == '\n';
    at += name.size();
    if (!begins || at == text.size() || text[at] != ':') continue;
    const std::size_t digits = text.find_first_not_of(" \t", at + 1);
    if (digits == std::string_view::npos) return 0;
    std::uint64_t number = 0;
    std::from_chars(text.data() + digits, text.data() + text.size(), number);
    return number * 1024;
  }
  return 0;
}

std::uint64_t cached_bytes(int descriptor, std::uint64_t bytes) {
  if (descriptor < 0 || bytes == 0) return 0;
  // Nothing touches the mapping, so it adds no page to the process.
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) return 0;
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  if (::mincore(mapped, bytes, pages.data()) != 0) pages.clear();
  ::munmap(mapped, bytes);
  const auto cached =
      std::count_if(pages.begin(), pages.end(), [](unsigned char one) { return (one & 1) != 0; });
  return static_cast<std::uint64_t>(cached) * page;
}

std::uint64_t huge_bytes_at(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-') {
      inside = begin <= wanted && wanted < end;
    } else if (inside && line.rfind("AnonHugePages:", 0) == 0) {
      return kilobyte_line(line, "AnonHugePages");
    }
  }
  return 0;
}

LinuxFaults linux_faults_now() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {static_cast<std::uint64_t>(usage.ru_minflt), static_cast<std::uint64_t>(usage.ru_majflt)};
}

double cpu_seconds_now() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

ResidentBytes resident_now() {
  const std::string text = text_of("/proc/self/status");
  return {kilobyte_line(text, "RssAnon"), kilobyte_line(text, "RssFile"),
          kilobyte_line(text, "RssShmem")};
}

ProcessMemory process_memory_now() { return {resident_now().own(), linux_faults_now().all()}; }

Resident::Resident(bool by_thread, int descriptor, std::uint64_t input_bytes)
    : begin_(now()), descriptor_(descriptor), input_bytes_(input_bytes) {
  samples_.reserve(samples_max);
  if (!by_thread) return;
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // The marks are still taken.
  }
}

Resident::~Resident() { end(); }

void Resident::mark() {
  ResidentSample sample;
  sample.seconds = seconds_since(begin_);
  static_cast<ResidentBytes&>(sample) = resident_now();
  sample.cached = cached_bytes(descriptor_, input_bytes_);
  const std::lock_guard lock(mutex_);
  if (samples_.size() == samples_max) {
    for (std::size_t kept = 0; kept < samples_max / 2; ++kept) samples_[kept] = samples_[2 * kept];
    samples_.resize(samples_max / 2);
    period_ *= 2;
  }
  samples_.push_back(sample);
}

std::vector<ResidentSample> Resident::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ended_there_.notify_one();
  if (thread_.joinable()) thread_.join();
  std::stable_sort(samples_.begin(), samples_.end(),
                   [](const auto& one, const auto& other) { return one.seconds < other.seconds; });
  return samples_;
}

void Resident::run() {
  std::unique_lock lock(mutex_);
  while (!ended_there_.wait_for(lock, period_, [this] { return ended_; })) {
    lock.unlock();
    mark();
    lock.lock();
  }
}

}  // namespace k2k::apps
