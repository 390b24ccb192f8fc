#include "shim/next_function.hpp"

#include <dlfcn.h>
#include <link.h>

// The loader's list for debuggers. Weak: else this library would depend on the loader's library.
#pragma weak _r_debug

namespace k2k::shim {
namespace {

constexpr std::uint16_t hidden_version = 0x8000;

// DT_GNU_HASH: a header, a filter, the buckets, and a hash for each defined symbol. The lowest bit
// of a hash marks the last symbol of its bucket.
struct HashTable {
  std::uint32_t buckets;
  std::uint32_t first;  // The first symbol in the table.
  std::uint32_t filter_words;
  std::uint32_t filter_shift;

  [[nodiscard]] const std::uint64_t* filter() const {
    return reinterpret_cast<const std::uint64_t*>(this + 1);
  }
  [[nodiscard]] const std::uint32_t* bucket() const {
    return reinterpret_cast<const std::uint32_t*>(filter() + filter_words);
  }
  // The first symbol that may have this hash; 0: there is none.
  [[nodiscard]] std::uint32_t begin_of(std::uint32_t hash) const {
    const std::uint64_t word = filter()[hash / 64 & (filter_words - 1)];
    if ((word >> (hash % 64) & word >> ((hash >> filter_shift) % 64) & 1) == 0) return 0;
    return bucket()[hash % buckets];
  }
  [[nodiscard]] std::uint32_t hash_of(std::uint32_t symbol) const {
    return (bucket() + buckets)[symbol - first];
  }
};

struct Object {
  const HashTable* hashes = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint16_t* versions = nullptr;  // Null: the object has no versions.
};

// The loader has relocated the address, except in read-only memory (the vDSO's).
template <class Table>
void set(const Table*& to, const link_map& map, const ElfW(Dyn) & entry) {
  const ElfW(Addr) at = entry.d_un.d_ptr;
  to = reinterpret_cast<const Table*>(at < map.l_addr ? at + map.l_addr : at);
}

Object tables_of(const link_map& map) {
  Object object;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_GNU_HASH:
        set(object.hashes, map, *entry);
        break;
      case DT_SYMTAB:
        set(object.symbols, map, *entry);
        break;
      case DT_STRTAB:
        set(object.names, map, *entry);
        break;
      case DT_VERSYM:
        set(object.versions, map, *entry);
        break;
      default:
        break;
    }
  }
  return object;
}

// In place of libc's strcmp(), whose lookup takes ten times the instructions of this function.
bool same(const char* one, const char* other) {
  while (*one == *other && *one != '\0') ++one, ++other;
  return *one == *other;
}

// Null: the object does not define it.
const ElfW(Sym) * symbol_in(const Object& object, const char* name, std::uint32_t hash) {
  std::uint32_t at = object.hashes->begin_of(hash);
  for (; at != 0; ++at) {
    const std::uint32_t its = object.hashes->hash_of(at);
    if (((its ^ hash) | 1) == 1) {
      const ElfW(Sym)& symbol = object.symbols[at];
      const bool old = object.versions != nullptr && (object.versions[at] & hidden_version) != 0;
      if (!old && same(object.names + symbol.st_name, name)) return &symbol;
    }
    if ((its & 1) != 0) break;
  }
  return nullptr;
}

const link_map* us() {
  if (&_r_debug == nullptr) return nullptr;
  const link_map* at = _r_debug.r_map;
  while (at != nullptr && at->l_ld != _DYNAMIC) at = at->l_next;
  return at;
}

}  // namespace

void* next_function(const char* name, std::uint32_t hash) {
  const link_map* at = us();
  // If this library was loaded with the program, the search ends at libc, among libraries loaded
  // with the program: none of them is ever unloaded.
  while (at != nullptr && (at = at->l_next) != nullptr) {
    const Object object = tables_of(*at);
    if (object.hashes == nullptr) break;
    const ElfW(Sym)* const symbol = symbol_in(object, name, hash);
    if (symbol == nullptr) continue;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF) break;
    return reinterpret_cast<void*>(at->l_addr + symbol->st_value);
  }
  return dlsym(RTLD_NEXT, name);  // Behind libc by dlopen(), or an IFUNC.
}

}  // namespace k2k::shim
