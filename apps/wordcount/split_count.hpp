#pragma once
// The same work in pieces, for the relaunch baseline (apps/common/split_calls.hpp): each piece ends
// where count_files() makes a call.
//
//   take ─▶ leaves open ─▶ opened ─▶ leaves pread ─▶ read ─▶ leaves pread ... close ─▶ closed =
//   take
//
// Threading: device code; every item of a group calls count_piece() once a launch.

#include "apps/wordcount/group_count.hpp"

namespace k2k::wordcount {

// x86-64, as calls/rows.hpp.
inline constexpr std::int32_t number_open = 2;
inline constexpr std::int32_t number_pread = 17;
inline constexpr std::int32_t number_close = 3;

K2K_DEVICE inline void leave_pread(const Job& job, const GroupPlace& place, State& state,
                                   apps::SplitCall& call) {
  call.leave(number_pread, state.fd, reinterpret_cast<std::uint64_t>(place.incoming),
             job.chunk_bytes, state.offset);
  state.step = Step::read;
}

K2K_DEVICE inline void leave_close(State& state, apps::SplitCall& call) {
  call.leave(number_close, state.fd);
  state.step = Step::closed;
}

// Takes a file and leaves its open, or ends.
K2K_DEVICE inline void leave_open(const Job& job, State& state, apps::SplitCall& call) {
  state.file = take_file(job);
  state.step = state.file < job.files ? Step::opened : Step::end;
  if (state.step == Step::end) return call.leave_none();
  call.leave(number_open, reinterpret_cast<std::uint64_t>(job.paths[state.file]), open_flags);
}

// Item 0's, once the text is counted.
K2K_DEVICE inline void advance(const Job& job, const GroupPlace& place, State& state,
                               apps::SplitCall& call) {
  const std::int64_t result = call.result;
  switch (state.step) {
    case Step::take:
    case Step::closed:
      return leave_open(job, state, call);
    case Step::opened:
      if (result < 0) {
        job.errors[state.file] = static_cast<std::int32_t>(-result);
        return leave_open(job, state, call);
      }
      state.fd = static_cast<std::int32_t>(result);
      state.offset = 0;
      state.kept = 0;
      return leave_pread(job, place, state, call);
    case Step::read: {
      if (result < 0) job.errors[state.file] = static_cast<std::int32_t>(-result);
      if (result > 0) *place.bytes += static_cast<std::uint64_t>(result);
      if (result < static_cast<std::int64_t>(job.chunk_bytes)) return leave_close(state, call);
      const auto got = static_cast<std::size_t>(result);
      state.kept = static_cast<std::uint32_t>(carried(state.kept + got, job.longest_kept));
      carry(place, got, state.kept);
      state.offset += result;
      return leave_pread(job, place, state, call);
    }
    case Step::end:
      return call.leave_none();
  }
}

K2K_DEVICE inline void count_piece(const Job& job) {
  const GroupPlace place(job);
  State& state = job.states[k2k::group_rank()];
  apps::SplitCall& call = job.calls[k2k::group_rank()];
  if (state.step == Step::read) {
    if (call.result > 0) {
      count_text(job, place, static_cast<std::size_t>(call.result), state.kept);
    }
    k2k::barrier();  // All items have read state and text.
  } else if (k2k::item_rank() != 0) {
    return;
  }
  if (k2k::item_rank() == 0) advance(job, place, state, call);
}

}  // namespace k2k::wordcount
