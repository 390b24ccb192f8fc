# Writes the bytes of the file IN as numbers of a C array into OUT. Run as cmake -DIN=... -DOUT=... -P.
#
# Not .incbin: ccache does not see the file behind it.
file(READ "${IN}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x..,){32})" "\\1\n" bytes "${bytes}")
file(WRITE "${OUT}" "${bytes}\n")
