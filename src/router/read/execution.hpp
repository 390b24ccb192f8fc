#pragma once
// Executes the plan of one request: direct transfers are submitted first and are in flight
// while this thread copies the cached pages.
//
//   bytes of the request   |head|      body, whole multiples of the alignment       |tail|
//   plan                   |....cache....|....direct....|..cache..|.....direct......|
//   pieces                 |   pread     |  engine      |  pread  |  engine   |pread|
//
// Memory whose alignment differs from that of the file's offsets cannot take part in a direct
// transfer. Then transfers go into an aligned bounce buffer, in pieces of bounce_piece_bytes, and
// each piece is copied from there while the next ones are in flight (SPIN, USENIX ATC'17, 4.3.1,
// bounces such ends). Linux makes the copy, so that a wrong address is EFAULT there, too.
//
// A direct piece that is refused or comes short is completed by the page cache, which then gives
// Linux' answer: the end of the file, or the error. The answer counts the bytes up to the first
// piece that stayed short.
//
// Threading: one owner.

#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/engine/engine.hpp"
#include "io/file/direct_file.hpp"
#include "router/plan/plan.hpp"

namespace k2k::router {

struct FileRequest {
  int descriptor = -1;  // The program's.
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;

  [[nodiscard]] std::uint64_t end() const { return offset + bytes; }
  [[nodiscard]] std::uint64_t first_page() const { return offset / page_bytes; }
  [[nodiscard]] std::uint32_t pages() const {
    return static_cast<std::uint32_t>((end() + page_bytes - 1) / page_bytes - first_page());
  }
};

// Up to the end of the file that fstat(2) tells, where pread would end too: a direct transfer of
// the last block would write behind it into memory that pread leaves alone.
FileRequest within_file(const FileRequest& request, const struct stat& facts);

struct Outcome {
  ssize_t answer = 0;  // Bytes, or a negative errno.
  std::uint64_t bytes_direct = 0;
  std::uint64_t bytes_cache = 0;
  std::uint32_t refused = 0;  // Direct pieces that came by the page cache instead.
  // Refused because of the file: EREMOTEIO, EINVAL, EOPNOTSUPP; or EIO of bytes that the page
  // cache then could read (device mapper and LVM answer so).
  bool is_no_direct_file = false;
};

// May a transfer that begins at `offset` use `memory`? The rest of a request then may as well.
bool is_aligned(const FileRequest& request, const io::Alignment& alignment);

// A part of a request, and its outcome.
struct Piece {
  std::uint64_t offset = 0;  // In the file.
  std::size_t bytes = 0;
  bool direct = false;
  std::int64_t result = 0;  // Bytes, or a negative errno.
};

// A plan's pieces in the file's order. Direct ones are whole multiples of `alignment` (offsets of
// direct transfers); the bytes around them come by the page cache.
void cut(const FileRequest& request, const Plan& plan, std::uint32_t alignment,
         std::vector<Piece>& pieces);

// Of a direct transfer: does its result say that no other of this file will do better?
inline bool is_refusal(std::int64_t result) {
  return result == -EREMOTEIO || result == -EINVAL || result == -EOPNOTSUPP;
}

// Completes a piece that came short or not at all by read_rest(FileRequest), which reads by the
// page cache: the bytes, or a negative errno if there is none.
template <class ReadRest>
void complete(Piece& piece, const FileRequest& request, Outcome& outcome, ReadRest read_rest) {
  const auto done = static_cast<std::size_t>(std::max<std::int64_t>(piece.result, 0));
  if (done == piece.bytes) return;
  const ssize_t count = read_rest(
      FileRequest{request.descriptor, request.memory + (piece.offset + done - request.offset),
                  piece.bytes - done, piece.offset + done});
  if (count > 0) outcome.bytes_cache += static_cast<std::uint64_t>(count);
  if (count >= 0) piece.result = static_cast<std::int64_t>(done) + count;
  if (count < 0 && done == 0) piece.result = count;
}

// The same of a direct piece, whose transfer has ended: its count and its verdict on the file are
// in the outcome then.
template <class ReadRest>
void complete_direct(Piece& piece, const FileRequest& request, Outcome& outcome,
                     ReadRest read_rest) {
  const std::int64_t first = piece.result;
  outcome.bytes_direct += static_cast<std::uint64_t>(std::max<std::int64_t>(first, 0));
  outcome.refused += first < 0 ? 1 : 0;
  complete(piece, request, outcome, read_rest);
  const bool is_whole = piece.result == static_cast<std::int64_t>(piece.bytes);
  outcome.is_no_direct_file |= is_refusal(first) || (first == -EIO && is_whole);
}

// The request's answer, of its pieces in the file's order, each first handed to finish(). Nothing
// behind a short piece is read again, as Linux would stop there.
template <class Finish>
ssize_t answer_of(std::span<Piece> pieces, Finish finish) {
  std::uint64_t done = 0;
  for (Piece& piece : pieces) {
    finish(piece);
    if (piece.result < 0 && done == 0) return static_cast<ssize_t>(piece.result);
    if (piece.result > 0) done += static_cast<std::uint64_t>(piece.result);
    if (piece.result < static_cast<std::int64_t>(piece.bytes)) break;
  }
  return static_cast<ssize_t>(done);
}

// A file's first transfer is made alone, so that its verdict on the file is known sooner.
void shortest_first(std::span<io::Transfer> transfers);

// Notes the outcome of the first of these, made before the others. False if it was refused: then
// all are pieces of the page cache.
bool note_first(std::span<const io::Transfer> transfers, std::int64_t result,
                std::span<Piece> pieces);

// May all of it be one direct transfer?
bool is_one_transfer(const FileRequest& request, const io::Alignment& alignment);

// Reads all of such a request directly, by pread(2); completed as Execution::run() does.
Outcome read_directly(const FileRequest& request, const io::DirectFile& direct);

// Copies to memory that may be wrong, as Linux' read would: the bytes, or a negative errno.
std::int64_t copy_checked(std::byte* to, const std::byte* from, std::size_t bytes);
// May this process do so? A seccomp filter may say no.
bool can_copy_checked();

class Execution {
 public:
  static constexpr std::size_t bounce_piece_bytes = std::size_t{512} << 10;

