//! The answers of this machine's TCP to a set of tracers (Fallback §5.2), in every order.
//!
//! A sender derives the order from these answers, so the simulator's receiver must give the same ones
//! (`note_overlap` in `crates/sim/src/tcp/receiver.rs`; the table is in docs/explanation/tracers.md). Without the
//! right to create namespaces the test is skipped, with a message.

use std::io::{self, Read as _};
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration as Wait, Instant};

use etherparse::{NetHeaders, PacketBuilder, PacketHeaders, TcpHeader, TcpOptionElement};
use l4s_os::{Offload, Read, Tun};

const RECEIVER: [u8; 4] = [10, 0, 0, 1];
const SENDER: [u8; 4] = [10, 0, 1, 1];
const PORT: u16 = 5001;
/// Longer than the timer of a delayed acknowledgement.
const ANSWERED: Wait = Wait::from_millis(500);
/// The payload of a full segment, and the payloads of the packets of a split set.
const FULL: usize = 1448;
const FRONT: Part = (-1148, 1148);
const MIDDLE: Part = (-2, 98);
const REAR: Part = (-1, 98);
/// The segment of a set of copies, its copies, and the segment before it.
const WHOLE: Part = (-1448, FULL);
const MIDDLE_COPY: Part = (-98, 98);
const REAR_COPY: Part = (-97, 97);
const EARLIER: Part = (-2896, FULL);

/// The start of a packet, as a distance from the end of the front, and its bytes.
type Part = (i64, usize);
/// An acknowledgement and its blocks, as distances from the end of the front.
type Answer = (i64, Vec<(i64, i64)>);

/// A sender whose packets are all made by hand.
struct Sender {
    tun: Tun,
    port: u16,
    /// The next byte to send, and the next one that is expected.
    next: u32,
    expected: u32,
}

impl Sender {
    /// Opens a connection after its slow start, so that acknowledgements are delayed again. `missing` bytes
    /// up to the end of the front have not arrived.
    fn connect(tun: Tun, port: u16, missing: usize) -> Sender {
        let mut sender = Sender { tun, port, next: 1000, expected: 0 };
        let options = [
            TcpOptionElement::MaximumSegmentSize(1460),
            TcpOptionElement::SelectiveAcknowledgementPermitted,
        ];
        let mut syn = TcpHeader::new(port, PORT, 999, 65_535);
        syn.syn = true;
        syn.set_options(&options).unwrap();
        sender.write(syn, &[]);
        let reply = sender.read(ANSWERED, 1).pop().expect("a SYN-ACK");
        assert!(reply.syn && reply.acknowledgment_number == 1000);
        sender.expected = reply.sequence_number + 1;
        for _ in 0..40 {
            sender.send((0, FULL));
            sender.next += FULL as u32;
        }
        sender.answers();
        // Distances are from the end of the front.
        sender.next += missing as u32;
        sender
    }

    /// Sends bytes from this place on.
    fn send(&self, (from, length): Part) {
        let seq = self.next.wrapping_add_signed(from as i32);
        let mut header = TcpHeader::new(self.port, PORT, seq, 65_535);
        (header.ack, header.acknowledgment_number) = (true, self.expected);
        self.write(header, &vec![1; length]);
    }

    /// The acknowledgements, until none arrives any more.
    fn answers(&self) -> Vec<Answer> {
        let distance = |seq: u32| i64::from(seq.wrapping_sub(self.next) as i32);
        let answer = |header: TcpHeader| {
            let blocks = header.options_iterator().find_map(|option| match option {
                Ok(TcpOptionElement::SelectiveAcknowledgement(first, more)) => {
                    Some(std::iter::once(first).chain(more.into_iter().flatten()))
                }
                _ => None,
            });
            let blocks = blocks.into_iter().flatten().map(|(a, b)| (distance(a), distance(b)));
            (distance(header.acknowledgment_number), blocks.collect())
        };
        self.read(ANSWERED, usize::MAX).into_iter().map(answer).collect()
    }

    fn write(&self, header: TcpHeader, payload: &[u8]) {
        let builder = PacketBuilder::ipv4(SENDER, RECEIVER, 64).tcp_header(header);
        let mut packet = Vec::with_capacity(builder.size(payload.len()));
        builder.write(&mut packet, payload).unwrap();
        self.tun.write_with(Offload::default(), &packet).unwrap();
    }

    /// Headers of this connection: at most `most`, within the time `wait`.
    fn read(&self, wait: Wait, most: usize) -> Vec<TcpHeader> {
        let (until, mut headers) = (Instant::now() + wait, Vec::new());
        let mut buffer = [0; 2000];
        while headers.len() < most && Instant::now() < until {
            let Read::Packet(length) = self.tun.read(&mut buffer).unwrap() else {
                std::thread::sleep(Wait::from_millis(1));
                continue;
            };
            let Ok(packet) = PacketHeaders::from_ip_slice(&buffer[Offload::LENGTH..length]) else {
                continue;
            };
            let Some(NetHeaders::Ipv4(..)) = packet.net else { continue };
            headers.extend(packet.transport.and_then(|transport| transport.tcp()));
        }
        headers
    }
}

/// Moves this thread into a network namespace of its own, with a device and a receiver that reads
/// everything.
#[allow(unsafe_code)]
fn enter() -> io::Result<Tun> {
    // SAFETY: only the flag for descriptors is unsafe, and it is not set.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET)? };
    let tun = Tun::open("tun0")?;
    for arguments in ["address add 10.0.0.1 peer 10.0.1.1 dev tun0", "link set tun0 up mtu 1500"] {
        assert!(Command::new("ip").args(arguments.split(' ')).status()?.success());
    }
    let listener = TcpListener::bind(("10.0.0.1", PORT))?;
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        while stream.read(&mut [0; 65_536]).is_ok_and(|length| length > 0) {}
    });
    Ok(tun)
}

