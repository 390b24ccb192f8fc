"""The counter of member functions, on declarations that are hard to count."""

import pytest

from class_sizes import class_sizes


def methods(source: str) -> dict[str, int]:
    return {size.name: size.methods for size in class_sizes(source)}


@pytest.mark.parametrize(
    "member",
    [
        "A();",
        "A(const A& other) = default;",
        "explicit A(int value) : value_(value), other_{value} {}",
        "explicit A(int value) : Base<int, 2>(value), list_{1, 2} { if (list_) { use({}); } }",
        "template <class... Bases> A(Bases... bases) : B(bases)... {}",
        "virtual ~A() = default;",
        "void f();",
        "virtual void f() = 0;",
        "[[nodiscard]] bool f() const noexcept override { return a < b && c > d; }",
        "static auto f(int a = g(1), B b = {1, 2}) -> Result<int>;",
        "__attribute__((cold, noinline)) void f(const char* format, ...) "
        "__attribute__((format(printf, 2, 3)));",
        "template <class T, int n = (1 > 0)> requires(sizeof(T) > 4) void f(T) {}",
        "template <class T> static T* f(Pair<T, Pair<int, int>> pair, void (*done)(int));",
        "K2K_ALWAYS_INLINE std::array<int, 2> f() { return {{1, 2}}; }",
        "void f() noexcept(noexcept(g())) {}",
        "bool operator()(int a) const { return a > 1; }",
        "bool operator<(const A& other) const;",
        "auto operator<=>(const A&) const = default;",
        "A& operator=(A&& other) noexcept { swap(other); return *this; }",
        "int operator[](int at) const;",
        "explicit operator bool() const { return true; }",
        "operator std::vector<int>() const;",
        "struct stat f(int descriptor) { struct stat found{}; return found; }",
        "void f() { struct Local { void g(); void h(); }; }",
        "void f() { print(\"}\"); c = '}'; /* } */ n = 1'000; } // }",
        'void f() { print(R"x(")} )x"); }',
        "void f() { each([&](int a) { return values[index[a]]; }); }",
        "void f();;",
    ],
)
def test_counts_one_function(member: str) -> None:
    assert methods(f"class A {{\n public:\n  {member}\n  int end_ = 0;\n}};\n") == {"A": 1}
    assert methods(f"class A {{\n  {member}\n  void last();\n}};\n") == {"A": 2}


@pytest.mark.parametrize(
    "member",
    [
        "A(const A&) = delete;",
        "A& operator=(const A&) = delete;",
        'void f(int) = delete("by value");',
        "friend bool operator==(const A&, const A&) { return true; }",
        "friend class B;",
        "using F = void (*)(int);",
        "typedef int (*F)(int);",
        'static_assert(sizeof(int) == 4, "a text");',
        "enum class E : int { a = f(1), b };",
        "class B;",
        "struct B* next = nullptr;",
        "struct timespec when_{};",
        "int a = 3, b{4}, c[max(1, 2)];",
        "int bits : 3;",
        "int least = a < b ? f(1) : g(2);",
        "std::function<void(int)> told = [](int) { return; };",
        "void (*const base_)();",
        "int (B::*field_)(int);",
        "int (&four_)[4];",
        "alignas(64) std::atomic<int> word_{0};",
        "decltype(f(1)) value_;",
        "// void f();",
        "/* void f(); */",
        "#define F void f();",
        "#define G(a) \\\n  void a();",
    ],
)
def test_counts_no_function(member: str) -> None:
    assert methods(f"class A {{\n  {member}\n  int end_ = 0;\n}};\n") == {"A": 0}
    assert methods(f"class A {{\n  {member}\n  void last();\n}};\n") == {"A": 1}


@pytest.mark.parametrize(
    "source",
    [
        "#if A\nclass A { void f(); };\n\n\n#else\nint a;\n#endif",
        "#if A\n#error\n\n#else\nclass A { void f(); };\n#endif",
        "#if A\nint a;\n#elif B\nclass A {\n void f();\n};\n#else\nint a;\nint b;\n#endif",
        "#if A\n#if B\nint a;\nint b;\n#else\nint c;\n#endif\n"
        "#else\nclass A {\n void f();\n};\n#endif",
        "class A {\n#if A\nvoid f() {\nint a;\n#else\nvoid g() {\n#endif\n}\n};",
    ],
)
def test_reads_the_longest_branch_of_a_condition(source: str) -> None:
    assert methods(source) == {"A": 1}


def test_a_nested_class_counts_for_itself() -> None:
    source = "class A { void f(); struct B { void g(); void h(); } b; void i(); };"
    assert methods(source) == {"A": 2, "A::B": 2}


def test_a_nested_class_may_be_defined_outside() -> None:
    assert methods("class A {\n  class B;\n};\nclass A::B {\n  void f();\n};\n") == {
        "A": 0,
        "A::B": 1,
    }


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("class A", "A"),
        ("class A final : public B<C, D>, private E", "A"),
        ("class K2K_API A", "A"),
        ("struct alignas(64) A", "A"),
        ("struct [[nodiscard]] A", "A"),
        ("struct __attribute__((packed)) A", "A"),
        ("template <class T, template <class> class U> class A", "A"),
        ("template <> struct std::hash<A>", "std::hash<A>"),
        ("union A", "A"),
        ("static struct", "(unnamed)"),
    ],
)
def test_knows_the_head_of_a_class(head: str, name: str) -> None:
    assert methods(f"{head} {{\n  void f();\n}} x;\n") == {name: 1}


def test_looks_into_namespaces_and_linkage() -> None:
    body = "class A { void f(); };"
    for around in ("namespace a::b", "namespace", "inline namespace v1", 'extern "C"'):
        assert methods(f"{around} {{\n{body}\n}}\nclass B {{}};") == {"A": 1, "B": 0}
    assert methods(f"namespace fs = std::filesystem;\n{body}") == {"A": 1}


def test_functions_outside_of_classes_are_passed() -> None:
    source = """
    template <class T> bool A<T>::f() { if (a) { b(); } }
    A::A() : b_(1), c_{2} {}
    struct tm now() { return {}; }
    struct tm begin{};
    constexpr auto each = [](auto f) { f(); };
    extern "C" int main();
    class B { void f(); };
    """
    assert methods(source) == {"B": 1}


def test_names_the_line() -> None:
    (size,) = class_sizes('#include "a"\n/* a\n b */\nauto a = R"(\n)";\nclass A\n    : B {\n};\n')
    assert size.line == 7


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("class A {\n  void f() {\n};\n", "line 1: no closing bracket"),
        ("int a[] = {\n  1;\n", "line 1: no closing bracket"),
        ("class A {\n};\n}\nclass B {\n};\n", "line 3: a closing brace too many"),
    ],
)
def test_refuses_brackets_that_do_not_match(source: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        class_sizes(source)
