"""The lists of exported symbols are read, written and compared."""

from devtool.abi import differences, exported, parsed, text_of

MANGLED = """\
0000000000000000 A K2K_1
0000000000001000 T k2k_open
0000000000002000 T _ZN3k2k4openEi@@K2K_1
"""
READABLE = """\
0000000000000000 A K2K_1
0000000000001000 T k2k_open
0000000000002000 T k2k::open(int)@@K2K_1
"""
SYMBOLS = {"k2k_open": "k2k_open", "_ZN3k2k4openEi@@K2K_1": "k2k::open(int)@@K2K_1"}


def test_takes_symbols_with_versions_and_leaves_out_the_versions_themselves() -> None:
    assert exported(MANGLED, READABLE) == SYMBOLS


def test_reads_its_own_output() -> None:
    text = text_of(SYMBOLS)
    assert text == "_ZN3k2k4openEi@@K2K_1 k2k::open(int)@@K2K_1\nk2k_open\n"
    assert parsed(text) == SYMBOLS


def test_names_added_and_removed_symbols() -> None:
    assert differences("libk2k.so", {"a": "a", "b": "b"}, {"b": "b", "_Zc": "c()"}) == [
        "libk2k.so no longer offers a",
        "libk2k.so newly offers c()",
    ]
    assert differences("libk2k.so", {"a": "a"}, {"a": "a"}) == []
