#pragma once
// K2K_API marks what libk2k.so offers. Everything else is compiled with hidden visibility.
//
// Mark functions and classes that a program outside this tree calls, directly or through an inline
// function: the façade, the C ABI, and the hooks that device code compiled into the program needs.

// K2K_INTERNAL marks the members of such a class that only the library calls.
//
// cmake/abi/ lists what is offered; `./dev check --only generated` compares.

#define K2K_API __attribute__((visibility("default")))
#define K2K_INTERNAL __attribute__((visibility("hidden")))
