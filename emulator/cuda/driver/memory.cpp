// cuMem…, cuPointer…: device memory is host memory that kernels may touch.

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "emulator/cuda/driver/state.hpp"
#include "emulator/cuda/exec/ops/access.hpp"

namespace k2k::emulator::driver {

namespace {

CUresult allocate(Allocation::Kind kind, std::size_t bytes, std::uint64_t* address) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  return Driver::get().allocate(context, bytes, kind, address);
}

// A range that begins in an allocation must end in it; others are the program's own memory.
bool is_sound(std::uint64_t address, std::size_t bytes, bool& pageable) {
  if (address == 0) return false;
  const Allocation held = Driver::get().holding(address);
  pageable = pageable || held.bytes == 0;
  return held.bytes == 0 || bytes <= held.begin + held.bytes - address;
}

// Memory of the driver's that was given back before a task of a stream came to it: the context's
// fault, as of a kernel that touches it.
bool is_gone(Context& context, const char* call, std::uint64_t address, bool was_held) {
  Driver& driver = Driver::get();
  if (!was_held || driver.holding(address).bytes != 0) return false;
  CUresult before = success;
  context.fault.compare_exchange_strong(before, illegal_address);
  driver.log(std::string(call) + " found no memory at " + exec::hexadecimal(address) +
             ", which was given back before its stream came to it; wait for the stream first, or "
             "use cuMemFreeAsync in it");
  return true;
}

// For the search for races: a call reads or writes memory that kernels can address.
void note_access(const char* call, bool writes, std::uint64_t begin, std::uint64_t bytes,
                 const exec::check::PlacedTask& place, const exec::check::Clock& told) {
  Driver& driver = Driver::get();
  if (driver.races == nullptr || !driver.memory.find(begin).holds(begin, 1)) return;
  driver.races->copy({call, writes, begin, begin + bytes, place, told});
}

exec::check::Clock told_to_host() {
  const Driver& driver = Driver::get();
  return driver.races == nullptr ? exec::check::Clock() : driver.races->told();
}

// Copies in the order of a stream. A copy from or to pageable memory, and one without a stream of
// its own, has ended when the call returns.
CUresult copy(const char* call, std::uint64_t to, std::uint64_t from, std::size_t bytes,
              CUstream handle, bool waits) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  if (bytes == 0) return success;
  bool pageable = false;
  if (!is_sound(to, bytes, pageable) || !is_sound(from, bytes, pageable)) return invalid_value;
  Stream* stream = nullptr;
  if (const CUresult answer = stream_of(*context, handle, &stream); answer != success) {
    return answer;
  }
  const bool to_held = Driver::get().holding(to).bytes != 0;
  const bool from_held = Driver::get().holding(from).bytes != 0;
  const auto work = [=, told = told_to_host()](const exec::check::PlacedTask& place) {
    if (context->fault.load() != success || is_gone(*context, call, to, to_held) ||
        is_gone(*context, call, from, from_held)) {
      return;
    }
    note_access(call, false, from, bytes, place, told);
    note_access(call, true, to, bytes, place, told);
    // As a GPU's copy engine: a kernel that runs may poll one of the words.
    exec::copy_words(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from),
                     bytes);
  };
  const std::shared_ptr<Moment> done = add_in_order(*stream, work);
  return waits || pageable ? finish(*context, done) : static_cast<CUresult>(success);
}

template <class Word>
CUresult fill(const char* call, std::uint64_t to, Word value, std::size_t count, CUstream handle,
              bool waits) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  if (count == 0) return success;
  bool pageable = false;
  if (to % sizeof(Word) != 0 || count > Driver::get().memory_bytes ||
      !is_sound(to, count * sizeof(Word), pageable) || pageable) {
    return invalid_value;
  }
  Stream* stream = nullptr;
  if (const CUresult answer = stream_of(*context, handle, &stream); answer != success) {
    return answer;
  }
  const auto work = [=, told = told_to_host()](const exec::check::PlacedTask& place) {
    if (context->fault.load() != success || is_gone(*context, call, to, true)) return;
    note_access(call, true, to, count * sizeof(Word), place, told);
    auto* const words = reinterpret_cast<std::byte*>(to);
    for (std::size_t at = 0; at < count; ++at) {
      exec::store_word(words + at * sizeof(Word), value, exec::Order::relaxed);
    }
  };
  const std::shared_ptr<Moment> done = add_in_order(*stream, work);
  return waits ? finish(*context, done) : static_cast<CUresult>(success);
}

