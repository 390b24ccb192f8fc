#include "backend/hip/fake_runtime/code_object.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

namespace k2k::backend::hip::fake {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::uint16_t amd_machine = 224;
constexpr std::uint32_t metadata_note = 32;  // NT_AMDGPU_METADATA
constexpr std::uint64_t file_bytes_max = 1u << 26;

// The machine of a file's flags, by the architecture that a bundle names.
struct Machine {
  std::string_view architecture;
  std::uint32_t number;
};
constexpr Machine machines[] = {{"gfx90a", 0x3f}, {"gfx942", 0x4c}, {"gfx1030", 0x36}};

template <class T>
std::optional<T> value_at(Bytes bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string_view text_at(Bytes bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const auto* const text = reinterpret_cast<const char*>(bytes.data() + offset);
  return {text, ::strnlen(text, bytes.size() - offset)};
}

bool is_for(Bytes file, std::string_view architecture) {
  const auto header = value_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header->e_machine != amd_machine) return false;
  const auto* const machine =
      std::find_if(std::begin(machines), std::end(machines),
                   [&](const Machine& each) { return each.architecture == architecture; });
  return machine != std::end(machines) && (header->e_flags & 0xff) == machine->number;
}

// A value of MessagePack's subset that the metadata use.
struct Value {
  std::uint64_t number = 0;
  std::string text;
  std::vector<Value> list;
  std::map<std::string, Value> map;
};

class MessagePack {
 public:
  explicit MessagePack(Bytes bytes) : bytes_(bytes) {}

  std::optional<Value> value() {
    const auto tag = big_endian(1);
    if (!tag) return std::nullopt;
    if (*tag <= 0x7f) return number(*tag);
    if (*tag <= 0x8f) return map(*tag & 0x0f);
    if (*tag <= 0x9f) return list(*tag & 0x0f);
    if (*tag <= 0xbf) return text(*tag & 0x1f);
    switch (*tag) {
      case 0xc2:
      case 0xc3:
        return number(*tag & 1);
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return number(big_endian(std::size_t{1} << (*tag - 0xcc)));
      case 0xd9:
      case 0xda:
        return text(big_endian(std::size_t{1} << (*tag - 0xd9)));
      case 0xdc:
        return list(big_endian(2));
      case 0xde:
        return map(big_endian(2));
      default:
        return std::nullopt;
    }
  }

 private:
  using Count = std::optional<std::uint64_t>;

  Count big_endian(std::size_t count) {
    if (bytes_.size() - at_ < count) return std::nullopt;
    std::uint64_t value = 0;
    for (; count > 0; --count) value = value << 8 | static_cast<std::uint64_t>(bytes_[at_++]);
    return value;
  }
  static std::optional<Value> number(Count from) {
    if (!from) return std::nullopt;
    Value value;
    value.number = *from;
    return value;
  }
  std::optional<Value> text(Count length) {
    if (!length || bytes_.size() - at_ < *length) return std::nullopt;
    Value value;
    value.text.assign(reinterpret_cast<const char*>(bytes_.data() + at_), *length);
    at_ += *length;
    return value;
  }
  std::optional<Value> list(Count count) {
    if (!count) return std::nullopt;
    Value all;
    for (std::uint64_t each = 0; each < *count; ++each) {
      std::optional<Value> element = value();
      if (!element) return std::nullopt;
      all.list.push_back(std::move(*element));
    }
    return all;
  }
  std::optional<Value> map(Count count) {
    if (!count) return std::nullopt;
    Value all;
    for (std::uint64_t each = 0; each < *count; ++each) {
      const std::optional<Value> key = value();
      std::optional<Value> held = key ? value() : std::nullopt;
      if (!held) return std::nullopt;
      all.map[key->text] = std::move(*held);
    }
    return all;
  }

