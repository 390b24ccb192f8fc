// wmma: a warp loads, multiplies and stores matrices of m16n16k16, m8n32k16 and m32n8k16 (f16,
// bf16, s8, u8), m16n16k8 (tf32) and m8n8k4 (f64), as nvcc compiles <mma.h>.
//
// Which lane holds which element PTX leaves open. Here the elements lie in the lanes row by row,
// and those of an f16 operand that is too small for its registers several times. Sums are exact
// enough in double precision and rounded once; of f64 each product is rounded with its sum.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "emulator/cuda/exec/ops/access.hpp"
#include "emulator/cuda/exec/ops/decoding.hpp"
#include "emulator/cuda/exec/ops/matrix.hpp"
#include "emulator/cuda/exec/ops/real_formats.hpp"

namespace k2k::emulator::exec {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

enum class Element : std::uint32_t { f16, bf16, tf32, f32, f64, s8, u8, s32 };

std::uint32_t bytes_of(Element element) {
  constexpr std::array<std::uint32_t, 8> bytes{2, 2, 4, 4, 8, 1, 1, 4};
  return bytes[static_cast<std::size_t>(element)];
}

struct Shape {
  std::uint32_t m = 0, n = 0, k = 0;
};
constexpr std::array<Shape, 5> shapes{
    {{16, 16, 16}, {8, 32, 16}, {32, 8, 16}, {16, 16, 8}, {8, 8, 4}}};
constexpr std::size_t shape_tf32 = 3;
constexpr std::size_t shape_f64 = 4;

enum class Role : std::uint32_t { a, b, c };

// One operand of a multiplication: its size, and how the lanes hold it.
struct Fragment {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  Element element = Element::f16;
  std::uint32_t of_lane = 0;  // Elements.

