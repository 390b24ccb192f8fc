#include "emulator/cuda/ptx/body_parser.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>
#include <utility>

#include "emulator/cuda/ptx/declarations.hpp"

namespace k2k::emulator::ptx {

namespace {

constexpr std::uint64_t registers_max = 1u << 20;

// In the order of Special.
constexpr std::array<std::string_view, static_cast<std::size_t>(Special::count)> special_names{
    "tid",
    "ntid",
    "ctaid",
    "nctaid",
    "laneid",
    "warpid",
    "nwarpid",
    "smid",
    "nsmid",
    "gridid",
    "clock",
    "clock_hi",
    "clock64",
    "globaltimer",
    "globaltimer_lo",
    "globaltimer_hi",
    "lanemask_eq",
    "lanemask_le",
    "lanemask_lt",
    "lanemask_ge",
    "lanemask_gt",
    "dynamic_smem_size",
    "total_smem_size",
    "envreg1",
    "envreg2",
    "clusterid",
    "nclusterid",
    "cluster_ctaid",
    "cluster_nctaid",
    "cluster_ctarank",
    "cluster_nctarank",
    "is_explicit_cluster"};

class BodyParser {
 public:
  BodyParser(Cursor& cursor, Module& module, std::uint32_t index)
      : cursor_(cursor), module_(module), function_(module.functions[index]) {
    function_.registers.assign(2, Type::b64);  // The registers 0 and 1: see Function.
  }

  void parse() {
    block();
    for (const auto& [name, index] : labels_) {
      if (!label_set_[index]) {
        throw Refusal(Reason::invalid, function_.line,
                      "the label '" + name + "' of " + function_.name + " stands nowhere");
      }
    }
    // A body that runs past its end returns, as with `ret`.
    Instruction end;
    end.line = cursor_.look().line;
    end.opcode = "ret";
    function_.instructions.push_back(std::move(end));
  }

 private:
  struct Scope {
    std::map<std::string, Operand, std::less<>> names;
    std::uint64_t frame = 0;
  };

  void block() {
    cursor_.need('{');
    scopes_.push_back({{}, frame_});
    while (!cursor_.take_if('}')) statement();
    frame_ = scopes_.back().frame;
    scopes_.pop_back();
  }

  void statement() {
    const Token& token = cursor_.look();
    if (token.is('{')) return block();
    if (token.is(';')) {
      cursor_.take();
      return;
    }
    if (token.kind == Token::Kind::dotted) return directive();
    if (token.kind == Token::Kind::name && cursor_.look(1).is(':')) {
      const std::string name = cursor_.need_name("a label");
      cursor_.need(':');
      if (cursor_.take_if_dot("branchtargets")) return branch_targets(name);
      if (cursor_.take_if_dot("callprototype") || cursor_.take_if_dot("calltargets")) {
        const std::uint32_t prototype = label_of(name);
        label_set_[prototype] = true;  // An operand of indirect calls; it jumps nowhere.
        return cursor_.skip_to(';');
      }
      const std::uint32_t label = label_of(name);
      if (label_set_[label]) {
        throw Refusal(Reason::invalid, token.line, "the label '" + name + "' stands twice");
      }
      label_set_[label] = true;
      function_.labels[label].target = static_cast<std::uint32_t>(function_.instructions.size());
      return;
    }
    instruction();
  }

  void directive() {
    if (cursor_.take_if_dot("reg")) return registers();
    if (cursor_.look().dot("loc")) return cursor_.skip_line();
    if (cursor_.take_if_dot("pragma")) return cursor_.skip_to(';');
    if (const std::optional<Space> space = space_of(cursor_.look())) {
      cursor_.take();
      return variables(*space, false);
    }
    if (cursor_.take_if_dot("extern")) {
      const std::optional<Space> space = space_of(cursor_.look());
      if (!space) cursor_.wrong("a state space");
      cursor_.take();
      return variables(*space, true);
    }
    throw Refusal(Reason::unsupported, cursor_.look().line,
                  "the directive ." + std::string(cursor_.look().text) + " is not known here");
  }

  void registers() {
    if (cursor_.look().dot("v2") || cursor_.look().dot("v4")) {
      throw Refusal(Reason::unsupported, cursor_.look().line, "vector registers");
    }
    const std::optional<Type> type =
        cursor_.look().kind == Token::Kind::dotted ? type_of(cursor_.look().text) : std::nullopt;
    if (!type) cursor_.wrong("a type");
    cursor_.take();
    do {
      const std::string name = cursor_.need_name("a register");
      if (!cursor_.take_if('<')) {
        add_register(name, *type);
        continue;
      }
      const std::uint64_t count = cursor_.need_size("a number of registers");
      cursor_.need('>');
      if (count > registers_max) cursor_.wrong("a million registers at most");
      for (std::uint64_t at = 0; at < count; ++at) add_register(name + std::to_string(at), *type);
    } while (cursor_.take_if(','));
    cursor_.need(';');
  }

