#include "backend/cpu/fibre/fibre_switch.hpp"

#include <cstdint>

namespace k2k::backend::cpu {

#if defined(K2K_SWITCH_BY_UCONTEXT)

void prepare_context(Context& context, std::byte* stack, std::size_t stack_bytes, void (*entry)()) {
  getcontext(&context.registers);
  context.registers.uc_stack.ss_sp = stack;
  context.registers.uc_stack.ss_size = stack_bytes;
  context.registers.uc_link = nullptr;
  makecontext(&context.registers, entry, 0);
}

#else

void prepare_context(Context& context, std::byte* stack, std::size_t stack_bytes, void (*entry)()) {
  // The switch pops the entry. Above it a return address of zero, which ends every backtrace
  // and leaves the stack aligned as at any function's first instruction.
  auto* const top = reinterpret_cast<std::uint64_t*>(stack + stack_bytes);
  std::uint64_t* const frame = top - 2;
  frame[0] = reinterpret_cast<std::uint64_t>(entry);
  frame[1] = 0;
  context.stack_pointer = frame;
}

#endif

}  // namespace k2k::backend::cpu