  static Fragment of(const Shape& shape, Role role, Element element) {
    Fragment made{role == Role::b ? shape.k : shape.m, role == Role::a ? shape.k : shape.n, element,
                  0};
    made.of_lane = made.rows * made.columns / warp_lanes;
    // Eight registers of two elements, however small the matrix is.
    if (element == Element::f16 && role != Role::c) made.of_lane = 16;
    return made;
  }
  [[nodiscard]] std::uint32_t in_register() const {
    const std::uint32_t bytes = bytes_of(element);
    return bytes < 4 ? 4 / bytes : 1;
  }
  [[nodiscard]] std::uint32_t registers() const { return of_lane / in_register(); }
  [[nodiscard]] std::uint32_t bytes() const { return of_lane * bytes_of(element); }
  // Of a lane's element: its number in the matrix, row by row.
  [[nodiscard]] std::uint32_t number_of(std::uint32_t lane, std::uint32_t index) const {
    return (lane * of_lane + index) % (rows * columns);
  }
};

std::uint64_t element_of(const Fragment& fragment, std::uint64_t word, std::uint32_t index) {
  const std::uint32_t bytes = bytes_of(fragment.element);
  if (bytes == 8) return word;
  const std::uint64_t mask = (std::uint64_t{1} << 8 * bytes) - 1;
  return word >> (index % fragment.in_register() * 8 * bytes) & mask;
}

// --- Loads and stores. a, immediate: the address of the first element; b: the stride, in elements.
// flags: the Space, then column_major, the shape, the role and the element.
constexpr std::uint32_t column_major = 16;
constexpr int shape_shift = 8;
constexpr int role_shift = 12;
constexpr int element_type_shift = 16;

Fragment fragment_of(const Op& op) {
  return Fragment::of(shapes[op.flags >> shape_shift & 15],
                      static_cast<Role>(op.flags >> role_shift & 15),
                      static_cast<Element>(op.flags >> element_type_shift & 15));
}

// PTX asks that each row begins at a multiple of the fragment's size; CUDA's mma.h, that the matrix
// does at 32 bytes and its rows at 16, which is what GPUs need.
bool is_aligned(Lane& lane, const Op& op, const Fragment& fragment) {
  constexpr std::uint32_t base_align_max = 32;
  constexpr std::uint32_t row_align_max = 16;
  const std::uint64_t base = bits_of(lane, op.a) + op.immediate;
  const std::uint32_t align = std::min(fragment.bytes(), base_align_max);
  if (base % align != 0) {
    lane.fail(Fault::misaligned_address, "a matrix at " + hexadecimal(base) +
                                             "; its address has to be a multiple of " +
                                             std::to_string(align));
    return false;
  }
  const std::uint32_t bytes = bytes_of(fragment.element);
  const auto stride = get<std::uint32_t>(lane, op.b);
  const std::uint32_t row_align = std::min(fragment.bytes(), row_align_max);
  if (std::uint64_t{stride} * bytes % row_align != 0) {
    lane.fail(Fault::misaligned_address,
              "a matrix with a stride of " + std::to_string(stride) + " elements, " +
                  std::to_string(std::uint64_t{stride} * bytes) +
                  " bytes; it has to be a multiple of " + std::to_string(row_align) + " bytes");
    return false;
  }
  return true;
}

// nullptr after a fault.
std::byte* place_of_element(Lane& lane, const Op& op, const Fragment& fragment,
                            std::uint32_t number, bool writes) {
  const std::uint32_t bytes = bytes_of(fragment.element);
  const std::uint64_t row = number / fragment.columns;
  const std::uint64_t column = number % fragment.columns;
  const std::uint64_t stride = get<std::uint32_t>(lane, op.b);
  const std::uint64_t at =
      (op.flags & column_major) != 0 ? column * stride + row : row * stride + column;
  std::byte* const place =
      reach(lane, space_in(op), bits_of(lane, op.a) + op.immediate + at * bytes, bytes, bytes);
  if (place != nullptr && lane.block->watch != nullptr) {
    lane.block->watch->touches(lane, op, reinterpret_cast<std::uint64_t>(place), bytes, writes);
  }
  return place;
}

std::uint64_t load_bits(const std::byte* from, std::uint32_t bytes) {
  switch (bytes) {
    case 1:
      return load_word<std::uint8_t>(from, Order::relaxed);
    case 2:
      return load_word<std::uint16_t>(from, Order::relaxed);
    case 4:
      return load_word<std::uint32_t>(from, Order::relaxed);
    default:
      return load_word<std::uint64_t>(from, Order::relaxed);
  }
}
void store_bits(std::byte* to, std::uint64_t value, std::uint32_t bytes) {
  switch (bytes) {
    case 2:
      return store_word(to, static_cast<std::uint16_t>(value), Order::relaxed);
    case 4:
      return store_word(to, static_cast<std::uint32_t>(value), Order::relaxed);
    default:
      return store_word(to, value, Order::relaxed);
  }
}

void load_fragments(Block& block, std::uint32_t first, std::uint32_t mask) {
  if (!is_whole_warp(block, first, mask)) return;
  for (std::uint32_t at = 0; at < warp_lanes; ++at) {
    Lane& lane = block.lanes[first + at];
    const Op& op = *lane.waits_at;
    const Fragment fragment = fragment_of(op);
    const std::uint32_t bytes = bytes_of(fragment.element);
    if (!is_aligned(lane, op, fragment)) return;
    std::array<std::uint64_t, 8> words{};
    for (std::uint32_t index = 0; index < fragment.of_lane; ++index) {
      const std::byte* const from =
          place_of_element(lane, op, fragment, fragment.number_of(at, index), false);
      if (from == nullptr) return;
      const std::uint32_t in_register = fragment.in_register();
      words[index / in_register] |= load_bits(from, bytes) << (index % in_register * 8 * bytes);
    }
    // The address may lie in one of them.
    for (std::size_t to = 0; to < op.tos.size(); ++to) lane.regs[op.tos[to]] = words[to];
  }
}

void store_fragments(Block& block, std::uint32_t first, std::uint32_t mask) {
  if (!is_whole_warp(block, first, mask)) return;
  for (std::uint32_t at = 0; at < warp_lanes; ++at) {
    Lane& lane = block.lanes[first + at];
    const Op& op = *lane.waits_at;
    const Fragment fragment = fragment_of(op);
    if (!is_aligned(lane, op, fragment)) return;
    for (std::uint32_t index = 0; index < fragment.of_lane; ++index) {
      std::byte* const to =
          place_of_element(lane, op, fragment, fragment.number_of(at, index), true);
      if (to == nullptr) return;
      const std::uint64_t word = bits_of(lane, op.more[index / fragment.in_register()]);
      store_bits(to, element_of(fragment, word, index), bytes_of(fragment.element));
    }
  }
}

// --- Multiplication. more: the registers of a, b and c; tos: of d. flags: the shape, the elements
// of a and b, of c, of d.
constexpr int of_a_shift = 4;
constexpr int of_c_shift = 8;
constexpr int of_d_shift = 12;
constexpr std::uint32_t saturates = 1u << 16;

struct Multiplication {
  Fragment a, b, c, d;
  bool saturated = false;

