#pragma once
// For tests: a bundle of code objects as clang writes it, with the parts that HIP's runtime reads
// to load and launch a kernel, and without instructions. `./dev check --only hip` has clang's own.

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace k2k::backend::hip {

using FileBytes = std::vector<std::byte>;

struct KernelFixture {
  std::string name;
  std::vector<std::uint64_t> argument_bytes;
};

namespace code_object_fixture {

inline void append(FileBytes& to, const void* bytes, std::size_t count) {
  const auto* const begin = static_cast<const std::byte*>(bytes);
  to.insert(to.end(), begin, begin + count);
}
template <class T>
void append_value(FileBytes& to, const T& value) {
  append(to, &value, sizeof(value));
}
inline void append_tag(FileBytes& to, unsigned tag) { to.push_back(static_cast<std::byte>(tag)); }

// MessagePack.
inline void put_text(FileBytes& to, std::string_view text) {
  append_tag(to, 0xd9);
  append_tag(to, static_cast<unsigned>(text.size()));
  append(to, text.data(), text.size());
}
inline void put_number(FileBytes& to, std::uint64_t number) {
  append_tag(to, 0xcd);
  append_tag(to, static_cast<unsigned>(number >> 8 & 0xff));
  append_tag(to, static_cast<unsigned>(number & 0xff));
}
inline void put_map(FileBytes& to, std::size_t entries) {
  append_tag(to, static_cast<unsigned>(0x80 | entries));
}
inline void put_list(FileBytes& to, std::size_t entries) {
  append_tag(to, static_cast<unsigned>(0x90 | entries));
}

inline std::uint64_t end_of_arguments(const KernelFixture& kernel) {
  std::uint64_t end = 0;
  for (const std::uint64_t bytes : kernel.argument_bytes) end = (end + 7) / 8 * 8 + bytes;
  return (end + 7) / 8 * 8;
}

inline FileBytes metadata_of(const std::vector<KernelFixture>& kernels) {
  FileBytes all;
  put_map(all, 1);
  put_text(all, "amdhsa.kernels");
  put_list(all, kernels.size());
  for (const KernelFixture& kernel : kernels) {
    put_map(all, 3);
    put_text(all, ".name");
    put_text(all, kernel.name);
    put_text(all, ".symbol");
    put_text(all, kernel.name + ".kd");
    put_text(all, ".args");
    put_list(all, kernel.argument_bytes.size() + 1);
    std::uint64_t offset = 0;
    for (const std::uint64_t bytes : kernel.argument_bytes) {
      put_map(all, 3);
      put_text(all, ".offset");
      put_number(all, offset);
      put_text(all, ".size");
      put_number(all, bytes);
      put_text(all, ".value_kind");
      put_text(all, "by_value");
      offset = (offset + bytes + 7) / 8 * 8;
    }
    put_map(all, 3);
    put_text(all, ".offset");
    put_number(all, offset);
    put_text(all, ".size");
    put_number(all, 4);
    put_text(all, ".value_kind");
    put_text(all, "hidden_block_count_x");
  }
  return all;
}

}  // namespace code_object_fixture

// An ELF file with these kernels for the machine of that number (0x3f: gfx90a, 0x4c: gfx942).
inline FileBytes code_object(std::uint32_t machine, const std::vector<KernelFixture>& kernels) {
  using namespace code_object_fixture;
  constexpr std::size_t descriptor_bytes = 64;
  constexpr std::uint64_t memory_begin = 0x1000;  // Where descriptors lie in the device's memory.
  constexpr std::size_t sections = 5;
  enum : std::uint16_t { none, descriptors, note, symbols, names };

  FileBytes descriptor_part;
  FileBytes symbol_part(sizeof(Elf64_Sym));
  FileBytes name_part(1);
  for (std::size_t index = 0; index < kernels.size(); ++index) {
    std::byte descriptor[descriptor_bytes] = {};
    const auto bytes = static_cast<std::uint32_t>(end_of_arguments(kernels[index]) + 256);
    std::memcpy(descriptor + 8, &bytes, sizeof(bytes));
    append(descriptor_part, descriptor, sizeof(descriptor));
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(name_part.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbol.st_shndx = descriptors;
    symbol.st_value = memory_begin + index * descriptor_bytes;
    symbol.st_size = descriptor_bytes;
    append_value(symbol_part, symbol);
    const std::string name = kernels[index].name + ".kd";
    append(name_part, name.c_str(), name.size() + 1);
  }
  const FileBytes metadata = metadata_of(kernels);
  FileBytes note_part;
  append_value(note_part, Elf64_Nhdr{7, static_cast<Elf64_Word>(metadata.size()), 32});
  append(note_part, "AMDGPU\0\0", 8);
  append(note_part, metadata.data(), metadata.size());

  const FileBytes* const parts[sections] = {nullptr, &descriptor_part, &note_part, &symbol_part,
                                            &name_part};
  constexpr Elf64_Word types[sections] = {SHT_NULL, SHT_PROGBITS, SHT_NOTE, SHT_DYNSYM, SHT_STRTAB};
  Elf64_Shdr headers[sections] = {};
  std::uint64_t offset = sizeof(Elf64_Ehdr) + sizeof(headers);
  for (std::size_t index = 1; index < sections; ++index) {
    headers[index].sh_type = types[index];
    headers[index].sh_offset = offset;
    headers[index].sh_size = parts[index]->size();
    offset += (parts[index]->size() + 7) / 8 * 8;
  }
  headers[descriptors].sh_addr = memory_begin;
  headers[symbols].sh_link = names;
  headers[symbols].sh_entsize = sizeof(Elf64_Sym);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = 224;
  header.e_flags = machine;
  header.e_shoff = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = sections;

  FileBytes file;
  append_value(file, header);
  append_value(file, headers);
  for (std::size_t index = 1; index < sections; ++index) {
    file.resize(headers[index].sh_offset);
    append(file, parts[index]->data(), parts[index]->size());
  }
  return file;
}

struct BundleEntry {
  std::string target;  // "hipv4-amdgcn-amd-amdhsa--gfx90a"
  FileBytes file;
};

inline FileBytes bundle(const std::vector<BundleEntry>& entries) {
  using namespace code_object_fixture;
  FileBytes all;
  append(all, "__CLANG_OFFLOAD_BUNDLE__", 24);
  append_value(all, std::uint64_t{entries.size()});
  std::uint64_t offset = 32;
  for (const BundleEntry& entry : entries) offset += 24 + entry.target.size();
  for (const BundleEntry& entry : entries) {
    offset = (offset + 7) / 8 * 8;
    append_value(all, offset);
    append_value(all, std::uint64_t{entry.file.size()});
    append_value(all, std::uint64_t{entry.target.size()});
    append(all, entry.target.data(), entry.target.size());
    offset += entry.file.size();
  }
  for (const BundleEntry& entry : entries) {
    all.resize((all.size() + 7) / 8 * 8);
    append(all, entry.file.data(), entry.file.size());
  }
  return all;
}

// The same kernels for the two architectures of this project's builds.
inline FileBytes bundle_of(const std::vector<KernelFixture>& kernels) {
  return bundle({{"host-x86_64-unknown-linux--", {}},
                 {"hipv4-amdgcn-amd-amdhsa--gfx90a", code_object(0x3f, kernels)},
                 {"hipv4-amdgcn-amd-amdhsa--gfx942", code_object(0x4c, kernels)}});
}

}  // namespace k2k::backend::hip
