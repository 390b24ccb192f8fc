// The body of scan.cpp for one instruction set. The including namespace has `absent64`, and
// K2K_ROUTER_TARGET is the attribute of its functions: those of different targets are not inlined
// into each other, which is why this is not a template.
//
// A mask has a bit for each of 64 pages, set where the page is NOT cached.

// Pages from `base` on, of which only `count` (< 64) are of the residency; the rest is "not
// cached".
K2K_ROUTER_TARGET inline std::uint64_t absent_rest(const std::uint8_t* residency, std::size_t base,
                                                   std::size_t count) {
  if (base + count >= 64) {
    const std::size_t known = 64 - count;
    return absent64(residency + base - known) >> known | ~std::uint64_t{0} << count;
  }
  std::uint8_t room[64] = {};
  std::memcpy(room, residency + base, count);
  return absent64(room);
}

// The first page from `from` on that is not cached, or `pages`.
K2K_ROUTER_TARGET inline std::size_t next_absent(const std::uint8_t* residency, std::size_t pages,
                                                 std::size_t from) {
  for (; from + 64 <= pages; from += 64) {
    const std::uint64_t mask = absent64(residency + from);
    if (mask != 0) return from + lowest_bit(mask);
  }
  return from == pages ? pages : from + lowest_bit(absent_rest(residency, from, pages - from));
}

// Where the cached pages before `end` begin, but not before `floor`. Expects that the pages from
// `end` to 64 are cached, if there are any.
K2K_ROUTER_TARGET inline std::size_t cached_before(const std::uint8_t* residency, std::size_t floor,
                                                   std::size_t end) {
  while (end > floor) {
    // At the front the window reaches over pages that are known to be cached.
    const std::size_t base = end < 64 ? 0 : end - 64;
    const std::uint64_t mask = absent64(residency + base);
    if (mask != 0) return std::max(floor, base + highest_bit(mask) + 1);
    end = base;
  }
  return floor;
}

K2K_ROUTER_TARGET std::uint32_t all_runs(const std::uint8_t* residency, std::uint32_t pages,
                                         Range* runs) {
  std::uint32_t edges = 0;   // Even: a run begins here. Odd: it ends.
  std::uint64_t before = 1;  // The page before the first one is not cached.
  for (std::uint32_t base = 0; base < pages; base += 64) {
    const std::uint64_t mask = pages - base >= 64 ? absent64(residency + base)
                                                  : absent_rest(residency, base, pages - base);
    for (std::uint64_t turns = mask ^ (mask << 1 | before); turns != 0; turns &= turns - 1) {
      Range& run = runs[edges / 2];
      (edges % 2 == 0 ? run.first : run.last) = base + lowest_bit(turns);
      ++edges;
    }
    before = mask >> 63;
  }
  if (edges % 2 == 1) runs[edges / 2].last = pages;
  return (edges + 1) / 2;
}

// Reads every page: for an `ignored` that is shorter than one window.
K2K_ROUTER_TARGET Inner long_runs_of_all(const std::uint8_t* residency, std::uint32_t pages,
                                         std::uint32_t ignored, Range* runs) {
  const std::uint32_t found = all_runs(residency, pages, runs);
  Inner inner = {.tail = pages};
  for (std::uint32_t at = 0; at < found; ++at) {
    const Range run = runs[at];
    if (run.first == 0) {
      inner.head = run.last;
    } else if (run.last == pages) {
      inner.tail = run.first;
    } else if (run.pages() > ignored) {
      runs[inner.count++] = run;
    }
  }
  return inner;
}

K2K_ROUTER_TARGET Inner long_runs(const std::uint8_t* residency, std::uint32_t pages,
                                  std::uint32_t ignored, Range* runs) {
  if (pages < 64 || ignored < 64) return long_runs_of_all(residency, pages, ignored, runs);
  const std::size_t head = next_absent(residency, pages, 0);
  if (head == pages) return {.head = pages, .tail = pages};
  const std::size_t tail = cached_before(residency, head + 1, pages);
  // Of this grid's windows, a run of ignored + 1 pages fills one, wherever it begins.
  const std::size_t stride = std::size_t{ignored} - 62;
  std::uint32_t count = 0;
  std::size_t floor = head + 1;  // No run begins before.
  for (std::size_t at = floor; at + 64 <= tail;) {
    if (absent64(residency + at) != 0) {
      at += stride;
      continue;
    }
    const std::size_t begin = cached_before(residency, floor, at);
    const std::size_t end = next_absent(residency, pages, at + 64);
    runs[count] = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    if (end - begin > ignored) ++count;
    at = floor = end + 1;
  }
  return {static_cast<std::uint32_t>(head), static_cast<std::uint32_t>(tail), count};
}
