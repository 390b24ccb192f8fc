#include "apps/grep/desks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace k2k::grep {

namespace {

constexpr std::size_t page_bytes = 4096;

constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

}  // namespace

Desks::Desks(Runtime& runtime, JobOptions options)
    : runtime_(&runtime), options_(std::move(options)) {}

Desks::~Desks() {
  for (void* memory : device_memory_) runtime_->free(memory);
}

Result<std::unique_ptr<Desks>> Desks::create(Runtime& runtime, const WordSet& words,
                                             std::uint64_t workers, JobOptions options) {
  std::unique_ptr<Desks> desks(new Desks(runtime, std::move(options)));
  if (Status status = desks->fill(words, workers); !status) return status.error();
  return desks;
}

Status Desks::fill(const WordSet& words, std::uint64_t workers) {
  void* placed[3] = {};
  const std::size_t wanted[3] = {std::max<std::size_t>(words.bytes(), 1), sizeof(Queue),
                                 std::max(options_.queue_bytes, 1u)};
  for (int index = 0; index < 3; ++index) {
    auto memory = runtime_->allocate(wanted[index]);
    if (!memory) return memory.error();
    placed[index] = memory.value();
    device_memory_.push_back(placed[index]);
  }
  if (words.bytes() != 0) std::memcpy(placed[0], words.image(), words.bytes());
  job_.words = words.at(placed[0]);
  job_.queue = new (placed[1]) Queue;
  job_.names = static_cast<unsigned char*>(placed[2]);
  job_.names_bytes = options_.queue_bytes;

  for (const std::string& path : options_.paths) arguments_.push_back(path.c_str());
  job_.arguments = arguments_.data();
  job_.argument_count = static_cast<std::uint32_t>(arguments_.size());
  job_.queue->outstanding = arguments_.size();

  error_lines_.resize(error_texts_max);
  for (std::uint32_t number = 0; number < error_texts_max; ++number) {
    error_lines_[number] = std::strerror(static_cast<int>(number));
    error_texts_.push_back(error_lines_[number].c_str());
  }
  job_.error_texts = error_texts_.data();
  job_.host_stop = &stop_;
  job_.quiet = options_.quiet;
  job_.no_messages = options_.no_messages;
  job_.bare_names = options_.bare_names;
  job_.longest_kept = job_.words.longest == 0 ? 0 : job_.words.longest - 1;
  // A read should bring more than what is carried along.
  job_.chunk_bytes =
      std::max(options_.chunk_bytes, static_cast<std::uint32_t>(whole_pages(job_.longest_kept)));

  const std::size_t text_bytes = whole_pages(job_.longest_kept + std::size_t{job_.chunk_bytes});
  const std::size_t frame_bytes = whole_pages(frames_max * sizeof(Frame));
  const std::size_t desk_bytes = text_bytes + frame_bytes + whole_pages(entries_bytes) +
                                 whole_pages(path_bytes_max) + whole_pages(line_bytes);
  // Not touched before it is needed: a desk costs what its files are long.
  buffers_.reset(new (std::nothrow) std::byte[desk_bytes * workers]);
  if (buffers_ == nullptr) {
    return Error{ENOMEM,
                 fmt::format("no memory for {} workers of {} KiB; lower --groups or --items",
                             workers, desk_bytes / 1024)};
  }
  counters_.resize(workers);
  desks_.resize(workers);
  std::byte* place = buffers_.get();
  const auto take = [&place](std::size_t bytes) { return std::exchange(place, place + bytes); };
  for (std::size_t index = 0; index < workers; ++index) {
    Desk& desk = desks_[index];
    desk.counters = &counters_[index];
    desk.text = reinterpret_cast<unsigned char*>(take(text_bytes));
    desk.frames = reinterpret_cast<Frame*>(take(frame_bytes));
    desk.entries = reinterpret_cast<unsigned char*>(take(whole_pages(entries_bytes)));
    desk.path = reinterpret_cast<char*>(take(whole_pages(path_bytes_max)));
    desk.line = reinterpret_cast<char*>(take(whole_pages(line_bytes)));
  }
  job_.desks = desks_.data();
  return {};
}

Counters Desks::sum() const {
  Counters sum;
  // Pairs with Worker::count().
  const auto load = [](const std::uint64_t& word) {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
  };
  for (const Counters& each : counters_) {
    sum.files += load(each.files);
    sum.directories += load(each.directories);
    sum.bytes += load(each.bytes);
    sum.matches += load(each.matches);
    sum.errors += load(each.errors);
    sum.write_error = std::max(sum.write_error, load(each.write_error));
  }
  return sum;
}

void Desks::stop() { __atomic_store_n(&stop_, 1u, __ATOMIC_RELEASE); }

}  // namespace k2k::grep