  void add_register(const std::string& name, Type type) {
    Operand operand;
    operand.kind = Operand::Kind::reg;
    operand.index = static_cast<std::uint32_t>(function_.registers.size());
    function_.registers.push_back(type);
    if (type == Type::b128) function_.registers.push_back(Type::b64);  // The upper half.
    declare(name, operand);
  }

  void variables(Space space, bool is_extern) {
    for (Variable& variable : variables_of(cursor_, space, is_extern)) {
      Operand operand;
      if (space == Space::local || space == Space::param) {
        if (!variable.initial.empty()) cursor_.wrong("a variable without initial values");
        frame_ = aligned(frame_, std::max<std::uint64_t>(variable.align, 1));
        operand.kind = Operand::Kind::frame;
        operand.index = space == Space::param ? 1 : 0;
        operand.value = static_cast<std::int64_t>(frame_);
        frame_ += variable.bytes;
        function_.frame_bytes = std::max(function_.frame_bytes, aligned(frame_, 16));
      } else {
        operand.kind = Operand::Kind::variable;
        operand.index = static_cast<std::uint32_t>(module_.variables.size());
        place_shared(variable);
        module_.variables.push_back(variable);
      }
      declare(variable.name, operand);
    }
  }

  void place_shared(Variable& variable) {
    if (variable.space != Space::shared || variable.is_extern) return;
    module_.shared_bytes = aligned(module_.shared_bytes, variable.align);
    variable.offset = module_.shared_bytes;
    module_.shared_bytes += variable.bytes;
  }

  void declare(const std::string& name, const Operand& operand) {
    if (!scopes_.back().names.emplace(name, operand).second) {
      throw Refusal(Reason::invalid, cursor_.look().line, "'" + name + "' is declared twice");
    }
  }

  std::uint32_t label_of(const std::string& name) {
    const auto [place, fresh] =
        labels_.emplace(name, static_cast<std::uint32_t>(function_.labels.size()));
    if (fresh) {
      function_.labels.push_back({name, 0, {}});
      label_set_.push_back(false);
    }
    return place->second;
  }

  void branch_targets(const std::string& name) {
    const std::uint32_t list = label_of(name);
    label_set_[list] = true;
    do {
      const std::uint32_t target = label_of(cursor_.need_name("a label"));
      function_.labels[list].branches.push_back(target);
    } while (cursor_.take_if(','));
    cursor_.need(';');
  }

  void instruction() {
    Instruction made;
    made.line = cursor_.look().line;
    made.begin = cursor_.look().begin;
    if (cursor_.take_if('@')) {
      made.guard_negated = cursor_.take_if('!');
      const std::string name = cursor_.need_name("a predicate");
      const Operand* const guard = find(name);
      if (guard == nullptr || guard->kind != Operand::Kind::reg ||
          function_.registers[guard->index] != Type::pred) {
        throw Refusal(Reason::invalid, made.line, "'" + name + "' is no predicate");
      }
      made.guard = static_cast<std::int32_t>(guard->index);
    }
    made.opcode = cursor_.need_name("an instruction");
    while (cursor_.look().kind == Token::Kind::dotted) {
      made.modifiers.emplace_back(cursor_.take().text);
    }
    while (!cursor_.look().is(';')) {
      made.operands.push_back(operand());
      if (!cursor_.take_if(',')) break;
    }
    made.end = cursor_.look().begin;
    cursor_.need(';');
    function_.instructions.push_back(std::move(made));
  }

  Operand operand() {
    Operand first = plain_operand();
    if (!cursor_.take_if('|')) return first;
    Operand pair;
    pair.kind = Operand::Kind::pair;
    pair.elements.push_back(std::move(first));
    pair.elements.push_back(plain_operand());
    return pair;
  }

  Operand plain_operand() {
    if (cursor_.take_if('!')) {
      Operand negated = plain_operand();
      negated.negated = true;
      return negated;
    }
    if (cursor_.take_if('{')) return elements(Operand::Kind::vector, '}');
    if (cursor_.take_if('(')) return elements(Operand::Kind::list, ')');
    if (cursor_.take_if('[')) return address();
    return value();
  }

