#include "emulator/cuda/ptx/parser.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "emulator/cuda/ptx/body_parser.hpp"
#include "emulator/cuda/ptx/declarations.hpp"

namespace k2k::emulator::ptx {

namespace {

class ModuleParser {
 public:
  explicit ModuleParser(Module& module) : module_(module), cursor_(tokens_of(module.text)) {}

  void parse() {
    header();
    while (cursor_.look().kind != Token::Kind::end) statement();
  }

 private:
  void header() {
    if (!cursor_.take_if_dot("version")) cursor_.wrong(".version");
    const Token& version = cursor_.take();
    const std::string text(version.text);
    const std::size_t dot = text.find('.');
    if (version.kind != Token::Kind::real || dot == std::string::npos || dot > 3) {
      throw Refusal(Reason::invalid, version.line, ".version needs a number such as 9.0");
    }
    module_.version = static_cast<std::uint32_t>(std::stoul(text.substr(0, dot)) * 10 +
                                                 static_cast<unsigned>(text[dot + 1] - '0'));
    if (module_.version > version_max) {
      throw Refusal(Reason::newer_version, version.line,
                    "PTX ISA " + text + " is newer than 9.0, the newest that is known");
    }
    if (!cursor_.take_if_dot("target")) cursor_.wrong(".target");
    do {
      target(cursor_.need_name("a target"));
    } while (cursor_.take_if(','));
    if (cursor_.take_if_dot("address_size") && cursor_.need_integer("64") != 64) {
      throw Refusal(Reason::unsupported, cursor_.look().line, "addresses have 64 bits here");
    }
  }

  void target(const std::string& name) {
    if (name == "texmode_independent" || name == "debug") return;
    if (!name.starts_with("sm_") || name.size() < 5) {
      throw Refusal(Reason::unsupported, cursor_.look().line, "the target '" + name + "'");
    }
    std::size_t used = 0;
    try {
      module_.target = static_cast<std::uint32_t>(std::stoul(name.substr(3), &used));
    } catch (const std::exception&) {
      cursor_.wrong("a target such as sm_90");
    }
    const std::string suffix = name.substr(3 + used);
    // Code for 9.0a runs on 9.0 alone, of another architecture's family nowhere here.
    const bool ours = suffix.empty() || (module_.target == target_max && suffix == "a");
    if (module_.target > target_max || !ours) {
      throw Refusal(Reason::other_target, cursor_.look().line,
                    "the target " + name + " is not of this device, sm_90");
    }
  }

  void statement() {
    if (cursor_.look().dot("file")) return cursor_.skip_line();
    if (cursor_.take_if_dot("section")) {  // Debug information.
      cursor_.skip_to('{');
      return cursor_.skip_to('}');
    }
    if (cursor_.take_if_dot("pragma")) return cursor_.skip_to(';');
    bool is_extern = false;
    while (cursor_.look().dot("visible") || cursor_.look().dot("weak") ||
           cursor_.look().dot("extern") || cursor_.look().dot("common")) {
      is_extern = is_extern || cursor_.look().dot("extern");
      cursor_.take();
    }
    if (cursor_.take_if_dot("entry")) return function(true);
    if (cursor_.take_if_dot("func")) return function(false);
    if (const std::optional<Space> space = space_of(cursor_.look())) {
      cursor_.take();
      return variables(*space, is_extern);
    }
    if (cursor_.look().kind == Token::Kind::dotted) {
      throw Refusal(Reason::unsupported, cursor_.look().line,
                    "the directive ." + std::string(cursor_.look().text) + " is not known");
    }
    cursor_.wrong("a directive");
  }

  void variables(Space space, bool is_extern) {
    if (space == Space::local || space == Space::param) {
      cursor_.wrong("a variable of the module, not of a function");
    }
    for (Variable& variable : variables_of(cursor_, space, is_extern)) {
      if (space == Space::shared && !is_extern) {
        module_.shared_bytes = aligned(module_.shared_bytes, variable.align);
        variable.offset = module_.shared_bytes;
        module_.shared_bytes += variable.bytes;
      }
      const auto [at, fresh] = module_.variable_names.emplace(
          variable.name, static_cast<std::uint32_t>(module_.variables.size()));
      if (fresh) {
        module_.variables.push_back(std::move(variable));
      } else if (module_.variables[at->second].is_extern) {
        module_.variables[at->second] = std::move(variable);
      } else if (!is_extern) {
        throw Refusal(Reason::invalid, variable.line, variable.name + " is defined twice");
      }
    }
  }

  void function(bool is_entry) {
    Function made;
    made.is_entry = is_entry;
    made.line = cursor_.look().line;
    if (cursor_.look().is('(')) parameters_of(cursor_, made.returns, made.parameter_bytes);
    made.name = cursor_.need_name("the name of a function");
    if (cursor_.look().is('(')) parameters_of(cursor_, made.parameters, made.parameter_bytes);
    attributes(made);
    const std::uint32_t index = place(std::move(made));
    if (cursor_.take_if(';')) return;
    module_.functions[index].has_body = true;
    parse_body(cursor_, module_, index);
  }

  void attributes(Function& function) {
    while (cursor_.look().kind == Token::Kind::dotted) {
      const Token& token = cursor_.take();
      if (token.text == "noreturn") continue;
      if (token.text == "explicitcluster") {
        function.needs_cluster = true;
        continue;
      }
      if (token.text == "reqnctapercluster") {
        cluster(function);
        continue;
      }
      if (token.text == "maxclusterrank") {
        function.cluster_max = static_cast<std::uint32_t>(cursor_.need_size("a number of blocks"));
        continue;
      }
      const bool threads = token.text == "maxntid" || token.text == "reqntid";
      if (!threads && token.text != "minnctapersm" && token.text != "maxnreg" &&
          token.text != "maxnctapersm") {
        throw Refusal(Reason::unsupported, token.line,
                      "the directive ." + std::string(token.text) + " of a function");
      }
      std::uint64_t product = 1;
      do {
        product *= cursor_.need_size("a number");
      } while (cursor_.take_if(','));
      if (threads) function.threads_max = static_cast<std::uint32_t>(product);
    }
  }

  void cluster(Function& function) {
    function.cluster = {1, 1, 1};
    std::size_t axis = 0;
    do {
      if (axis == function.cluster.size()) cursor_.wrong("three numbers at most");
      const std::uint64_t blocks = cursor_.need_size("a number of blocks");
      if (blocks == 0 || blocks > 0xffff) cursor_.wrong("a size of a cluster");
      function.cluster[axis++] = static_cast<std::uint32_t>(blocks);
    } while (cursor_.take_if(','));
  }

  // A definition takes the place of its declaration.
  std::uint32_t place(Function made) {
    const auto [at, fresh] = module_.function_names.emplace(
        made.name, static_cast<std::uint32_t>(module_.functions.size()));
    if (fresh) {
      module_.functions.push_back(std::move(made));
    } else if (module_.functions[at->second].has_body && cursor_.look().is('{')) {
      throw Refusal(Reason::invalid, made.line, made.name + " is defined twice");
    } else if (!module_.functions[at->second].has_body) {
      module_.functions[at->second] = std::move(made);
    }
    return at->second;
  }

  Module& module_;
  Cursor cursor_;
};

}  // namespace

Module parse(std::string text) {
  Module module;
  module.text = std::move(text);
  while (!module.text.empty() && module.text.back() == '\0') module.text.pop_back();
  ModuleParser(module).parse();
  return module;
}

}  // namespace k2k::emulator::ptx
