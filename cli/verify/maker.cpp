#include "cli/verify/maker.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/system_call.hpp"
#include "calls/rows.hpp"
#include "cli/doctor_checks.hpp"
#include "runtime/settings/policy_file.hpp"

namespace k2k::cli::verify {

namespace {

RuntimeConfig config_of(Maker maker) {
  RuntimeConfig config;
  config.server.policy = server::CallPolicy::file;
  config.server.policy_file = any_without_a_log;
  config.operator_settings = false;
  config.control.socket = false;
  if (maker == Maker::gpu) {
    config.backend = cli::on_gpu::backend_name();
    return config;
  }
  config.backend = cli::on_cpu::backend_name();
  config.device.compute_units = 1;
  config.device.resident_waves = 2;
  config.device.resident_groups = 2;
  config.device.ring_entries = 64;
  config.device.arena_blocks = 8;
  config.device.strict = maker == Maker::strict_device;
  return config;
}

Runtime runtime_of(Maker maker) {
  if (maker == Maker::gpu && on_gpu::launch_call == nullptr) {
    throw std::runtime_error(
        "this k2k has kernels for the cpu backend only; build it for a GPU by "
        "'./dev build --preset cuda' or '--preset hip'");
  }
  Result<Runtime> runtime = Runtime::create(config_of(maker));
  if (!runtime) throw std::runtime_error(runtime.error().message);
  return std::move(runtime).value();
}

void fill(CallData& call, std::uint16_t number, const Image& image) {
  call.number = number;
  std::copy_n(image.words, words_max, call.words);
  call.word_link_count = image.word_links.size();
  std::copy(image.word_links.begin(), image.word_links.end(), call.word_links);
  call.link_count = image.links.size();
  std::copy(image.links.begin(), image.links.end(), call.links);
  call.byte_count = image.bytes.size();
  std::memcpy(call.bytes, image.bytes.data(), image.bytes.size());
}

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
  const auto call = std::make_unique<CallData>();
  fill(*call, number, image);
  std::thread([&] {
    // Kernels have no signals either.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    const Words words = link(*call, call->bytes);
    const auto& [word] = words;
    call->answer = system_call(number, word[0], word[1], word[2], word[3], word[4], word[5]);
    unlink(*call, call->bytes);
  }).join();
  image.bytes.assign(call->bytes, call->byte_count);
  return call->answer;
}

void Kernels::Free::operator()(void* memory) const {
  if (shared) {
    runtime->free_shared(memory);
  } else {
    runtime->free(memory);
  }
}

Kernels::Memory Kernels::take(bool shared, std::size_t bytes) {
  const Result<void*> memory = shared ? runtime_.allocate_shared(bytes) : runtime_.allocate(bytes);
  if (!memory) throw std::runtime_error(memory.error().message);
  return {memory.value(), Free{&runtime_, shared}};
}

Kernels::Kernels(Maker maker)
    : maker_(maker),
      runtime_(runtime_of(maker)),
      device_(take(false, image_bytes_max)),
      shared_(take(true, image_bytes_max)),
      call_(take(true, sizeof(CallData))) {}

bool Kernels::wrap(std::uint16_t number) const {
  const int row = calls::find(number);
  return row >= 0 && row < (maker_ == Maker::gpu ? on_gpu::wrapped_rows : on_cpu::wrapped_rows)();
}

std::int64_t Kernels::call(std::uint16_t number, Image& image, Place place) {
  auto& call = *new (call_.get()) CallData;
  fill(call, number, image);
  if (wrap(number)) call.row = calls::find(number);
  const auto launch = maker_ == Maker::gpu ? on_gpu::launch_call : on_cpu::launch_call;
  const Result<LaunchReport> report =
      launch(runtime_, &call, place,
             {static_cast<char*>(device_.get()), static_cast<char*>(shared_.get())});
  if (!report) throw std::runtime_error(report.error().message);
  image.bytes.assign(call.bytes, call.byte_count);
  return call.answer;
}

}  // namespace k2k::cli::verify
