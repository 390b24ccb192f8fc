#include "apps/grep/worker_buffers.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace k2k::grep {

using apps::whole_pages;

namespace {

// Below part_bytes_min, it costs more to distribute the parts of a text than to search them. Lanes
// of a warp search at the same time, so even short parts gain.
constexpr std::uint32_t part_bytes_min_cpu = 1024;
constexpr std::uint32_t part_bytes_min_gpu = 128;

}  // namespace

WorkerBuffers::WorkerBuffers(Runtime& runtime, JobOptions options)
    : runtime_(runtime),
      blocks_(runtime),
      on_gpu_(runtime.device().platform != "cpu"),
      options_(std::move(options)) {}

Result<void*> WorkerBuffers::near_kernel(std::size_t bytes) {
  return on_gpu_ ? blocks_.on_device(bytes) : blocks_.shared(bytes);
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
  const std::size_t wanted[3] = {words.bytes(), sizeof(Queue), options_.queue_bytes};
  for (int index = 0; index < 3; ++index) {
    auto memory = blocks_.on_device(wanted[index]);
    if (!memory) return memory.error();
    placed[index] = memory.value();
  }
  Queue queue;
  queue.outstanding = options_.paths.size();
  Status copied = runtime_.copy(placed[0], words.image(), words.bytes());
  if (copied.ok()) copied = runtime_.copy(placed[1], &queue, sizeof(queue));
  if (!copied) return copied;
  job_.words = words.at(placed[0]);
  job_.queue = static_cast<Queue*>(placed[1]);
  job_.names = static_cast<unsigned char*>(placed[2]);
  job_.names_bytes = options_.queue_bytes;

  const auto arguments = apps::place_texts(runtime_, blocks_, options_.paths, on_gpu_);
  if (!arguments) return arguments.error();
  job_.arguments = *arguments;
  job_.argument_count = static_cast<std::uint32_t>(options_.paths.size());
  std::vector<std::string> errors;
  for (std::uint32_t number = 0; number < error_texts_max; ++number) {
    errors.emplace_back(std::strerror(static_cast<int>(number)));
  }
  const auto error_texts = apps::place_texts(runtime_, blocks_, errors, on_gpu_);
  if (!error_texts) return error_texts.error();
  job_.error_texts = *error_texts;
  const auto stop = blocks_.shared(sizeof(std::uint32_t));
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
  job_.part_bytes_min = on_gpu_ ? part_bytes_min_gpu : part_bytes_min_cpu;
  return place_workers(workers);
}

// The workers' buffers, and the table of them.
Status WorkerBuffers::place_workers(std::uint64_t workers) {
  const std::size_t kept_bytes = whole_pages(job_.longest_kept);  // So that the text is aligned.
  const std::size_t chunk_bytes = whole_pages(job_.chunk_bytes);
  const std::size_t frame_bytes = whole_pages(frames_max * sizeof(Frame));
  const std::size_t worker_bytes = kept_bytes + chunk_bytes + frame_bytes +
                                   whole_pages(entries_bytes) + whole_pages(path_bytes_max) +
                                   whole_pages(line_bytes);
  const std::size_t incoming_bytes = on_gpu_ ? chunk_bytes : 0;  // Otherwise the text itself.
  workers_ = workers;
  const auto counters = blocks_.shared(sizeof(Counters) * workers);
  if (!counters) return counters.error();
  const auto table = near_kernel(sizeof(Buffers) * workers);
  if (!table) return table.error();
  const auto memory = near_kernel(worker_bytes * workers);
  const auto incoming = blocks_.shared(incoming_bytes * workers);
  if (!memory || !incoming) {
    return Error{ENOMEM,
                 fmt::format("no memory for {} workers of {} KiB; lower --groups or --items",
                             workers, (worker_bytes + incoming_bytes) / 1024)};
  }
  // A worker touches few pages of its buffers, and Linux would clear each huge page as a whole.
  if (!on_gpu_) ::madvise(memory.value(), worker_bytes * workers, MADV_NOHUGEPAGE);
  auto* const worker_counters = static_cast<Counters*>(counters.value());
  counters_ = worker_counters;
  std::vector<Buffers> buffers(workers);
  auto* place = static_cast<std::byte*>(memory.value());
  const auto take = [&place](std::size_t bytes) { return std::exchange(place, place + bytes); };
  for (std::size_t index = 0; index < workers; ++index) {
    Buffers& each = buffers[index];
    each.counters = &worker_counters[index];
    each.text = reinterpret_cast<unsigned char*>(take(kept_bytes + chunk_bytes)) + kept_bytes;
    each.incoming =
        on_gpu_ ? static_cast<unsigned char*>(incoming.value()) + index * chunk_bytes : each.text;
    each.frames = reinterpret_cast<Frame*>(take(frame_bytes));
    each.entries = reinterpret_cast<unsigned char*>(take(whole_pages(entries_bytes)));
    each.path = reinterpret_cast<char*>(take(whole_pages(path_bytes_max)));
    each.line = reinterpret_cast<char*>(take(whole_pages(line_bytes)));
  }
  job_.buffers = static_cast<Buffers*>(table.value());
  return runtime_.copy(job_.buffers, buffers.data(), sizeof(Buffers) * workers);
}

Counters WorkerBuffers::sum() const {
  Counters sum;
  // As Worker::count() stores them; after the launch all have arrived.
  const auto load = [](const std::uint64_t& word) {
    return __atomic_load_n(&word, __ATOMIC_RELAXED);
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
