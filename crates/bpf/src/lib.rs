//! DCTCP, Prague and ECT(1) for stock Linux kernels, as BPF programs, and their loader.
