// Includes no header of Linux' calls, because a kernel includes functions named read, close,
// getpid.

#include "cli/verify/maker.hpp"

#include <csignal>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/system_call.hpp"
#include "calls/rows.hpp"
#include "device/k2k.hpp"

namespace k2k::cli::verify {

namespace {

void link(const Image& image, std::uint64_t (&words)[words_max], char* bytes) {
  for (std::size_t word = 0; word < words_max; ++word) words[word] = image.words[word];
  for (const Image::Link& link : image.word_links) {
    words[link.at] = reinterpret_cast<std::uint64_t>(bytes + link.target);
  }
  for (const Image::Link& link : image.links) {
    const auto address = reinterpret_cast<std::uint64_t>(bytes + link.target);
    std::memcpy(bytes + link.at, &address, sizeof(address));
  }
}

// Takes the addresses out again: they differ from place to place. A call that changed a pointer
// shows.
void unlink(const Image& image, char* bytes) {
  for (const Image::Link& link : image.links) {
    std::uint64_t address = 0;
    std::memcpy(&address, bytes + link.at, sizeof(address));
    if (address == reinterpret_cast<std::uint64_t>(bytes + link.target)) address = 0;
    std::memcpy(bytes + link.at, &address, sizeof(address));
  }
}

using Words = std::uint64_t (&)[words_max];
using Wrapper = std::int64_t (*)(Words words);

template <int row, std::size_t... index>
std::int64_t call_of_row(Words words, std::index_sequence<index...> /*unused*/) {
  return device::call<calls::rows[row].number>(k2k::work_item, k2k::strong, words[index]...)
      .value();
}
template <int row>
std::int64_t call_of_row(Words words) {
  constexpr int count = calls::parameter_count(calls::rows[row]);
  return call_of_row<row>(words, std::make_index_sequence<count>());
}

template <std::size_t... row>
std::int64_t call_by_wrapper(std::size_t index, Words words,
                             std::index_sequence<row...> /*unused*/) {
  static constexpr Wrapper wrappers[] = {&call_of_row<static_cast<int>(row)>...};
  return wrappers[index](words);
}

std::int64_t call_from_kernel(std::uint16_t number, Words words) {
  const int row = calls::find(number);
  if (row >= 0) {
    return call_by_wrapper(static_cast<std::size_t>(row), words,
                           std::make_index_sequence<calls::row_count>());
  }
  return k2k::syscall(k2k::work_item, k2k::strong, long{number}, words[0], words[1], words[2],
                      words[3], words[4], words[5])
      .value();
}

RuntimeConfig config_of(bool strict) {
  RuntimeConfig config;
  config.operator_settings = false;
  config.backend = "cpu";
  config.device.compute_units = 1;
  config.device.resident_waves = 2;
  config.device.resident_groups = 2;
  config.device.ring_entries = 64;
  config.device.arena_blocks = 8;
  config.device.strict = strict;
  config.control.socket = false;
  return config;
}

Runtime runtime_of(bool strict) {
  Result<Runtime> runtime = Runtime::create(config_of(strict));
  if (!runtime) throw std::runtime_error(runtime.error().message);
  return std::move(runtime).value();
}

struct LocalBytes {
  char byte[image_bytes_max];
};

}  // namespace

const char* name_of(Place place) {
  switch (place) {
    case Place::stack:
      return "stack";
    case Place::local:
      return "local memory";
    case Place::device:
      return "device memory";
    case Place::shared:
      return "shared memory";
  }
  return "?";
}

std::int64_t call_from_thread(std::uint16_t number, Image& image) {
  std::int64_t answer = 0;
  std::thread([&] {
    // Kernels have no signals either.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::uint64_t words[words_max];
    link(image, words, image.bytes.data());
    answer = system_call(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    unlink(image, image.bytes.data());
  }).join();
  return answer;
}

void Kernels::Free::operator()(void* memory) const {
  if (shared) {
    runtime->free_shared(memory);
  } else {
    runtime->free(memory);
  }
}

Kernels::Memory Kernels::take(bool shared) {
  const Result<void*> memory =
      shared ? runtime_.allocate_shared(image_bytes_max) : runtime_.allocate(image_bytes_max);
  if (!memory) throw std::runtime_error(memory.error().message);
  return {memory.value(), Free{&runtime_, shared}};
}

Kernels::Kernels(bool strict)
    : runtime_(runtime_of(strict)), device_(take(false)), shared_(take(true)) {}

std::int64_t Kernels::call(std::uint16_t number, Image& image, Place place) {
  std::int64_t answer = 0;
  char* const device = static_cast<char*>(device_.get());
  char* const shared = static_cast<char*>(shared_.get());
  const Result<LaunchReport> report = runtime_.launch(
      {1, 1},
      [&, device, shared] {
        K2K_LOCAL(LocalBytes, local);
        alignas(16) char stack[image_bytes_max];
        char* const bytes = place == Place::stack    ? stack
                            : place == Place::local  ? local.byte
                            : place == Place::device ? device
                                                     : shared;
        std::memcpy(bytes, image.bytes.data(), image.bytes.size());
        std::uint64_t words[words_max];
        link(image, words, bytes);
        answer = call_from_kernel(number, words);
        unlink(image, bytes);
        std::memcpy(image.bytes.data(), bytes, image.bytes.size());
      },
      "verify");
  if (!report) throw std::runtime_error(report.error().message);
  return answer;
}

}  // namespace k2k::cli::verify