  Operand elements(Operand::Kind kind, char end) {
    Operand all;
    all.kind = kind;
    if (cursor_.take_if(end)) return all;
    do {
      all.elements.push_back(value());
    } while (cursor_.take_if(','));
    cursor_.need(end);
    return all;
  }

  Operand address() {
    Operand base = value();
    base.address = true;
    if (cursor_.take_if('+')) {
      base.offset += cursor_.need_integer("an offset");
    } else if (cursor_.look().is('-')) {
      base.offset += cursor_.need_integer("an offset");
    }
    cursor_.need(']');
    return base;
  }

  Operand value() {
    const Token& token = cursor_.look();
    Operand made;
    if (token.kind == Token::Kind::real || token.kind == Token::Kind::real32) {
      made.kind = token.kind == Token::Kind::real ? Operand::Kind::real : Operand::Kind::real32;
      made.value = static_cast<std::int64_t>(cursor_.take().value);
      return made;
    }
    if (token.is('-') && cursor_.look(1).kind == Token::Kind::real) {
      cursor_.take();
      made.kind = Operand::Kind::real;
      made.value = std::bit_cast<std::int64_t>(-std::bit_cast<double>(cursor_.take().value));
      return made;
    }
    if (token.kind == Token::Kind::integer || token.is('-')) {
      made.kind = Operand::Kind::integer;
      made.value = cursor_.need_integer("a number");
      return made;
    }
    const std::string name = cursor_.need_name("an operand");
    if (name == "_") {
      made.kind = Operand::Kind::sink;
      return made;
    }
    if (name == "WARP_SZ") {
      made.kind = Operand::Kind::integer;
      made.value = 32;
      return made;
    }
    if (const Operand* const known = find(name)) {
      made = *known;
      if (made.kind != Operand::Kind::reg && !cursor_.look().is(']') && cursor_.look().is('+')) {
        cursor_.take();
        made.offset = cursor_.need_integer("an offset");
      }
      return made;
    }
    if (name[0] == '%') return special(name.substr(1));
    made.kind = Operand::Kind::label;
    made.index = label_of(name);
    return made;
  }

  Operand special(const std::string& name) {
    Operand made;
    made.kind = Operand::Kind::special;
    const Special found = special_of(name);
    if (found == Special::count) {
      throw Refusal(Reason::unsupported, cursor_.look().line,
                    "'%" + name + "' is neither declared nor a special register that is known");
    }
    made.index = static_cast<std::uint32_t>(found);
    if (cursor_.look().kind == Token::Kind::dotted && cursor_.look().text.size() == 1) {
      const std::string_view axes = "xyz";
      const std::size_t axis = axes.find(cursor_.look().text[0]);
      if (axis == std::string_view::npos) cursor_.wrong("x, y or z");
      made.value = static_cast<std::int64_t>(axis);
      cursor_.take();
    }
    return made;
  }

  // Of the scopes, of the function, of the module.
  const Operand* find(const std::string& name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto at = scope->names.find(name); at != scope->names.end()) return &at->second;
    }
    for (const std::vector<Parameter>* list : {&function_.returns, &function_.parameters}) {
      for (const Parameter& parameter : *list) {
        if (parameter.name != name) continue;
        found_ = Operand();
        found_.kind = Operand::Kind::incoming;
        found_.value = static_cast<std::int64_t>(parameter.offset);
        return &found_;
      }
    }
    if (const auto at = module_.variable_names.find(name); at != module_.variable_names.end()) {
      found_ = Operand();
      found_.kind = Operand::Kind::variable;
      found_.index = at->second;
      return &found_;
    }
    if (const auto at = module_.function_names.find(name); at != module_.function_names.end()) {
      found_ = Operand();
      found_.kind = Operand::Kind::function;
      found_.index = at->second;
      return &found_;
    }
    return nullptr;
  }

  Cursor& cursor_;
  Module& module_;
  Function& function_;
  std::vector<Scope> scopes_;
  std::map<std::string, std::uint32_t> labels_;
  std::vector<bool> label_set_;
  std::uint64_t frame_ = 0;
  Operand found_;
};

}  // namespace

Special special_of(std::string_view name) {
  const auto* const at = std::find(special_names.begin(), special_names.end(), name);
  return static_cast<Special>(at - special_names.begin());
}

void parse_body(Cursor& cursor, Module& module, std::uint32_t index) {
  BodyParser(cursor, module, index).parse();
}

}  // namespace k2k::emulator::ptx
