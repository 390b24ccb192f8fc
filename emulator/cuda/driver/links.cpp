// cuLink…: PTX texts become one (ptx/link.hpp). What cuLinkComplete gives is that text: only this
// driver loads it.

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>

#include "emulator/cuda/driver/image.hpp"
#include "emulator/cuda/driver/state.hpp"
#include "emulator/cuda/ptx/link.hpp"
#include "emulator/cuda/ptx/refusal.hpp"

namespace k2k::emulator::driver {

namespace {

struct Link {
  std::vector<std::string> texts;
  std::string result;  // "": not complete.
};

// All links that exist. Never destroyed: see state.hpp.
struct Links {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<Link>> all;

  static Links& get() {
    static auto* const links = new Links;
    return *links;
  }
  Link* find(const void* handle) {
    const auto found = all.find(handle);
    return found == all.end() ? nullptr : found->second.get();
  }
};

// CUjitInputType
constexpr int input_ptx = 1;
constexpr int input_fat_binary = 2;

CUresult refuse(const std::string& name, const std::string& why, CUresult answer) {
  Driver::get().log(name + " was not linked: " + why);
  return answer;
}

CUresult add(const void* handle, int type, const std::string& data, const char* name) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  const std::string shown = name == nullptr || *name == '\0' ? "input" : name;
  if (type != input_ptx && type != input_fat_binary) {
    return refuse(shown,
                  "inputs of type " + std::to_string(type) +
                      " are not PTX; pass PTX, or a fat "
                      "binary with it",
                  no_binary_for_gpu);
  }
  std::string text;
  std::string why;
  if (const CUresult answer = ptx_of(data.c_str(), text, why); answer != success) {
    return refuse(shown, why, answer);
  }
  Links& links = Links::get();
  const std::lock_guard lock(links.mutex);
  Link* const link = links.find(handle);
  if (link == nullptr) return invalid_handle;
  if (!link->result.empty()) return invalid_value;
  try {
    static_cast<void>(ptx::linked({text}));
  } catch (const ptx::Refusal& refusal) {
    return refuse(shown + ":" + std::to_string(refusal.line), refusal.what(), invalid_ptx);
  }
  link->texts.push_back(std::move(text));
  return success;
}

CUresult add_file(const void* handle, int type, const char* path) {
  if (path == nullptr) return invalid_value;
  std::ifstream file(path, std::ios::binary);
  if (!file) return file_not_found;
  return add(handle, type, std::string(std::istreambuf_iterator<char>(file), {}), path);
}

}  // namespace

}  // namespace k2k::emulator::driver

using namespace k2k::emulator;
using namespace k2k::emulator::driver;

// The options, of which the buffers for logs are some, are not read: sentences go to the log.
K2K_ENTRY_POINT CUresult cuLinkCreate_v2(unsigned, int*, void**, void** handle) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  if (handle == nullptr) return invalid_value;
  auto made = std::make_unique<Link>();
  *handle = made.get();
  Links& links = Links::get();
  const std::lock_guard lock(links.mutex);
  links.all.emplace(*handle, std::move(made));
  return success;
}
K2K_ENTRY_POINT CUresult cuLinkAddData_v2(const void* handle, int type, const void* data,
                                          std::size_t bytes, const char* name, unsigned, int*,
                                          void**) {
  if (data == nullptr || bytes == 0) return invalid_value;
  return add(handle, type, std::string(static_cast<const char*>(data), bytes), name);
}
K2K_ENTRY_POINT CUresult cuLinkAddFile_v2(const void* handle, int type, const char* path, unsigned,
                                          int*, void**) {
  return add_file(handle, type, path);
}
// The result lives as long as the link.
K2K_ENTRY_POINT CUresult cuLinkComplete(const void* handle, void** result, std::size_t* bytes) {
  if (result == nullptr) return invalid_value;
  Links& links = Links::get();
  const std::lock_guard lock(links.mutex);
  Link* const link = links.find(handle);
  if (link == nullptr) return invalid_handle;
  if (link->texts.empty()) return invalid_value;
  if (link->result.empty()) {
    try {
      link->result = ptx::linked(link->texts);
    } catch (const ptx::Refusal& refusal) {
      return refuse("module:" + std::to_string(refusal.line), refusal.what(), invalid_ptx);
    }
  }
  *result = link->result.data();
  if (bytes != nullptr) *bytes = link->result.size() + 1;
  return success;
}
K2K_ENTRY_POINT CUresult cuLinkDestroy(const void* handle) {
  Links& links = Links::get();
  const std::lock_guard lock(links.mutex);
  return links.all.erase(handle) == 1 ? success : invalid_handle;
}