std::uint64_t number_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// The value of a CUpointer_attribute. False: the pointer has no such attribute.
template <class Value>
bool write(void* to, Value value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  std::memcpy(to, bytes.data(), bytes.size());
  return true;
}
bool write_attribute(void* to, int attribute, std::uint64_t address, const Allocation& held) {
  constexpr unsigned memory_host = 1;
  constexpr unsigned memory_device = 2;
  const bool device =
      held.kind == Allocation::Kind::device || held.kind == Allocation::Kind::managed;
  switch (attribute) {
    case 1:  // CONTEXT
      return write(to, handle_of<CUcontext>(held.context));
    case 2:  // MEMORY_TYPE
      return write(to, device ? memory_device : memory_host);
    case 3:  // DEVICE_POINTER
      return write(to, address);
    case 4:  // HOST_POINTER
      return held.kind != Allocation::Kind::device && write(to, address);
    case 7:  // BUFFER_ID
      return write(to, static_cast<unsigned long long>(held.number));
    case 8:  // IS_MANAGED
      return write(to, held.kind == Allocation::Kind::managed ? 1u : 0u);
    case 9:  // DEVICE_ORDINAL
      return write(to, 0);
    case 11:  // RANGE_START_ADDR
      return write(to, held.begin);
    case 12:  // RANGE_SIZE
      return write(to, static_cast<std::size_t>(held.bytes));
    case 13:  // MAPPED
      return write(to, 1u);
    default:
      return false;
  }
}

}  // namespace

}  // namespace k2k::emulator::driver

using namespace k2k::emulator::driver;

K2K_ENTRY_POINT CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  return allocate(Allocation::Kind::device, bytes, address);
}
K2K_ENTRY_POINT CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned) {
  return allocate(Allocation::Kind::managed, bytes, address);
}
K2K_ENTRY_POINT CUresult cuMemFree_v2(CUdeviceptr address) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  return address == 0 ? success : Driver::get().release(address, Allocation::Kind::device);
}
K2K_ENTRY_POINT CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream handle) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  Stream* stream = nullptr;
  if (const CUresult answer = stream_of(*context, handle, &stream); answer != success) {
    return answer;
  }
  return allocate(Allocation::Kind::device, bytes, address);
}
K2K_ENTRY_POINT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  Stream* stream = nullptr;
  if (const CUresult answer = stream_of(*context, handle, &stream); answer != success) {
    return answer;
  }
  const Allocation held = Driver::get().holding(address);
  if (held.bytes == 0 || held.begin != address) return invalid_value;
  add_in_order(*stream,
               [=](const auto&) { Driver::get().release(address, Allocation::Kind::device); });
  return success;
}

K2K_ENTRY_POINT CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  std::uint64_t number = 0;
  if (address == nullptr) return invalid_value;
  const CUresult answer = allocate(Allocation::Kind::pinned, bytes, &number);
  *address = reinterpret_cast<void*>(number);
  return answer;
}
K2K_ENTRY_POINT CUresult cuMemAllocHost_v2(void** address, std::size_t bytes) {
  return cuMemHostAlloc(address, bytes, 0);
}
K2K_ENTRY_POINT CUresult cuMemFreeHost(void* address) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  return address == nullptr ? success
                            : Driver::get().release(number_of(address), Allocation::Kind::pinned);
}
K2K_ENTRY_POINT CUresult cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  return Driver::get().add_registered(context, number_of(address), bytes);
}
K2K_ENTRY_POINT CUresult cuMemHostUnregister(void* address) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  return Driver::get().release(number_of(address), Allocation::Kind::registered);
}
K2K_ENTRY_POINT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host, unsigned) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  if (device == nullptr || Driver::get().holding(number_of(host)).bytes == 0) return invalid_value;
  *device = number_of(host);
  return success;
}
K2K_ENTRY_POINT CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  if (flags == nullptr || Driver::get().holding(number_of(host)).bytes == 0) return invalid_value;
  *flags = 3;  // Portable, mapped.
  return success;
}

