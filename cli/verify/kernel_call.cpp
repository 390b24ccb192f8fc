// Compiled for every device of the build: see K2K_ON in backend/compiled_for.hpp.

#include "cli/verify/kernel_call.hpp"

#include <cstring>
#include <utility>

#include "calls/rows.hpp"
#include "device/k2k.hpp"

namespace k2k::cli::verify {

namespace {

// The first rows of the table are those of basic calls. A GPU's assembler takes minutes for the
// wrappers of all rows.
#if (defined(__CUDACC__) || defined(__HIP__)) && !defined(K2K_ALL_WRAPPERS)
constexpr int rows_end = calls::basic_count;
#else
constexpr int rows_end = calls::row_count;
#endif

// Values, because a kernel of a GPU cannot read the table.
template <int row>
constexpr std::uint16_t number_of = calls::rows[row].number;
template <int row>
constexpr std::size_t count_of = calls::parameter_count(calls::rows[row]);

template <int row, std::size_t... index>
K2K_DEVICE std::int64_t call_of_row(const Words& words, std::index_sequence<index...> /*unused*/) {
  return device::call<number_of<row>>(k2k::work_item, k2k::strong, words.word[index]...).value();
}

// Of the rows from `first` on, below `end`. No table of functions: the compiler of a GPU needs to
// know which stack a kernel takes.
template <int first, int end>
K2K_DEVICE std::int64_t call_among(int wanted, const Words& words) {
  if constexpr (end - first == 1) {
    return call_of_row<first>(words, std::make_index_sequence<count_of<first>>());
  } else {
    constexpr int middle = first + (end - first) / 2;
    return wanted < middle ? call_among<first, middle>(wanted, words)
                           : call_among<middle, end>(wanted, words);
  }
}

K2K_DEVICE std::int64_t make(const CallData& call, const Words& words) {
  if (call.row >= 0) return call_among<0, rows_end>(call.row, words);
  return k2k::syscall(k2k::work_item, k2k::strong, long{call.number}, words.word[0], words.word[1],
                      words.word[2], words.word[3], words.word[4], words.word[5])
      .value();
}

struct LocalBytes {
  alignas(16) char byte[image_bytes_max];
};

K2K_DEVICE void make_at(Place place, CallData& call, const KernelMemory& memory) {
  K2K_LOCAL(LocalBytes, local);
  alignas(16) char stack[image_bytes_max];
  char* const bytes = place == Place::stack    ? stack
                      : place == Place::local  ? local.byte
                      : place == Place::device ? memory.device
                                               : memory.shared;
  std::memcpy(bytes, call.bytes, call.byte_count);
  const Words words = link(call, bytes);
  call.answer = make(call, words);
  unlink(call, bytes);
  std::memcpy(call.bytes, bytes, call.byte_count);
}

}  // namespace

namespace K2K_ON {

int wrapped_rows() { return rows_end; }

Result<LaunchReport> launch_call(Runtime& runtime, CallData* call, Place place,
                                 const KernelMemory& memory) {
  const KernelMemory copied = memory;  // A device reads it from its closure.
  return runtime.launch({1, 1}, [=] K2K_DEVICE { make_at(place, *call, copied); }, "verify");
}

}  // namespace K2K_ON

}  // namespace k2k::cli::verify
