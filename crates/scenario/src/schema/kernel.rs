//! `[kernel]`: choices that only real sockets have.
use l4s_model::{Ip, Kernel, QdiscOf};

use super::one_table;
use crate::fault::Gathered;
use crate::field::{Field, Refusal, count, flag, read_table, word, written};
use crate::tree::{Item, Node, Table};

/// Whose discipline, in scenarios.
const QDISCS: [(&str, QdiscOf); 2] = [("linux", QdiscOf::Linux), ("bpf", QdiscOf::Bpf)];

pub(crate) const KERNEL: &[Field<Kernel>] = &[
    Field {
        name: "ip",
        doc: "the version of IP between servers and clients: 4 or 6",
        required: false,
        read: |kernel, node| match count(node, 4, 6) {
            Ok(4) => {
                kernel.ip = Ip::V4;
                Ok(())
            }
            Ok(6) => {
                kernel.ip = Ip::V6;
                Ok(())
            }
            _ => Err(Refusal::expected("4 or 6")),
        },
        write: |kernel| {
            Some(match kernel.ip {
                Ip::V4 => Item::Integer(4),
                Ip::V6 => Item::Integer(6),
            })
        },
    },
    Field {
        name: "gso",
        doc: "let senders hand down bursts of up to 64 KiB, which the queue sees as one packet",
        required: false,
        read: |kernel, node| flag(node).map(|gso| kernel.gso = gso),
        write: |kernel| Some(kernel.gso.into()),
    },
    Field {
        name: "qdisc",
        doc: "with --on qdisc, whose discipline: the kernel's own (linux), or our dualpi2 in BPF (bpf)",
        required: false,
        read: |kernel, node| word(node, &QDISCS).map(|qdisc| kernel.qdisc = qdisc),
        write: |kernel| written(&QDISCS, kernel.qdisc),
    },
];

pub(super) fn kernel(root: &Table, gathered: &mut Gathered) -> Kernel {
    let mut kernel = Kernel::default();
    let table = root.get("kernel").map(|node: &Node| (node, one_table(node, "kernel", gathered)));
    if let Some((node, Some(table))) = table {
        read_table(table, &node.place, "kernel", KERNEL, &[], &mut kernel, gathered);
    }
    kernel
}
