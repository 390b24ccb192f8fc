#include "apps/grep/worker_buffers.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

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

WorkerBuffers::WorkerBuffers(Runtime& runtime, JobOptions options)
    : runtime_(&runtime), options_(std::move(options)) {}

WorkerBuffers::~WorkerBuffers() {
  for (void* memory : device_memory_) runtime_->free(memory);
  for (void* memory : shared_memory_) runtime_->free_shared(memory);
}

Result<void*> WorkerBuffers::on_device(std::size_t bytes) {
  auto memory = runtime_->allocate(bytes);
  if (memory) device_memory_.push_back(memory.value());
  return memory;
}

Result<void*> WorkerBuffers::shared(std::size_t bytes) {
  auto memory = runtime_->allocate_shared(bytes);
  if (memory) shared_memory_.push_back(memory.value());
  return memory;
}

// The pointers and their texts in one block of memory.
Status WorkerBuffers::share_texts(const std::vector<std::string>& texts,
                                  const char* const** place) {
  std::size_t bytes = texts.size() * sizeof(const char*);
  for (const std::string& text : texts) bytes += text.size() + 1;
  const auto memory = shared(bytes);
  if (!memory) return memory.error();
  auto* const pointers = static_cast<const char**>(memory.value());
  char* next = reinterpret_cast<char*>(pointers + texts.size());
  for (std::size_t index = 0; index < texts.size(); ++index) {
    std::memcpy(next, texts[index].c_str(), texts[index].size() + 1);
    pointers[index] = next;
    next += texts[index].size() + 1;
  }
  *place = pointers;
  return {};
}

Result<std::unique_ptr<WorkerBuffers>> WorkerBuffers::create(Runtime& runtime, const WordSet& words,
                                                             std::uint64_t workers,
                                                             JobOptions options) {
  std::unique_ptr<WorkerBuffers> made(new WorkerBuffers(runtime, std::move(options)));
  if (Status status = made->fill(words, workers); !status) return status.error();
  return made;
}

Status WorkerBuffers::fill(const WordSet& words, std::uint64_t workers) {
  void* placed[3] = {};
  const std::size_t wanted[3] = {std::max<std::size_t>(words.bytes(), 1), sizeof(Queue),
                                 std::max(options_.queue_bytes, 1u)};
  for (int index = 0; index < 3; ++index) {
    auto memory = on_device(wanted[index]);
    if (!memory) return memory.error();
    placed[index] = memory.value();
  }
  Queue queue;
  queue.outstanding = options_.paths.size();
  Status copied = runtime_->copy(placed[0], words.image(), words.bytes());
  if (copied.ok()) copied = runtime_->copy(placed[1], &queue, sizeof(queue));
  if (!copied) return copied;
  job_.words = words.at(placed[0]);
  job_.queue = static_cast<Queue*>(placed[1]);
  job_.names = static_cast<unsigned char*>(placed[2]);
  job_.names_bytes = options_.queue_bytes;

  if (Status done = share_texts(options_.paths, &job_.arguments); !done) return done;
  job_.argument_count = static_cast<std::uint32_t>(options_.paths.size());
  std::vector<std::string> errors;
  for (std::uint32_t number = 0; number < error_texts_max; ++number) {
    errors.emplace_back(std::strerror(static_cast<int>(number)));
  }
  if (Status done = share_texts(errors, &job_.error_texts); !done) return done;
  const auto stop = shared(sizeof(std::uint32_t));
  if (!stop) return stop.error();
  stop_ = static_cast<std::uint32_t*>(stop.value());
  job_.host_stop = stop_;
  job_.quiet = options_.quiet;
  job_.no_messages = options_.no_messages;
  job_.bare_names = options_.bare_names;
  job_.longest_kept = job_.words.longest == 0 ? 0 : job_.words.longest - 1;
  // A read should bring more bytes than are carried over from the last chunk.
  job_.chunk_bytes =
      std::max(options_.chunk_bytes, static_cast<std::uint32_t>(whole_pages(job_.longest_kept)));

  const std::size_t text_bytes = whole_pages(job_.longest_kept + std::size_t{job_.chunk_bytes});
  const std::size_t frame_bytes = whole_pages(frames_max * sizeof(Frame));
  const std::size_t worker_bytes = text_bytes + frame_bytes + whole_pages(entries_bytes) +
                                   whole_pages(path_bytes_max) + whole_pages(line_bytes);
  workers_ = workers;
  const auto counters = shared(sizeof(Counters) * workers);
  if (!counters) return counters.error();
  const auto table = shared(sizeof(Buffers) * workers);
  if (!table) return table.error();
  const auto memory = shared(worker_bytes * workers);
  if (!memory) {
    return Error{ENOMEM,
                 fmt::format("no memory for {} workers of {} KiB; lower --groups or --items",
                             workers, worker_bytes / 1024)};
  }
  // A worker touches few pages of its buffers, and Linux would clear each huge page as a whole.
  // Refused for memory that a device has pinned: then nothing changes.
  ::madvise(memory.value(), worker_bytes * workers, MADV_NOHUGEPAGE);
  auto* const worker_counters = static_cast<Counters*>(counters.value());
  auto* const buffers = static_cast<Buffers*>(table.value());
  counters_ = worker_counters;
  auto* place = static_cast<std::byte*>(memory.value());
  const auto take = [&place](std::size_t bytes) { return std::exchange(place, place + bytes); };
  for (std::size_t index = 0; index < workers; ++index) {
    Buffers& each = buffers[index];
    each.counters = &worker_counters[index];
    each.text = reinterpret_cast<unsigned char*>(take(text_bytes));
    each.frames = reinterpret_cast<Frame*>(take(frame_bytes));
    each.entries = reinterpret_cast<unsigned char*>(take(whole_pages(entries_bytes)));
    each.path = reinterpret_cast<char*>(take(whole_pages(path_bytes_max)));
    each.line = reinterpret_cast<char*>(take(whole_pages(line_bytes)));
  }
  job_.buffers = buffers;
  return {};
}

Counters WorkerBuffers::sum() const {
  Counters sum;
  // Pairs with Worker::count().
  const auto load = [](const std::uint64_t& word) {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
  };
  for (std::uint64_t worker = 0; worker < workers_; ++worker) {
    const Counters& each = counters_[worker];
    sum.files += load(each.files);
    sum.directories += load(each.directories);
    sum.bytes += load(each.bytes);
    sum.matches += load(each.matches);
    sum.errors += load(each.errors);
    sum.write_error = std::max(sum.write_error, load(each.write_error));
  }
  return sum;
}

void WorkerBuffers::stop() { __atomic_store_n(stop_, 1u, __ATOMIC_RELEASE); }

}  // namespace k2k::grep
