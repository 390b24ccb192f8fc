#pragma once
// K2K_API marks the functions and classes that libk2k.so exports. Everything else is compiled with
// hidden visibility.
//
// Mark functions and classes that a program outside this tree calls, directly or through an inline
// function: the public classes, the C ABI, and the hooks for device code that is compiled into the
// program.

// K2K_INTERNAL marks members of such a class that only the library calls.
//
// cmake/abi/ lists the exports; `./dev check --only generated` compares.

#define K2K_API __attribute__((visibility("default")))
#define K2K_INTERNAL __attribute__((visibility("hidden")))
