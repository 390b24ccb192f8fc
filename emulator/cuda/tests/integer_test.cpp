// Integer instructions against C, over edges and random values. The expected values are computed
// in 128 bits or bit by bit, unlike in the emulator where that is possible.

#include <bit>

#include "emulator/cuda/tests/instruction_fixture.hpp"

namespace k2k::emulator {

namespace {

using U = std::uint64_t;
using S = std::int64_t;
__extension__ using U128 = unsigned __int128;
__extension__ using S128 = __int128;

U u32(U x) { return static_cast<std::uint32_t>(x); }
S s32(U x) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(x)); }
U u16(U x) { return static_cast<std::uint16_t>(x); }
S s16(U x) { return static_cast<std::int16_t>(static_cast<std::uint16_t>(x)); }
S s64(U x) { return static_cast<S>(x); }
U clamp32(S x) {
  return static_cast<U>(x < -2147483648ll ? -2147483648ll : x > 2147483647ll ? 2147483647ll : x);
}

U reversed(U x, int bits) {
  U all = 0;
  for (int at = 0; at < bits; ++at) {
    if ((x >> at & 1) != 0) all |= U{1} << (bits - 1 - at);
  }
  return all;
}
// PTX's own description of bfe, for 32 bits.
U field(U a, U b, U c, bool is_signed, int width) {
  const int from = static_cast<int>(b & 0xff);
  const int count = static_cast<int>(c & 0xff);
  const int last = width - 1;
  const int sign_at = from + count - 1 < last ? from + count - 1 : last;
  const bool sign = is_signed && count != 0 && (a >> sign_at & 1) != 0;
  U all = 0;
  for (int at = 0; at < width; ++at) {
    const bool bit = at < count && from + at <= last ? (a >> (from + at) & 1) != 0 : sign;
    if (bit) all |= U{1} << at;
  }
  return all;
}

