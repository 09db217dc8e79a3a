"""Compilation of CasADi programs to machine code, which is cached on disk."""
