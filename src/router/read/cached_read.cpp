#include "router/read/cached_read.hpp"

#include <sys/stat.h>
#include <sys/uio.h>

#include <cerrno>

#include "io/engine/transfer.hpp"
#include "io/file/page_range.hpp"
#include "io/file/raw.hpp"

namespace k2k::router {

std::int64_t CachedReads::try_read(int descriptor, void* memory, std::size_t bytes,
                                   std::int64_t offset) {
  // To preadv2 a negative offset may be a place: the file's own. Of more bytes than one call moves,
  // Linux looks at all of the memory.
  if (offset < 0 || bytes > io::transfer_bytes_max) return -EOPNOTSUPP;
  const iovec part{memory, bytes};
  const std::int64_t count = io::raw(SYS_preadv2, descriptor, &part, 1, offset, 0, int{RWF_NOWAIT});
  if (count == static_cast<std::int64_t>(bytes)) {
    if (bytes <= short_bytes && has_word(descriptor)) note_answered(descriptor);
    return count;
  }
  if (count == -EAGAIN) return missed(descriptor);
  if (count < 0) return count == -ENOSYS ? -EOPNOTSUPP : count;
  // Where the page cache ends, a page does; where the file does, mostly none.
  const std::uint64_t end = static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(count);
  if (end % io::page_bytes != 0) return count;
  struct stat facts{};
  const bool at_end = ::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) &&
                      end >= static_cast<std::uint64_t>(facts.st_size);
  return at_end ? count : missed(descriptor);
}

std::int64_t CachedReads::missed(int descriptor) {
  note_closed(descriptor);  // Its streak begins anew.
  return -EAGAIN;
}

void CachedReads::note_answered(int descriptor) {
  std::atomic<std::uint32_t>& word = words_[descriptor];
  const std::uint32_t now = word.load(std::memory_order_relaxed);
  const std::uint32_t first = begun();
  const bool in_epoch = (now & ~((1u << count_bits) - 1)) == first;
  if (!in_epoch) {
    word.store(first + 1, std::memory_order_relaxed);
  } else if (now != full()) {
    word.store(now + 1, std::memory_order_relaxed);
  }
}

}  // namespace k2k::router