  // Memory for requests of up to `pages` pages.
  explicit Execution(std::uint32_t pages);
  // Expects an engine with nothing outstanding, and a plan of the request's pages. `bounce`: where
  // not is_aligned(), memory for all of these pages, which begins with one; else empty.
  // Before it ends, also by cancellation of the thread, nothing is outstanding again.
  // A transfer with nothing beside it is a pread(2): the ring takes longer, and its thread wakes.
  // `proven`: the file has direct transfers. Else the shortest one is made alone likewise, and the
  // others only if that is not refused: io_uring asks for ever where the answer is EOPNOTSUPP.
  Outcome run(const FileRequest& request, const Plan& plan, const io::DirectFile& direct,
              io::Engine& engine, bool proven, std::span<std::byte> bounce = {});

 private:
  // Makes the shortest direct transfer, then the first of transfers_; false if it was refused, and
  // all pieces come by the page cache.
  bool prove(const FileRequest& request);
  // A transfer has ended: its piece's result, once it is where it belongs.
  void arrived(const FileRequest& request, std::size_t piece, std::int64_t result);
  [[nodiscard]] std::byte* transfer_memory(const FileRequest& request, const Piece& piece) const;

  std::span<std::byte> bounce_;  // Of the request in progress.
  std::vector<Piece> pieces_;    // In the file's order; `direct` ones are in transfers_, too.
  std::vector<io::Transfer> transfers_;
};

// pread(2) until all is read, the file ends, or it fails. The bytes, or a negative errno if there
// is none.
ssize_t read_all(const FileRequest& request);

}  // namespace k2k::router
