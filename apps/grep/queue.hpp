#pragma once
// Distributes tasks over the workers: a stack of names in device memory, and the count that ends
// the search.
//
// If push() finds no room, it returns false and the caller does the task itself, at once. A full
// stack therefore loses no task: its size bounds memory and nothing else. The last name pushed is
// taken first, which keeps the walk depth-first and the stack short.
//
// An idle worker yields. After a long time without a task it leaves the kernel. A few idle workers
// stay and sleep in nanosleep(2), so that their compute unit can sleep and they can still take new
// tasks.
//
// Threading: device code, any work-item. The lock is held for one copy of a name and never across a
// system call or a yield.

#include "apps/grep/job.hpp"
#include "device/k2k.hpp"

namespace k2k::grep {

enum class TaskKind : std::uint32_t {
  none,     // No more tasks will come.
  file,     // A regular file.
  trickle,  // A file whose short reads do not mean its end (such as procfs).
  directory,
  argument,  // From the command line: any kind of file.
};

inline constexpr int yields_between_looks = 256;  // At the host's request to end.
inline constexpr int yields_before_nap = 512;
inline constexpr int yields_before_leaving = 1 << 16;
inline constexpr std::uint32_t nappers_max = 2;
inline constexpr std::int64_t nap_ns_min = 50'000;
inline constexpr std::int64_t nap_ns_max = 10'000'000;

template <class Wait>
K2K_DEVICE inline void nap(Wait wait, std::int64_t nanoseconds) {
  const std::int64_t duration[2] = {0, nanoseconds};  // struct timespec
  k2k::nanosleep(k2k::work_item, wait, duration);
}

K2K_DEVICE inline bool stopped(const Job& job) {
  return protocol::device_load(&job.queue->stop) != 0;
}
// Tells all workers of the host's request to end. Call it rarely: on a GPU it waits for the bus.
K2K_DEVICE inline void heed_host(const Job& job) {
  // Pairs with WorkerBuffers::stop().
  if (protocol::load_acquire(job.host_stop) == 0) return;
  protocol::device_store(&job.queue->stop, std::uint32_t{1});
}

// Lets others run if another worker holds the lock.
K2K_DEVICE inline bool try_lock(Queue& queue) {
  if (protocol::device_compare_exchange(&queue.lock, std::uint32_t{0}, std::uint32_t{1})) {
    return true;
  }
  k2k::yield();
  return false;
}
K2K_DEVICE inline void lock(Queue& queue) {
  while (!try_lock(queue)) {
  }
}
K2K_DEVICE inline void unlock(Queue& queue) {
  protocol::device_store(&queue.lock, std::uint32_t{0});
}

// False if there is no room. `path` is a worker's buffer, read in whole wides.
K2K_DEVICE inline bool push(const Job& job, const char* path, std::size_t bytes, TaskKind kind) {
  Queue& queue = *job.queue;
  const std::size_t padded = apps::whole_wides(bytes);
  const auto need = static_cast<std::uint32_t>(padded + sizeof(TaskEnd));
  lock(queue);
  const std::uint32_t used = queue.used;
  const bool fits = need <= job.names_bytes - used;
  if (fits) {
    const TaskEnd end{static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(kind)};
    apps::copy_alone(job.names + used, path, bytes);
    *reinterpret_cast<TaskEnd*>(job.names + used + padded) = end;
    protocol::device_add(&queue.outstanding, std::uint64_t{1});
    protocol::device_store(&queue.used, used + need);  // Pairs with the look in pop().
  }
  unlock(queue);
  return fits;
}

K2K_DEVICE inline TaskKind pop(const Job& job, char* path, std::size_t& bytes) {
  Queue& queue = *job.queue;
  // Hundreds of idle workers see one name. Those that do not get it must not pass through the lock:
  // the worker that pushes the next name would wait for all of them.
  do {
    if (protocol::device_load(&queue.used) == 0) return TaskKind::none;
  } while (!try_lock(queue));
  TaskEnd end;
  const std::uint32_t used = queue.used;
  if (used != 0) {
    end = *reinterpret_cast<const TaskEnd*>(job.names + used - sizeof(end));
    const auto begin =
        static_cast<std::uint32_t>(used - sizeof(end) - apps::whole_wides(end.bytes));
    apps::copy_alone(path, job.names + begin, end.bytes);
    protocol::device_store(&queue.used, begin);
  }
  unlock(queue);
  path[end.bytes] = '\0';
  bytes = end.bytes;
  return static_cast<TaskKind>(end.kind);
}

// The next PATH of the command line. The name is not copied.
K2K_DEVICE inline TaskKind take_argument(const Job& job, std::uint32_t& index) {
  if (protocol::device_load(&job.queue->arguments_taken) >= job.argument_count) {
    return TaskKind::none;
  }
  index = protocol::device_add(&job.queue->arguments_taken, std::uint32_t{1});
  return index < job.argument_count ? TaskKind::argument : TaskKind::none;
}

K2K_DEVICE inline void finish_task(const Job& job) {
  protocol::device_add(&job.queue->outstanding, ~std::uint64_t{0});
}

// Waits for a task. `index` is set for an argument, `path` and `bytes` for the others.
template <class Wait>
K2K_SHARED_CODE K2K_DEVICE inline TaskKind next_task(const Job& job, Wait wait, char* path,
                                                     std::size_t& bytes, std::uint32_t& index) {
  Queue& queue = *job.queue;
  TaskKind kind = TaskKind::none;
  bool napping = false;
  std::int64_t nap_ns = nap_ns_min;
  for (int yields = 0; !stopped(job); ++yields) {
    if (napping || (yields + 1) % yields_between_looks == 0) heed_host(job);
    kind = pop(job, path, bytes);
    if (kind == TaskKind::none) kind = take_argument(job, index);
    if (kind != TaskKind::none) break;
    if (protocol::device_load(&queue.outstanding) == 0) break;
    if (yields < yields_before_nap) {
      k2k::yield();
      continue;
    }
    if (!napping) {
      napping = protocol::device_add(&queue.nappers, std::uint32_t{1}) < nappers_max;
      if (!napping) protocol::device_add(&queue.nappers, ~std::uint32_t{0});
    }
    if (napping) {
      nap(wait, nap_ns);
      nap_ns = nap_ns * 2 < nap_ns_max ? nap_ns * 2 : nap_ns_max;
    } else if (yields > yields_before_leaving) {
      break;
    } else {
      k2k::yield();
    }
  }
  if (napping) protocol::device_add(&queue.nappers, ~std::uint32_t{0});
  return kind;
}

}  // namespace k2k::grep
