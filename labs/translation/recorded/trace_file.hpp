#pragma once
// Files of recorded memory accesses, as k2k-accesses (labs/accesses) writes them and the simulated
// machine replays them. Little-endian:
//
//   byte 0   "K2Kacc\n" and a zero byte
//   8, 12    version (1), bytes of a line (64)
//   16       name of the program, 24 bytes, zeros behind it
//   40       1: sorted, 0: unsorted
//   44       number of wavefronts
//   48, 56   numbers of instructions and of lines
//   64       bytes of the recorded memory
//   72       check of all other bytes
//   80       wavefronts
//
// A wavefront is the number of its instructions, and they. An instruction is a byte (1: the
// wavefront waits for it), the number of its lanes, the number of instructions without memory
// before it, the number of its lines, and the lines: the first as a difference to the first line of
// the instruction before, the others as distances, at least 1. Numbers are LEB128; a difference has
// its sign in bit 0.
//
// Reading judges every number: a file that is read is a trace that the machine can replay.
//
// Threading: pure functions, but for the files.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "labs/translation/simulated/wave_trace.hpp"

namespace k2k::labs::translation {

inline constexpr std::uint32_t trace_version = 1;
inline constexpr std::size_t trace_head_bytes = 80;
inline constexpr std::uint64_t trace_lines_end = std::uint64_t{1} << 52;  // Numbers are below it.
inline constexpr std::uint32_t trace_compute_most = 1u << 20;

struct RecordedTrace {
  std::string program;  // 1 to 23 letters.
  bool sorted = true;
  std::uint64_t bytes = 0;  // Of the recorded memory.
  WaveTrace accesses;
};

// Expects a trace of less than 2^32 lines, whose instructions have lines in order.
std::vector<std::byte> bytes_of(const RecordedTrace& trace);
// Errors: EINVAL (the byte and the reason; no name of a file).
Result<RecordedTrace> trace_of(std::span<const std::byte> bytes);

// The check of byte 72, for tests that write wrong files with a right check.
std::uint64_t check_of_trace(std::span<const std::byte> bytes);

// Errors: those of open(2) and write(2).
Status write_trace(const std::string& path, const RecordedTrace& trace);
// Errors: those of open(2) and read(2); EINVAL (with the path and the remedy).
Result<RecordedTrace> read_trace(const std::string& path);
// All files of the folder whose names end in .accesses, in the order of their names. Errors: as
// read_trace(); ENOENT (none).
Result<std::vector<RecordedTrace>> read_traces(const std::string& folder);

}  // namespace k2k::labs::translation
