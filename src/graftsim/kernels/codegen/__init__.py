"""From a program to machine code: liveness, order, LLVM text, the object on disk."""
