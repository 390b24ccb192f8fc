#pragma once
// K2K_API marks what libk2k.so offers. Everything else is compiled with hidden visibility.
//
// Mark functions and classes that a program outside this tree calls, directly or through an inline
// function: the façade, the C ABI, and the hooks that device code compiled into the program needs.

#define K2K_API __attribute__((visibility("default")))