const std::vector<Operation> integer_operations = {
    {"add.u16 %d, %a, %b;", "b16", "b16", [](U a, U b, U) { return a + b; }, {}},
    {"add.s32 %d, %a, %b;", "b32", "b32", [](U a, U b, U) { return a + b; }, {}},
    {"add.sat.s32 %d, %a, %b;",
     "b32",
     "b32",
     [](U a, U b, U) { return clamp32(s32(a) + s32(b)); },
     {}},
    {"add.u64 %d, %a, %b;", "b64", "b64", [](U a, U b, U) { return a + b; }, {}},
    {"sub.s16 %d, %a, %b;", "b16", "b16", [](U a, U b, U) { return a - b; }, {}},
    {"sub.u32 %d, %a, %b;", "b32", "b32", [](U a, U b, U) { return a - b; }, {}},
    {"sub.sat.s32 %d, %a, %b;",
     "b32",
     "b32",
     [](U a, U b, U) { return clamp32(s32(a) - s32(b)); },
     {}},
    {"sub.s64 %d, %a, %b;", "b64", "b64", [](U a, U b, U) { return a - b; }, {}},
    {"mul.lo.s16 %d, %a, %b;", "b16", "b16", [](U a, U b, U) { return a * b; }, {}},
    {"mul.hi.u16 %d, %a, %b;", "b16", "b16", [](U a, U b, U) { return u16(a) * u16(b) >> 16; }, {}},
    {"mul.hi.s16 %d, %a, %b;",
     "b16",
     "b16",
     [](U a, U b, U) { return static_cast<U>(s16(a) * s16(b) >> 16); },
     {}},
    {"mul.wide.u16 %d, %a, %b;", "b16", "b32", [](U a, U b, U) { return u16(a) * u16(b); }, {}},
    {"mul.wide.s16 %d, %a, %b;",
     "b16",
     "b32",
     [](U a, U b, U) { return static_cast<U>(s16(a) * s16(b)); },
     {}},
    {"mul.lo.u32 %d, %a, %b;", "b32", "b32", [](U a, U b, U) { return a * b; }, {}},
    {"mul.hi.u32 %d, %a, %b;", "b32", "b32", [](U a, U b, U) { return u32(a) * u32(b) >> 32; }, {}},
    {"mul.hi.s32 %d, %a, %b;",
     "b32",
     "b32",
     [](U a, U b, U) { return static_cast<U>(s32(a) * s32(b) >> 32); },
     {}},
    {"mul.wide.u32 %d, %a, %b;", "b32", "b64", [](U a, U b, U) { return u32(a) * u32(b); }, {}},
    {"mul.wide.s32 %d, %a, %b;",
     "b32",
     "b64",
     [](U a, U b, U) { return static_cast<U>(s32(a) * s32(b)); },
     {}},
    {"mul.lo.u64 %d, %a, %b;", "b64", "b64", [](U a, U b, U) { return a * b; }, {}},
    {"mul.hi.u64 %d, %a, %b;",
     "b64",
     "b64",
     [](U a, U b, U) { return static_cast<U>(U128{a} * b >> 64); },
     {}},
    {"mul.hi.s64 %d, %a, %b;",
     "b64",
     "b64",
     [](U a, U b, U) { return static_cast<U>(S128{s64(a)} * s64(b) >> 64); },
     {}},
    {"mad.lo.s32 %d, %a, %b, %c;", "b32", "b32", [](U a, U b, U c) { return a * b + c; }, {}},
    {"mad.hi.s32 %d, %a, %b, %c;",
     "b32",
     "b32",
     [](U a, U b, U c) { return static_cast<U>(s32(a) * s32(b) >> 32) + c; },
     {}},
    {"mad.hi.sat.s32 %d, %a, %b, %c;",
     "b32",
     "b32",
     [](U a, U b, U c) { return clamp32((s32(a) * s32(b) >> 32) + s32(c)); },
     {}},
    {"mad.lo.u64 %d, %a, %b, %c;", "b64", "b64", [](U a, U b, U c) { return a * b + c; }, {}},
    {"{ .reg .b64 %w; cvt.s64.s32 %w, %c; mad.wide.s32 %d, %a, %b, %w; }",
     "b32",
     "b64",
     [](U a, U b, U c) { return static_cast<U>(s32(a) * s32(b) + s32(c)); },
     {}},
    {"mul24.lo.u32 %d, %a, %b;",
     "b32",
     "b32",
     [](U a, U b, U) { return (a & 0xffffff) * (b & 0xffffff); },
     {}},
    {"mul24.hi.s32 %d, %a, %b;",
     "b32",
     "b32",
     [](U a, U b, U) { return static_cast<U>((s32(a << 8) >> 8) * (s32(b << 8) >> 8) >> 16); },
     {}},
    {"sad.u32 %d, %a, %b, %c;",
     "b32",
     "b32",
     [](U a, U b, U c) { return c + (u32(a) < u32(b) ? b - a : a - b); },
     {}},
    {"sad.s32 %d, %a, %b, %c;",
     "b32",
     "b32",
     [](U a, U b, U c) { return c + (s32(a) < s32(b) ? b - a : a - b); },
     {}},
    {"setp.eq.u32 %p3, %b, 0; @%p3 mov.u32 %b, 3; div.u32 %d, %a, %b;",
     "b32",
     "b32",
     [](U a, U b, U) { return a / (b == 0 ? 3 : b); },
     {}},
    {"setp.eq.u32 %p3, %b, 0; @%p3 mov.u32 %b, 3; div.s32 %d, %a, %b;",
     "b32",
     "b32",
     [](U a, U b, U) { return static_cast<U>(s32(a) / (b == 0 ? 3 : s32(b))); },
     {}},
    {"setp.eq.u32 %p3, %b, 0; @%p3 mov.u32 %b, 3; rem.s32 %d, %a, %b;",
     "b32",
     "b32",
     [](U a, U b, U) { return static_cast<U>(s32(a) % (b == 0 ? 3 : s32(b))); },
     {}},
    {"setp.eq.u64 %p3, %b, 0; @%p3 mov.u64 %b, 3; rem.u64 %d, %a, %b;",
     "b64",
     "b64",
     [](U a, U b, U) { return a % (b == 0 ? 3 : b); },
     {}},
    {"setp.eq.u64 %p3, %b, 0; @%p3 mov.u64 %b, 3; div.s64 %d, %a, %b;",
     "b64",
     "b64",
     [](U a, U b, U) { return static_cast<U>(S128{s64(a)} / (b == 0 ? 3 : S128{s64(b)})); },
     {}},
    {"abs.s32 %d, %a;",
     "b32",
     "b32",
     [](U a, U, U) { return static_cast<U>(s32(a) < 0 ? -s32(a) : s32(a)); },
     {}},
    {"abs.s64 %d, %a;", "b64", "b64", [](U a, U, U) { return s64(a) < 0 ? 0 - a : a; }, {}},
    {"neg.s16 %d, %a;", "b16", "b16", [](U a, U, U) { return 0 - a; }, {}},
    {"neg.s32 %d, %a;", "b32", "b32", [](U a, U, U) { return 0 - a; }, {}},
    {"min.s16 %d, %a, %b;", "b16", "b16", [](U a, U b, U) { return s16(a) < s16(b) ? a : b; }, {}},
    {"min.s32 %d, %a, %b;", "b32", "b32", [](U a, U b, U) { return s32(a) < s32(b) ? a : b; }, {}},
    {"max.u32 %d, %a, %b;", "b32", "b32", [](U a, U b, U) { return u32(a) > u32(b) ? a : b; }, {}},
    {"max.s64 %d, %a, %b;", "b64", "b64", [](U a, U b, U) { return s64(a) > s64(b) ? a : b; }, {}},
    // The carry goes from one instruction to the next.
    {"add.cc.u32 %t, %a, %b; addc.u32 %d, %c, 0;",
     "b32",
     "b32",
     [](U a, U b, U c) { return c + ((u32(a) + u32(b)) >> 32); },
     {}},
    {"sub.cc.u32 %t, %a, %b; subc.u32 %d, %c, 0;",
     "b32",
     "b32",
     [](U a, U b, U c) { return c - (u32(a) < u32(b) ? 1 : 0); },
     {}},
    {"add.cc.u64 %x7, %a, %b; addc.u64 %d, %c, 0;",
     "b64",
     "b64",
     [](U a, U b, U c) { return c + static_cast<U>((U128{a} + b) >> 64); },
     {}},
    {"mad.lo.cc.u32 %t, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0;",
     "b32",
     "b32",
     [](U a, U b, U c) { return (u32(a) * u32(b) + u32(c)) >> 32; },
     {}},
    {"dp4a.u32.u32 %d, %a, %b, %c;",
     "b32",
     "b32",
     [](U a, U b, U c) {
       for (int at = 0; at < 32; at += 8) c += (a >> at & 0xff) * (b >> at & 0xff);
       return c;
     },
     {}},
    {"dp4a.s32.u32 %d, %a, %b, %c;",
     "b32",
     "b32",
     [](U a, U b, U c) {
       for (int at = 0; at < 32; at += 8) {
         c += static_cast<U>(static_cast<std::int8_t>(a >> at) * static_cast<S>(b >> at & 0xff));
       }
       return c;
     },
     {}},
    {"and.b32 %d, %a, %b;", "b32", "b32", [](U a, U b, U) { return a & b; }, {}},
    {"or.b16 %d, %a, %b;", "b16", "b16", [](U a, U b, U) { return a | b; }, {}},
    {"xor.b64 %d, %a, %b;", "b64", "b64", [](U a, U b, U) { return a ^ b; }, {}},
    {"not.b16 %d, %a;", "b16", "b16", [](U a, U, U) { return ~a; }, {}},
    {"not.b64 %d, %a;", "b64", "b64", [](U a, U, U) { return ~a; }, {}},
    {"cnot.b32 %d, %a;", "b32", "b32", [](U a, U, U) { return u32(a) == 0 ? U{1} : U{0}; }, {}},
    {"lop3.b32 %d, %a, %b, %c, 0xca;",
     "b32",
     "b32",
     [](U a, U b, U c) { return (a & b) | (~a & c); },
     {}},
    {"lop3.b32 %d, %a, %b, %c, 0x96;", "b32", "b32", [](U a, U b, U c) { return a ^ b ^ c; }, {}},
    // Shifts by more than the width.
    {"cvt.u32.u16 %t, %b; shl.b16 %d, %a, %t;",
     "b16",
     "b16",
     [](U a, U b, U) { return b > 15 ? 0 : a << b; },
     {}},
    {"shl.b32 %d, %a, %b;", "b32", "b32", [](U a, U b, U) { return b > 31 ? 0 : a << b; }, {}},
    {"cvt.u32.u64 %t, %b; shl.b64 %d, %a, %t;",
     "b64",
     "b64",
     [](U a, U b, U) { return u32(b) > 63 ? 0 : a << u32(b); },
     {}},
    {"shr.u32 %d, %a, %b;", "b32", "b32", [](U a, U b, U) { return b > 31 ? 0 : u32(a) >> b; }, {}},
    {"shr.s32 %d, %a, %b;",
     "b32",
     "b32",
     [](U a, U b, U) { return static_cast<U>(s32(a) >> (b > 31 ? 31 : b)); },
     {}},
    {"cvt.u32.u16 %t, %b; shr.s16 %d, %a, %t;",
     "b16",
     "b16",
     [](U a, U b, U) { return static_cast<U>(s16(a) >> (b > 15 ? 15 : b)); },
     {}},
    {"cvt.u32.u64 %t, %b; shr.s64 %d, %a, %t;",
     "b64",
     "b64",
     [](U a, U b, U) { return static_cast<U>(s64(a) >> (u32(b) > 63 ? 63 : u32(b))); },
     {}},
    {"cvt.u32.u64 %t, %b; shr.b64 %d, %a, %t;",
     "b64",
     "b64",
     [](U a, U b, U) { return u32(b) > 63 ? 0 : a >> u32(b); },
     {}},
    {"shf.l.wrap.b32 %d, %a, %b, %c;",
     "b32",
     "b32",
     [](U a, U b, U c) { return (b << 32 | a) << (c & 31) >> 32; },
     {}},
    {"shf.r.clamp.b32 %d, %a, %b, %c;",
     "b32",
     "b32",
     [](U a, U b, U c) { return (b << 32 | a) >> (c > 32 ? 32 : c); },
     {}},
    {"prmt.b32 %d, %a, %b, 0x3f51;",
     "b32",
     "b32",
     [](U a, U b, U) {
       const U all = b << 32 | a;
       const U sign = (all >> 56 & 0x80) != 0 ? 0xff : 0;
       return (all >> 8 & 0xff) | (all >> 40 & 0xff) << 8 | sign << 16 | (all >> 24 & 0xff) << 24;
     },
     {}},
    {"prmt.b32.f4e %d, %a, %b, 3;",
     "b32",
     "b32",
     [](U a, U b, U) { return (b << 32 | a) >> 24; },
     {}},
    {"popc.b32 %d, %a;",
     "b32",
     "b32",
     [](U a, U, U) { return static_cast<U>(__builtin_popcountll(a)); },
     {}},
    {"popc.b64 %d, %a;",
     "b64",
     "b32",
     [](U a, U, U) { return static_cast<U>(__builtin_popcountll(a)); },
     {}},
    {"clz.b32 %d, %a;",
     "b32",
     "b32",
     [](U a, U, U) { return a == 0 ? U{32} : static_cast<U>(__builtin_clzll(a)) - 32; },
     {}},
    {"clz.b64 %d, %a;",
     "b64",
     "b32",
     [](U a, U, U) { return a == 0 ? U{64} : static_cast<U>(__builtin_clzll(a)); },
     {}},
    {"bfind.u32 %d, %a;",
     "b32",
     "b32",
     [](U a, U, U) { return a == 0 ? ~U{0} : 63 - static_cast<U>(__builtin_clzll(a)); },
     {}},
    {"bfind.s32 %d, %a;",
     "b32",
     "b32",
     [](U a, U, U) {
       const U x = u32(s32(a) < 0 ? ~a : a);
       return x == 0 ? ~U{0} : 63 - static_cast<U>(__builtin_clzll(x));
     },
     {}},
    {"bfind.shiftamt.u64 %d, %a;",
     "b64",
     "b32",
     [](U a, U, U) { return a == 0 ? ~U{0} : static_cast<U>(__builtin_clzll(a)); },
     {}},
    {"brev.b32 %d, %a;", "b32", "b32", [](U a, U, U) { return reversed(a, 32); }, {}},
    {"brev.b64 %d, %a;", "b64", "b64", [](U a, U, U) { return reversed(a, 64); }, {}},
    {"bfe.u32 %d, %a, %b, %c;",
     "b32",
     "b32",
     [](U a, U b, U c) { return field(a, b, c, false, 32); },
     {4, 8, 20}},
    {"bfe.s32 %d, %a, %b, %c;",
     "b32",
     "b32",
     [](U a, U b, U c) { return field(a, b, c, true, 32); },
     {4, 8, 20}},
    {"{ .reg .b32 %s; cvt.u32.u64 %t, %b; cvt.u32.u64 %s, %c; bfe.s64 %d, %a, %t, %s; }",
     "b64",
     "b64",
     [](U a, U b, U c) { return field(a, b, c, true, 64); },
     {4, 8, 20}},
    {"bfi.b32 %d, %a, 0x12345678, %b, %c;",
     "b32",
     "b32",
     [](U a, U b, U c) {
       U all = 0x12345678;
       for (U at = 0; at < (c & 0xff) && at + (b & 0xff) < 32; ++at) {
         const U bit = U{1} << (at + (b & 0xff));
         all = (a >> at & 1) != 0 ? all | bit : all & ~bit;
       }
       return all;
     },
     {4, 8, 20}},
    {"bmsk.clamp.b32 %d, %a, %b;",
     "b32",
     "b32",
     [](U a, U b, U) { return ((U{1} << (b > 32 ? 32 : b)) - 1) << (a > 32 ? 32 : a); },
     {}},
    {"setp.lt.s32 %p2, %a, %b;",
     "b32",
     "pred",
     [](U a, U b, U) { return s32(a) < s32(b) ? U{1} : U{0}; },
     {}},
    {"setp.ls.u32 %p2, %a, %b;",
     "b32",
     "pred",
     [](U a, U b, U) { return u32(a) <= u32(b) ? U{1} : U{0}; },
     {}},
    {"setp.ge.u64 %p2, %a, %b;",
     "b64",
     "pred",
     [](U a, U b, U) { return a >= b ? U{1} : U{0}; },
     {}},
    {"setp.gt.s16 %p2, %a, %b;",
     "b16",
     "pred",
     [](U a, U b, U) { return s16(a) > s16(b) ? U{1} : U{0}; },
     {}},
    {"setp.ne.u32 %p3, %c, 0; setp.lt.and.s32 %p1|%p2, %a, %b, %p3;",
     "b32",
     "pred",
     [](U a, U b, U c) { return !(s32(a) < s32(b)) && c != 0 ? U{1} : U{0}; },
     {}},
    {"setp.ne.u32 %p3, %c, 0; setp.eq.xor.u32 %p2, %a, %b, !%p3;",
     "b32",
     "pred",
     [](U a, U b, U c) { return (a == b) != (c == 0) ? U{1} : U{0}; },
     {}},
    {"set.gt.u32.s32 %d, %a, %b;",
     "b32",
     "b32",
     [](U a, U b, U) { return s32(a) > s32(b) ? ~U{0} : U{0}; },
     {}},
    {"slct.u32.s32 %d, %a, %b, %c;",
     "b32",
     "b32",
     [](U a, U b, U c) { return s32(c) >= 0 ? a : b; },
     {}},
    {"setp.lt.u32 %p3, %a, %b; selp.b32 %d, %a, %c, !%p3;",
     "b32",
     "b32",
     [](U a, U b, U c) { return u32(a) < u32(b) ? c : a; },
     {}},
};

TEST(Emulator, executes_integer_instructions_as_c_does) {
  std::uint32_t seed = 1;
  for (const Operation& operation : integer_operations) {
    expect_operation(operation, seed++);
    if (HasFatalFailure()) return;
  }
}

// What PTX leaves open has an answer here that does not change.
TEST(Emulator, divides_by_zero_without_a_fault) {
  expect_operation(
      {"mov.u32 %b, 0; div.u32 %d, %a, %b;", "b32", "b32", [](U, U, U) { return ~U{0}; }, {}}, 1);
  expect_operation(
      {"mov.u32 %b, 0; rem.s32 %d, %a, %b;", "b32", "b32", [](U a, U, U) { return a; }, {}}, 1);
}

}  // namespace

}  // namespace k2k::emulator
