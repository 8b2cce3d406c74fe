//! Errors of this crate.

/// Why a program is not in the kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BpfError {
    /// The programs were not compiled.
    #[error("not built: {0}; install clang 16 or later (Debian 12: clang-19), then build again")]
    NotBuilt(&'static str),
    /// No name that the kernel takes.
    #[error(
        "`{0}` cannot name anything in the kernel: 1 to {max} letters, digits, `_` or `-`",
        max = crate::NAME_MAX
    )]
    Name(String),
    /// The name is in use.
    #[error("`{0}` is registered already: choose another name")]
    NameTaken(String),
    /// The process may not do this.
    #[error("{0} needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: run with sudo")]
    Permission(String),
    /// The kernel does not describe its types.
    #[error("no /sys/kernel/btf/vmlinux: needs a kernel with CONFIG_DEBUG_INFO_BTF=y")]
    NoTypes,
    /// The kernel has no queue disciplines in BPF.
    #[error(
        "this kernel has no queue disciplines in BPF: needs Linux 6.16 or later with \
         CONFIG_NET_SCH_BPF=y, such as Debian's 7.x from backports"
    )]
    NoQueues,
    /// The kernel loads no program that walks its sockets.
    #[error(
        "this kernel lets this process load no program that lists sockets (a tracing program, \
         which takes CAP_PERFMON, and a kernel that has not switched them off)"
    )]
    NoListing,
    /// The kernel said no.
    #[error("the kernel refused {what}: {reason}{log}")]
    Refused {
        /// The operation.
        what: String,
        /// Its answer.
        reason: String,
        /// The end of libbpf's and the verifier's report, on lines of its own; or nothing.
        log: String,
    },
}