K2K_ENTRY_POINT CUresult cuMemGetInfo_v2(std::size_t* unused, std::size_t* total) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  if (unused == nullptr || total == nullptr) return invalid_value;
  *unused = Driver::get().bytes_free();
  *total = Driver::get().memory_bytes;
  return success;
}
K2K_ENTRY_POINT CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, std::size_t* bytes,
                                                 CUdeviceptr address) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  const Allocation held = Driver::get().holding(address);
  if (held.bytes == 0) return invalid_value;
  if (begin != nullptr) *begin = held.begin;
  if (bytes != nullptr) *bytes = held.bytes;
  return success;
}

K2K_ENTRY_POINT CUresult cuPointerGetAttribute(void* value, int attribute, CUdeviceptr address) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  const Allocation held = Driver::get().holding(address);
  if (value == nullptr || held.bytes == 0) return invalid_value;
  return write_attribute(value, attribute, address, held) ? success : invalid_value;
}
K2K_ENTRY_POINT CUresult cuPointerGetAttributes(unsigned count, int* attributes, void** values,
                                                CUdeviceptr address) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  if (count != 0 && (attributes == nullptr || values == nullptr)) return invalid_value;
  const Allocation held = Driver::get().holding(address);
  for (unsigned at = 0; at < count; ++at) {
    // Of a pointer that is not known: a host pointer's zeros, as the real call gives.
    std::memset(values[at], 0, attributes[at] == 2 || attributes[at] == 8 ? 4 : 8);
    if (held.bytes != 0) write_attribute(values[at], attributes[at], address, held);
  }
  return success;
}

K2K_ENTRY_POINT CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy(__func__, to, from, bytes, nullptr, true);
}
K2K_ENTRY_POINT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                       CUstream stream) {
  return copy(__func__, to, from, bytes, stream, false);
}
K2K_ENTRY_POINT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy(__func__, to, number_of(from), bytes, nullptr, true);
}
K2K_ENTRY_POINT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  return copy(__func__, number_of(to), from, bytes, nullptr, true);
}
K2K_ENTRY_POINT CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy(__func__, to, from, bytes, nullptr, true);
}
K2K_ENTRY_POINT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes,
                                              CUstream stream) {
  return copy(__func__, to, number_of(from), bytes, stream, false);
}
K2K_ENTRY_POINT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes,
                                              CUstream stream) {
  return copy(__func__, number_of(to), from, bytes, stream, false);
}
K2K_ENTRY_POINT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                              CUstream stream) {
  return copy(__func__, to, from, bytes, stream, false);
}

K2K_ENTRY_POINT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
  return fill(__func__, to, value, count, nullptr, true);
}
K2K_ENTRY_POINT CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, std::size_t count) {
  return fill(__func__, to, value, count, nullptr, true);
}
K2K_ENTRY_POINT CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, std::size_t count) {
  return fill(__func__, to, value, count, nullptr, true);
}
K2K_ENTRY_POINT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count,
                                         CUstream stream) {
  return fill(__func__, to, value, count, stream, false);
}
K2K_ENTRY_POINT CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count,
                                          CUstream stream) {
  return fill(__func__, to, value, count, stream, false);
}
K2K_ENTRY_POINT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count,
                                          CUstream stream) {
  return fill(__func__, to, value, count, stream, false);
}
