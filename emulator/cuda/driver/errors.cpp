// cuGetErrorName, cuGetErrorString.

#include <algorithm>

#include "emulator/cuda/driver/state.hpp"

namespace k2k::emulator::driver {

namespace {

struct ErrorRow {
  CUresult code;
  const char* name;
  const char* text;
};

constexpr ErrorRow error_rows[] = {
    {success, "CUDA_SUCCESS", "no error"},
    {invalid_value, "CUDA_ERROR_INVALID_VALUE", "an argument is not valid"},
    {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {not_initialized, "CUDA_ERROR_NOT_INITIALIZED",
     "cuInit was not called, or the process is the child of one that called it"},
    {no_device, "CUDA_ERROR_NO_DEVICE", "no device"},
    {invalid_device, "CUDA_ERROR_INVALID_DEVICE", "there is no device of this number"},
    {invalid_image, "CUDA_ERROR_INVALID_IMAGE", "the image is no PTX and no fat binary"},
    {invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "no context is current, or it is not valid"},
    {no_binary_for_gpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the image has no PTX for this device"},
    {unsupported_limit, "CUDA_ERROR_UNSUPPORTED_LIMIT", "the limit is not known"},
    {invalid_ptx, "CUDA_ERROR_INVALID_PTX", "the PTX was refused; the log says where and why"},
    {unsupported_ptx_version, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the PTX is of a newer version of the language"},
    {file_not_found, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {operating_system, "CUDA_ERROR_OPERATING_SYSTEM", "a call of the operating system failed"},
    {invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "the handle is not valid"},
    {not_found, "CUDA_ERROR_NOT_FOUND", "there is nothing of this name"},
    {not_ready, "CUDA_ERROR_NOT_READY", "not ready"},
    {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel accessed memory that is not its own"},
    {launch_out_of_resources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "the launch needs more than the device has"},
    {launch_timeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel was ended"},
    {context_is_destroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context is destroyed"},
    {assertion, "CUDA_ERROR_ASSERT", "an assertion of a kernel failed"},
    {memory_already_registered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "the memory is registered already"},
    {memory_not_registered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "the memory is not registered"},
    {hardware_stack_error, "CUDA_ERROR_HARDWARE_STACK_ERROR", "the stack of a lane overflowed"},
    {illegal_instruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel had an illegal instruction"},
    {misaligned_address, "CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel accessed a misaligned address"},
    {launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed; the log says where and why"},
    {cooperative_launch_too_large, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
     "not all blocks fit onto the device together"},
    {not_supported, "CUDA_ERROR_NOT_SUPPORTED", "the emulated driver does not support this"},
    {invalid_cluster_size, "CUDA_ERROR_INVALID_CLUSTER_SIZE",
     "the cluster does not divide the grid, is too large, or is not the kernel's"},
    {unknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorRow* row_of(CUresult code) {
  const auto* const row = std::find_if(std::begin(error_rows), std::end(error_rows),
                                       [&](const ErrorRow& one) { return one.code == code; });
  return row == std::end(error_rows) ? nullptr : row;
}

}  // namespace

}  // namespace k2k::emulator::driver

using namespace k2k::emulator::driver;

K2K_ENTRY_POINT CUresult cuGetErrorName(CUresult code, const char** name) {
  const ErrorRow* const row = row_of(code);
  if (name == nullptr) return invalid_value;
  *name = row == nullptr ? nullptr : row->name;
  return row == nullptr ? invalid_value : success;
}

K2K_ENTRY_POINT CUresult cuGetErrorString(CUresult code, const char** text) {
  const ErrorRow* const row = row_of(code);
  if (text == nullptr) return invalid_value;
  *text = row == nullptr ? nullptr : row->text;
  return row == nullptr ? invalid_value : success;
}