/// The answers to a set whose packets arrive in this order, with `missing` bytes up to the end of
/// its front.
fn answers(missing: usize, order: &'static [Part]) -> Option<Vec<Answer>> {
    // A thread for each, since it remains in its namespace.
    let thread = std::thread::spawn(move || {
        let tun = match enter() {
            Ok(tun) => tun,
            Err(error) => {
                println!("skipped: no network namespace with a device: {error}");
                return None;
            }
        };
        let sender = Sender::connect(tun, 40_000, missing);
        order.iter().for_each(|part| sender.send(*part));
        Some(sender.answers())
    });
    thread.join().unwrap()
}

#[test]
fn a_kernel_tells_the_order_of_a_set_as_the_simulator_does() {
    let orders: [(&[Part], &[Answer]); 6] = [
        (&[FRONT, MIDDLE, REAR], &[(96, vec![(-2, 0)]), (97, vec![(-1, 96)])]),
        (&[FRONT, REAR, MIDDLE], &[(97, vec![(-1, 0)]), (97, vec![(-2, 96)])]),
        // The middle overtook its front: it is above a hole, and the rest is as in order.
        (&[MIDDLE, FRONT, REAR], &[(-1148, vec![(-2, 96)]), (97, vec![(-1, 96)])]),
        // The front was lost, or is later than both: the end of the rear's block is the middle's.
        (&[MIDDLE, REAR], &[(-1148, vec![(-2, 96)]), (-1148, vec![(-1, 96), (-2, 97)])]),
        (&[REAR, MIDDLE], &[(-1148, vec![(-1, 97)]), (-1148, vec![(-1, 96), (-2, 97)])]),
        (&[MIDDLE, REAR, FRONT], &[(-1148, vec![(-2, 96)]), (97, vec![(-2, 0)])]),
    ];
    for (order, expected) in orders {
        let Some(found) = answers(FRONT.1, order) else { return };
        println!("{order:?}: {found:?}");
        // A front that is read before the next packet arrives is acknowledged by itself. That packet alone is
        // then too little for an immediate answer (docs/explanation/tracers.md).
        let by_itself = usize::from(found.contains(&(0, vec![])));
        for answer in &expected[by_itself..] {
            assert!(found.contains(answer), "{order:?}: no {answer:?} in {found:?}");
        }
        assert_eq!(found.last(), expected.last(), "{order:?}");
    }
}

/// Each of the copies is answered, immediately and by itself.
#[test]
fn a_kernel_answers_copies_one_by_one_as_the_simulator_does() {
    const M: (i64, i64) = (-98, 0);
    const R: (i64, i64) = (-97, 0);
    const F: (i64, i64) = (-1448, 0);
    let orders: [(&[Part], &[Answer]); 8] = [
        (&[WHOLE, MIDDLE_COPY, REAR_COPY], &[(0, vec![M]), (0, vec![R])]),
        (&[WHOLE, REAR_COPY, MIDDLE_COPY], &[(0, vec![R]), (0, vec![M])]),
        // The middle overtook its front: it is above a hole, and arrives again with the front. The
        // rear is then as in order.
        (&[MIDDLE_COPY, WHOLE, REAR_COPY], &[(-1448, vec![M]), (0, vec![M]), (0, vec![R])]),
        (&[REAR_COPY, WHOLE, MIDDLE_COPY], &[(-1448, vec![R]), (0, vec![R]), (0, vec![M])]),
        // The front was lost, or is later than both: the rear is the part that both have.
        (&[MIDDLE_COPY, REAR_COPY], &[(-1448, vec![M]), (-1448, vec![R, M])]),
        (&[REAR_COPY, MIDDLE_COPY], &[(-1448, vec![R]), (-1448, vec![R, M])]),
        (&[MIDDLE_COPY, REAR_COPY, WHOLE], &[(-1448, vec![M]), (-1448, vec![R, M]), (0, vec![M])]),
        (&[REAR_COPY, MIDDLE_COPY, WHOLE], &[(-1448, vec![R]), (-1448, vec![R, M]), (0, vec![M])]),
    ];
    // The same above another hole: a front that has arrived is in a block of its own.
    let above: [(&[Part], &[Answer]); 3] = [
        (
            &[WHOLE, MIDDLE_COPY, REAR_COPY],
            &[(-2896, vec![F]), (-2896, vec![M, F]), (-2896, vec![R, F])],
        ),
        (&[MIDDLE_COPY, WHOLE], &[(-2896, vec![M]), (-2896, vec![M, F])]),
        (
            &[WHOLE, MIDDLE_COPY, EARLIER, REAR_COPY],
            &[(-2896, vec![F]), (-2896, vec![M, F]), (0, vec![]), (0, vec![R])],
        ),
    ];
    let cases = orders.map(|case| (FULL, case)).into_iter();
    for (missing, (order, expected)) in cases.chain(above.map(|case| (2 * FULL, case))) {
        for last in [false, false, false, true] {
            let Some(found) = answers(missing, order) else { return };
            println!("{order:?}: {found:?}");
            // A front in order may be acknowledged by itself.
            let by_itself = |answer: &Answer| *answer == (0, vec![]) && !expected.contains(answer);
            if found.iter().filter(|answer| !by_itself(answer)).eq(expected) {
                break;
            }
            // The reader ran between two packets, as on a busy machine, and the answer to one of them may
            // be missing. Then the test repeats the case.
            let again = !last && found.iter().any(by_itself);
            assert!(again, "{order:?}: {found:?} instead of {expected:?}");
        }
    }
}
