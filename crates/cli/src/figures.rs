//! The state of the bottleneck, in one line on the terminal of a session.

use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_observe::{Observer, Traced};
use l4s_units::{Duration, Time};

/// Time between two lines.
const EVERY: Duration = Duration::from_millis(500);

/// Where they are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Show {
    /// On the last line of the terminal: for a command.
    Line,
    /// In the title of the terminal: for a shell, whose own lines they would break.
    Title,
}

/// Counts of the present interval. Another thread prints: a terminal that waits must not hold up
/// packets.
#[derive(Debug)]
pub struct Figures {
    queues: [Counts; Queue::ALL.len()],
    began: Time,
    printer: Option<(SyncSender<String>, JoinHandle<()>)>,
}

/// Counts of packets that passed a queue.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    packets: u64,
    bytes: u64,
    delay: Duration,
    marks: u64,
    drops: u64,
}

impl Figures {
    /// Figures on the terminal that stderr is; `None` where it is none.
    pub fn on_terminal(show: Show) -> Option<Figures> {
        if !stderr().is_terminal() {
            return None;
        }
        let (lines, to_print) = sync_channel(1);
        let thread = std::thread::spawn(move || print(show, &to_print));
        let printer = Some((lines, thread));
        Some(Figures { queues: Default::default(), began: Time::ZERO, printer })
    }

    fn of(&mut self, queue: Queue) -> &mut Counts {
        &mut self.queues[queue as usize]
    }

    fn line(&self, span: Duration) -> String {
        let bytes: u64 = self.queues.iter().map(|counts| counts.bytes).sum();
        let mut line = format!("{:.1} Mb/s", bytes as f64 * 8e-6 / span.as_secs_f64());
        for (queue, counts) in Queue::ALL.into_iter().zip(&self.queues) {
            let all = counts.packets + counts.drops;
            if all == 0 {
                continue;
            }
            let percent = |n: u64| n as f64 * 100.0 / all as f64;
            let delay = counts.delay.as_millis_f64() / counts.packets.max(1) as f64;
            line += &format!("  {} {delay:.2} ms", queue.name());
            line += &format!(
                ", {:.2} % marked, {:.2} % dropped",
                percent(counts.marks),
                percent(counts.drops)
            );
        }
        line
    }
}

impl Drop for Figures {
    /// Removes the last line, before anything else is printed.
    fn drop(&mut self) {
        if let Some((lines, thread)) = self.printer.take() {
            drop(lines);
            let _ = thread.join();
        }
    }
}

fn print(show: Show, lines: &Receiver<String>) {
    let mut out = stderr();
    // A terminal that is gone shows nothing.
    for line in lines {
        let _ = match show {
            Show::Line => write!(out, "\r\x1b[K{line}\r"),
            Show::Title => write!(out, "\x1b]0;l4s: {line}\x07"),
        };
    }
    let _ = match show {
        Show::Line => write!(out, "\r\x1b[K"),
        Show::Title => write!(out, "\x1b]0;\x07"),
    };
}

impl<P: Traced> Observer<P> for Figures {
    fn marked(&mut self, _: &P, queue: Queue, _: MarkCause, _: Time) {
        self.of(queue).marks += 1;
    }

    fn dropped(&mut self, _: &P, queue: Queue, _: DropCause, _: Time) {
        self.of(queue).drops += 1;
    }

    fn departed(&mut self, packet: &P, queue: Queue, sojourn: Duration, now: Time) {
        let counts = self.of(queue);
        counts.packets += 1;
        counts.bytes += packet.ip_length().get();
        counts.delay += sojourn;
        let span = now.since(self.began);
        if span >= EVERY {
            // A line that finds another one waiting is left out.
            if let Some((lines, _)) = &self.printer {
                let _ = lines.try_send(self.line(span));
            }
            (self.queues, self.began) = (Default::default(), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_rate_and_each_queue_that_was_used() {
        let mut figures = Figures { queues: Default::default(), began: Time::ZERO, printer: None };
        *figures.of(Queue::L) = Counts {
            packets: 99,
            bytes: 125_000,
            delay: Duration::from_millis(99) / 2,
            marks: 10,
            drops: 1,
        };
        // 1 Mb in half a second; 10 and 1 of 100 packets.
        let line = figures.line(Duration::from_millis(500));
        let name = Queue::L.name();
        assert_eq!(line, format!("2.0 Mb/s  {name} 0.50 ms, 10.00 % marked, 1.00 % dropped"));
    }
}
