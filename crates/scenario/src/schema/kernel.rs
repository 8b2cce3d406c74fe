//! `[kernel]`: choices that only real sockets have.

use super::one_table;
use crate::fault::Gathered;
use crate::field::{Field, Refusal, count, flag, read_table};
use crate::tree::{Node, Table};
use crate::{Ip, Kernel};

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
                Ip::V4 => "4".to_owned(),
                Ip::V6 => "6".to_owned(),
            })
        },
    },
    Field {
        name: "gso",
        doc: "let senders hand down bursts of up to 64 KiB, which the queue sees as one packet",
        required: false,
        read: |kernel, node| flag(node).map(|gso| kernel.gso = gso),
        write: |kernel| Some(kernel.gso.to_string()),
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
