#pragma once
// The data of a launch of k2k grep: plain data that host and kernel share.
//
//   Queue      device memory, used by the kernel only: waiting names, number of busy workers
//   Buffers    memory of one worker, where its system calls read and write
//   Counters   host-visible words, each written by one worker and read by the host while it runs
//
// On the cpu backend all memory of a worker is host-visible, and its calls work there in place. On
// a GPU each load of host-visible memory crosses the bus. There the kernel loads only the chunks
// of files, once, by wide loads; all else lies in device memory, and calls copy what they need.
//
// A worker is a work-item, or with --granularity work-group a whole group.

#include <cstddef>
#include <cstdint>

#include "apps/common/wide_copy.hpp"
#include "apps/grep/matcher.hpp"

namespace k2k::grep {

inline constexpr std::size_t path_bytes_max = 32 * 1024;  // The longest name, with its terminator.
inline constexpr std::size_t entries_bytes = 32 * 1024;   // Per getdents64 call.
inline constexpr std::size_t line_bytes = path_bytes_max + 256;  // A name and an error text.
inline constexpr std::uint32_t error_texts_max = 134;            // Linux' largest errno + 1.

// The position in a directory while its subdirectory is walked: no descriptor is kept open.
struct Frame {
  std::uint64_t path_bytes = 0;
  std::int64_t offset = 0;  // d_off of the last entry taken.
};
// Each level of a path takes at least two bytes, so the frames suffice for any walk.
inline constexpr std::size_t frames_max = path_bytes_max / 2;

struct alignas(64) Counters {
  std::uint64_t files = 0;
  std::uint64_t directories = 0;
  std::uint64_t bytes = 0;
  std::uint64_t matches = 0;
  std::uint64_t errors = 0;
  std::uint64_t write_error = 0;  // The errno that ended the output; 0: none.
};

// The buffers of one worker.
struct Buffers {
  Counters* counters = nullptr;
  Frame* frames = nullptr;  // frames_max.
  // Where the kernel searches a chunk: Job::chunk_bytes, aligned; Job::longest_kept bytes precede
  // it, for the end of the chunk before.
  unsigned char* text = nullptr;
  // Where read and pread put a chunk: host-visible, aligned; the same as `text` if the host can
  // access that.
  unsigned char* incoming = nullptr;
  unsigned char* entries = nullptr;  // entries_bytes.
  char* path = nullptr;              // path_bytes_max.
  char* line = nullptr;              // line_bytes.
};

// A task on the stack is its name, padded to a multiple of wide_bytes, followed by this.
struct alignas(apps::wide_bytes) TaskEnd {
  std::uint32_t bytes = 0;  // Length of the name.
  std::uint32_t kind = 0;
};

struct Queue {
  alignas(64) std::uint32_t lock = 0;
  std::uint32_t used = 0;                     // Bytes of `names`; changed under the lock.
  alignas(64) std::uint64_t outstanding = 0;  // Unfinished tasks: waiting or in progress.
  alignas(64) std::uint32_t arguments_taken = 0;
  std::uint32_t stop = 0;     // Set by the kernel: first match with -q, or failed output.
  std::uint32_t nappers = 0;  // Idle workers that sleep in a system call.
  // The device (st_dev) of the latest check: number * 2 + 1 if its short reads do not mean the end,
  // number * 2 otherwise. 0: none.
  std::uint64_t device_seen = 0;
};

struct Job {
  Words words;
  Queue* queue = nullptr;
  unsigned char* names = nullptr;  // The queue's names; device memory.
  std::uint32_t names_bytes = 0;
  Buffers* buffers = nullptr;              // One per worker.
  const char* const* arguments = nullptr;  // PATHs as given.
  std::uint32_t argument_count = 0;
  const char* const* error_texts = nullptr;  // error_texts_max of them.
  const std::uint32_t* host_stop = nullptr;  // The host's request to end; only the host writes it.
  std::uint32_t chunk_bytes = 0;             // Bytes per read.
  std::uint32_t longest_kept = 0;            // Bytes carried from chunk to chunk: longest word - 1.
  std::uint32_t part_bytes_min = 0;          // Of a text that a group shares, for each item.
  bool quiet = false;                        // -q: print nothing, end at the first match.
  bool no_messages = false;                  // -s
  bool bare_names = false;                   // PATH was left out: names without the leading "./".
};

}  // namespace k2k::grep