  static Multiplication of(const Op& op) {
    const Shape& shape = shapes[op.flags & 15];
    const auto element = [&](int shift) { return static_cast<Element>(op.flags >> shift & 15); };
    return {Fragment::of(shape, Role::a, element(of_a_shift)),
            Fragment::of(shape, Role::b, element(of_a_shift)),
            Fragment::of(shape, Role::c, element(of_c_shift)),
            Fragment::of(shape, Role::c, element(of_d_shift)), (op.flags & saturates) != 0};
  }
};

double real_of(Element element, std::uint64_t bits) {
  const auto word = static_cast<std::uint32_t>(bits);
  constexpr std::uint32_t tf32_bits = 0xffffe000;
  switch (element) {
    case Element::f16:
      return static_cast<double>(float_of_half(static_cast<std::uint16_t>(bits)));
    case Element::bf16:
      return static_cast<double>(float_of_brain(static_cast<std::uint16_t>(bits)));
    case Element::tf32:
      return static_cast<double>(std::bit_cast<float>(word & tf32_bits));
    case Element::f32:
      return static_cast<double>(std::bit_cast<float>(word));
    case Element::f64:
      return std::bit_cast<double>(bits);
    case Element::s8:
      return static_cast<std::int8_t>(bits);
    case Element::u8:
      return static_cast<std::uint8_t>(bits);
    case Element::s32:
      break;
  }
  return static_cast<std::int32_t>(word);
}

// Sums of integers are exact in a double: at most 2^31 + 16 * 2^16.
std::uint64_t bits_of_sum(const Multiplication& how, double sum) {
  switch (how.d.element) {
    case Element::f16:
      return half_of(sum, Rounding::nearest);
    case Element::f64:
      return std::isnan(sum) ? 0x7ff8000000000000 : std::bit_cast<std::uint64_t>(sum);
    case Element::s32: {
      using Limits = std::numeric_limits<std::int32_t>;
      if (how.saturated) {
        sum = std::clamp(sum, double{Limits::min()}, double{Limits::max()});
      }
      return static_cast<std::uint32_t>(static_cast<std::int64_t>(sum));
    }
    default: {
      const auto rounded = static_cast<float>(sum);
      return std::isnan(rounded) ? nan32 : std::bit_cast<std::uint32_t>(rounded);
    }
  }
}

// The whole matrix, from the lanes' registers.
std::vector<double> gathered(const Block& block, std::uint32_t first, const Fragment& fragment,
                             std::size_t first_register) {
  std::vector<double> all(std::size_t{fragment.rows} * fragment.columns);
  for (std::uint32_t at = 0; at < warp_lanes; ++at) {
    const Lane& lane = block.lanes[first + at];
    const std::span registers = std::span(lane.waits_at->more).subspan(first_register);
    for (std::uint32_t index = 0; index < fragment.of_lane; ++index) {
      const std::uint64_t word = bits_of(lane, registers[index / fragment.in_register()]);
      all[fragment.number_of(at, index)] =
          real_of(fragment.element, element_of(fragment, word, index));
    }
  }
  return all;
}

void multiply_fragments(Block& block, std::uint32_t first, std::uint32_t mask) {
  if (!is_whole_warp(block, first, mask)) return;
  const Multiplication how = Multiplication::of(*block.lanes[first].waits_at);
  const std::vector<double> a = gathered(block, first, how.a, 0);
  const std::vector<double> b = gathered(block, first, how.b, how.a.registers());
  std::vector<double> sums = gathered(block, first, how.c, how.a.registers() + how.b.registers());
  const std::uint32_t depth = how.a.columns;
  for (std::uint32_t at = 0; at < sums.size(); ++at) {
    const std::uint32_t row = at / how.d.columns;
    const std::uint32_t column = at % how.d.columns;
    for (std::uint32_t k = 0; k < depth; ++k) {
      sums[at] = std::fma(a[row * depth + k], b[k * how.d.columns + column], sums[at]);
    }
  }
  for (std::uint32_t at = 0; at < warp_lanes; ++at) {
    Lane& lane = block.lanes[first + at];
    const Op& op = *lane.waits_at;
    std::array<std::uint64_t, 8> words{};
    for (std::uint32_t index = 0; index < how.d.of_lane; ++index) {
      const std::uint32_t in_register = how.d.in_register();
      words[index / in_register] |= bits_of_sum(how, sums[how.d.number_of(at, index)])
                                    << (index % in_register * 8 * bytes_of(how.d.element));
    }
    for (std::size_t to = 0; to < op.tos.size(); ++to) lane.regs[op.tos[to]] = words[to];
  }
}

// --- Decoding.

// `shapes.size()` if none is there.
std::size_t take_shape(Decoding& with) {
  return with.take_one({"m16n16k16", "m8n32k16", "m32n8k16", "m16n16k8", "m8n8k4"});
}

constexpr std::array<std::string_view, 8> element_words{"f16", "bf16", "tf32", "f32",
                                                        "f64", "s8",   "u8",   "s32"};

bool is_operand(Element element, std::size_t shape) {
  switch (element) {
    case Element::tf32:
      return shape == shape_tf32;
    case Element::f64:
      return shape == shape_f64;
    case Element::f16:
    case Element::bf16:
    case Element::s8:
    case Element::u8:
      return shape < shape_tf32;
    default:
      return false;
  }
}
bool is_sum(Element element, std::size_t shape) {
  switch (element) {
    case Element::f64:
      return shape == shape_f64;
    case Element::f32:
      return shape <= shape_tf32;
    case Element::f16:
    case Element::s32:
      return shape < shape_tf32;
    default:
      return false;
  }
}

// The list of a fragment's registers; PTX writes one register alone or as a list of one.
void need_fragment(const Decoding& with, const Operand& list, std::size_t count) {
  const std::size_t there = list.kind == Operand::Kind::vector ? list.elements.size() : 1;
  if (there != count) {
    with.refuse("a fragment of " + std::to_string(there) + " registers, where this shape has " +
                std::to_string(count));
  }
}
void add_fragment(Decoding& with, std::size_t index, const Fragment& fragment) {
  const Operand& list = with.operand(index);
  need_fragment(with, list, fragment.registers());
  const Type type = bytes_of(fragment.element) == 8 ? Type::b64 : Type::b32;
  if (list.kind == Operand::Kind::vector) {
    add_sources(with, list, type);
  } else {
    with.op.more.push_back(with.source_of(list, type));
  }
}
void add_result_fragment(Decoding& with, std::size_t index, const Fragment& fragment) {
  const Operand& list = with.operand(index);
  need_fragment(with, list, fragment.registers());
  if (list.kind == Operand::Kind::vector) {
    add_destinations(with, list);
  } else {
    with.op.tos.push_back(with.destination_of(list));
  }
}

bool decode_transfer(Decoding& with, bool loads) {
  const std::size_t role = loads ? with.take_one({"a", "b", "c"}) : with.take("d") ? 2 : 3;
  const bool whole = with.take("sync") && with.take("aligned");
  const std::size_t order = with.take_one({"row", "col"});
  const std::size_t shape = take_shape(with);
  const Space space = with.take("global")  ? Space::global
                      : with.take_shared() ? Space::shared
                                           : Space::generic;
  const auto* const word = std::find_if(element_words.begin(), element_words.end(),
                                        [&](std::string_view name) { return with.take(name); });
  if (role > 2 || !whole || order > 1 || shape == shapes.size() || word == element_words.end()) {
    return false;
  }
  const auto element = static_cast<Element>(word - element_words.begin());
  const bool fits = role == 2 ? is_sum(element, shape) : is_operand(element, shape);
  if (!fits) return false;
  with.need_count(2, 3);
  const Fragment fragment = Fragment::of(shapes[shape], static_cast<Role>(role), element);
  if (loads) {
    add_result_fragment(with, 0, fragment);
  } else {
    add_fragment(with, 1, fragment);
  }
  with.op.flags = static_cast<std::uint32_t>(space) | (order == 1 ? column_major : 0) |
                  static_cast<std::uint32_t>(shape) << shape_shift |
                  static_cast<std::uint32_t>(role) << role_shift |
                  static_cast<std::uint32_t>(element) << element_type_shift;
  with.op.a = with.address(loads ? 1 : 0, space, with.op.immediate);
  if (with.count() == 3) {
    with.op.b = with.source(2, Type::u32);
  } else {
    with.op.b.value = order == 1 ? fragment.rows : fragment.columns;
  }
  meets(with, loads ? &load_fragments : &store_fragments);
  return true;
}

// The elements of d, a, b and c, as they stand; f16 operands are not named.
bool take_elements(Decoding& with, std::array<Element, 4>& elements) {
  std::vector<Element> words;
  for (const std::string& modifier : with.in.modifiers) {
    const auto* const found = std::find(element_words.begin(), element_words.end(), modifier);
    if (found == element_words.end()) continue;
    with.take(modifier);
    words.push_back(static_cast<Element>(found - element_words.begin()));
  }
  if (words.size() == 2) {
    elements = {words[0], Element::f16, Element::f16, words[1]};
    return true;
  }
  if (words.size() != 4) return false;
  std::copy_n(words.begin(), 4, elements.begin());
  return elements[1] != Element::f16;
}

// Which sums an operand's elements have.
bool fit_together(const std::array<Element, 4>& elements) {
  const auto& [d, a, b, c] = elements;
  if (a != b) return false;
  if (a == Element::f16) {
    return (d == Element::f16 || d == Element::f32) && (c == Element::f16 || c == Element::f32);
  }
  const Element sum = a == Element::s8 || a == Element::u8 ? Element::s32
                      : a == Element::f64                  ? Element::f64
                                                           : Element::f32;
  return d == sum && c == sum;
}

bool decode_product(Decoding& with) {
  const bool whole = with.take("sync") && with.take("aligned");
  const std::size_t shape = take_shape(with);
  const bool has_order = with.take_one({"row", "col"}) < 2 && with.take_one({"row", "col"}) < 2;
  std::array<Element, 4> elements{};
  if (!whole || !has_order || shape == shapes.size() || !take_elements(with, elements) ||
      !fit_together(elements) || !is_operand(elements[1], shape)) {
    return false;
  }
  const bool saturated = elements[0] == Element::s32 && with.take("satfinite");
  if (elements[0] == Element::f64) with.take("rn");
  with.op.flags =
      static_cast<std::uint32_t>(shape) | static_cast<std::uint32_t>(elements[1]) << of_a_shift |
      static_cast<std::uint32_t>(elements[3]) << of_c_shift |
      static_cast<std::uint32_t>(elements[0]) << of_d_shift | (saturated ? saturates : 0);
  with.need_count(4, 4);
  const Multiplication how = Multiplication::of(with.op);
  add_result_fragment(with, 0, how.d);
  add_fragment(with, 1, how.a);
  add_fragment(with, 2, how.b);
  add_fragment(with, 3, how.c);
  meets(with, &multiply_fragments);
  return true;
}

}  // namespace

bool decode_wmma(Decoding& with) {
  if (with.opcode() != "wmma") return false;
  with.op.d.value = whole_warp;
  const bool known = with.take("load")    ? decode_transfer(with, true)
                     : with.take("store") ? decode_transfer(with, false)
                                          : with.take("mma") && decode_product(with);
  if (!known) with.refuse("this form of the instruction is not known");
  return true;
}

}  // namespace k2k::emulator::exec
