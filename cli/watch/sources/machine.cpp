#include "cli/watch/sources/machine.hpp"

namespace k2k::watch {

namespace {

struct PciOwner {
  std::string address;
  std::string driver;
};

using PciOwners = std::map<unsigned, PciOwner>;

PciOwners pci_owners(const std::string& devices) {
  PciOwners owners;
  for (const std::string& address : names_in(devices)) {
    const std::string device = devices + "/" + address;
    const PciOwner owner{address, name_behind(device + "/driver")};
    std::vector<std::string> numbers = names_in(device + "/msi_irqs");
    if (numbers.empty()) numbers.push_back(line_of_file(device + "/irq"));
    for (const std::string& text : numbers) {
      const auto number = number_of(text);
      // Several devices may share a line interrupt: the first keeps it.
      if (number && *number > 0) owners.emplace(static_cast<unsigned>(*number), owner);
    }
  }
  return owners;
}

std::vector<std::string> split_actions(std::string_view list) {
  std::vector<std::string> actions;
  while (!list.empty()) {
    for (const std::string_view word : words_of(take_until(list, ','))) actions.emplace_back(word);
  }
  return actions;
}

// The actions in the text of /proc/interrupts: behind the controller and the number at it, which
// is one word ("1-edge") or, on other architectures, two ("27 Level").
std::string_view actions_of(std::string_view rest) {
  const std::vector<std::string_view> words = words_of(rest);
  if (words.size() < 2) return {};
  const std::size_t first = words[1].find('-') != std::string_view::npos ? 2 : 3;
  if (words.size() <= first) return {};
  return rest.substr(static_cast<std::size_t>(words[first].data() - rest.data()));
}

// The address in a controller's name, "PCI-MSIX-0000:00:02.0"; empty if there is none.
std::string address_in(std::string_view rest) {
  const std::string_view controller = rest.substr(0, rest.find(' '));
  const std::size_t colon = controller.find(':');
  const std::size_t dash = controller.rfind('-', colon);
  if (colon == std::string_view::npos || dash == std::string_view::npos) return {};
  const std::string_view address = controller.substr(dash + 1);
  return address.find('.') == std::string_view::npos ? std::string() : std::string(address);
}

// "virtio1" of "virtio1-req.0"; empty for other actions.
std::string virtio_device(std::string_view action) {
  if (!action.starts_with("virtio")) return {};
  const std::string_view device = action.substr(0, action.find('-'));
  return number_of(device.substr(6)) ? std::string(device) : std::string();
}

}  // namespace

std::map<unsigned, InterruptOwner> find_owners(const Roots& roots,
                                               const std::vector<CountedLine>& lines) {
  const std::string devices = roots.sys + "/bus/pci/devices";
  const PciOwners by_number = pci_owners(devices);
  std::map<unsigned, InterruptOwner> owners;
  for (const CountedLine& line : lines) {
    const auto number = number_of(line.id);
    if (!number || *number > UINT32_MAX) continue;
    const auto interrupt = static_cast<unsigned>(*number);
    InterruptOwner owner;
    owner.actions = split_actions(line_of_file(roots.sys + "/kernel/irq/" + line.id + "/actions"));
    if (owner.actions.empty()) owner.actions = split_actions(actions_of(line.rest));
    if (const auto found = by_number.find(interrupt); found != by_number.end()) {
      owner.device = found->second.address;
      owner.driver = found->second.driver;
    } else if (const std::string address = address_in(line.rest); !address.empty()) {
      owner.device = address;
      owner.driver = name_behind(devices + "/" + address + "/driver");
    }
    for (const std::string& action : owner.actions) {
      const std::string device = virtio_device(action);
      if (device.empty()) continue;
      owner.device = device;
      owner.driver = name_behind(roots.sys + "/bus/virtio/devices/" + device + "/driver");
      break;
    }
    owners[interrupt] = std::move(owner);
  }
  return owners;
}

}  // namespace k2k::watch