  Bytes bytes_;
  std::size_t at_ = 0;
};

std::optional<Value> metadata_of(Bytes file, const Elf64_Ehdr& header) {
  for (std::uint64_t index = 0; index < header.e_shnum; ++index) {
    const auto section =
        value_at<Elf64_Shdr>(file, header.e_shoff + index * std::uint64_t{header.e_shentsize});
    if (!section || section->sh_type != SHT_NOTE) continue;
    const auto note = value_at<Elf64_Nhdr>(file, section->sh_offset);
    if (!note || note->n_type != metadata_note) continue;
    const std::uint64_t begin =
        section->sh_offset + sizeof(Elf64_Nhdr) + (note->n_namesz + 3) / 4 * 4;
    if (begin > file.size() || file.size() - begin < note->n_descsz) return std::nullopt;
    return MessagePack(file.subspan(begin, note->n_descsz)).value();
  }
  return std::nullopt;
}

// The offset in the file of an address in memory.
std::optional<std::uint64_t> offset_of(Bytes file, const Elf64_Ehdr& header,
                                       std::uint64_t address) {
  for (std::uint64_t index = 0; index < header.e_shnum; ++index) {
    const auto section =
        value_at<Elf64_Shdr>(file, header.e_shoff + index * std::uint64_t{header.e_shentsize});
    if (!section || section->sh_type == SHT_NOBITS || section->sh_addr == 0) continue;
    if (address < section->sh_addr || address - section->sh_addr >= section->sh_size) continue;
    return section->sh_offset + (address - section->sh_addr);
  }
  return std::nullopt;
}

// Names of descriptors and the bytes of arguments that each states.
std::map<std::string, std::uint32_t> descriptors_of(Bytes file, const Elf64_Ehdr& header) {
  std::map<std::string, std::uint32_t> all;
  for (std::uint64_t index = 0; index < header.e_shnum; ++index) {
    const auto section_at = [&](std::uint64_t which) {
      return value_at<Elf64_Shdr>(file, header.e_shoff + which * header.e_shentsize);
    };
    const auto symbols = section_at(index);
    if (!symbols || symbols->sh_type != SHT_DYNSYM) continue;
    const auto names = section_at(symbols->sh_link);
    if (!names) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size;
         at += sizeof(Elf64_Sym)) {
      const auto symbol = value_at<Elf64_Sym>(file, symbols->sh_offset + at);
      if (!symbol) break;
      const std::string_view name = text_at(file, names->sh_offset + symbol->st_name);
      if (!name.ends_with(".kd")) continue;
      const auto offset = offset_of(file, header, symbol->st_value);
      constexpr std::uint64_t kernarg_size = 8;  // In the descriptor.
      const auto bytes =
          offset ? value_at<std::uint32_t>(file, *offset + kernarg_size) : std::nullopt;
      if (bytes) all[std::string(name)] = *bytes;
    }
  }
  return all;
}

}  // namespace

std::span<const std::byte> file_for(const void* image, std::string_view architecture) {
  const auto* const begin = static_cast<const std::byte*>(image);
  if (std::memcmp(begin, ELFMAG, SELFMAG) == 0) {
    const Bytes file(begin, file_bytes_max);  // Its size is not stated.
    return is_for(file.first(sizeof(Elf64_Ehdr)), architecture) ? file : Bytes();
  }
  if (std::memcmp(begin, bundle_magic.data(), bundle_magic.size()) != 0) return {};
  const auto word_at = [&](std::uint64_t offset) {
    std::uint64_t word = 0;
    std::memcpy(&word, begin + offset, sizeof(word));
    return word;
  };
  std::uint64_t at = bundle_magic.size();
  const std::uint64_t entries = word_at(at);
  at += 8;
  for (std::uint64_t entry = 0; entry < entries && entry < 64; ++entry) {
    const std::uint64_t offset = word_at(at);
    const std::uint64_t size = word_at(at + 8);
    const std::uint64_t length = word_at(at + 16);
    const std::string_view target(reinterpret_cast<const char*>(begin + at + 24), length);
    at += 24 + length;
    const std::string wanted = "amdgcn-amd-amdhsa--" + std::string(architecture);
    if (!target.starts_with("hip") || !target.ends_with(wanted)) continue;
    const Bytes file(begin + offset, size);
    if (is_for(file, architecture)) return file;
  }
  return {};
}

std::vector<CodeKernel> kernels_of(std::span<const std::byte> file) {
  const auto header = value_at<Elf64_Ehdr>(file, 0);
  if (!header) return {};
  const std::optional<Value> metadata = metadata_of(file, *header);
  if (!metadata) return {};
  const std::map<std::string, std::uint32_t> descriptors = descriptors_of(file, *header);
  const auto found = metadata->map.find("amdhsa.kernels");
  if (found == metadata->map.end()) return {};
  std::vector<CodeKernel> all;
  for (const Value& each : found->second.list) {
    const auto field = [](const Value& of, const char* name) {
      const auto at = of.map.find(name);
      return at == of.map.end() ? Value{} : at->second;
    };
    const auto descriptor = descriptors.find(field(each, ".symbol").text);
    if (descriptor == descriptors.end()) continue;
    CodeKernel kernel{field(each, ".name").text, {}, descriptor->second};
    for (const Value& argument : field(each, ".args").list) {
      if (field(argument, ".value_kind").text.starts_with("hidden_")) continue;
      kernel.arguments.push_back(
          {field(argument, ".offset").number, field(argument, ".size").number});
    }
    all.push_back(std::move(kernel));
  }
  return all;
}

}  // namespace k2k::backend::hip::fake
