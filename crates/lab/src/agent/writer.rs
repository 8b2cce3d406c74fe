//! The application behind a server's connection.

use l4s_bottleneck::Frames;
use l4s_model::Hold;
use l4s_units::Time;

use crate::message::Writes;

/// The writes of an application into a connection. All its frames are of the same size.
pub(super) struct Writer {
    /// Which segments wait that are not full.
    pub hold: Hold,
    frames: Frames,
    /// Bytes of a frame.
    size: u64,
    /// How many frames were written. Bytes for which the socket has no room wait here.
    written: u64,
}

impl Writer {
    pub fn new(writes: &Writes) -> Writer {
        let app = writes.app();
        Writer {
            hold: app.hold,
            frames: Frames::new(&app),
            size: app.frame().get().max(1),
            written: 0,
        }
    }

    /// The server has the request; whether that was the first time.
    pub fn begin(&mut self, now: Time) -> bool {
        self.frames.begin(now)
    }

    /// When the next frame is due.
    pub fn next(&self) -> Time {
        self.frames.next()
    }

    /// A frame is due, where TCP has sent `sent` bytes: whether it is written.
    pub fn take(&mut self, sent: u64) -> bool {
        let unsent = self.written - (sent / self.size).min(self.written);
        let is_written = self.frames.take(usize::try_from(unsent).unwrap_or(usize::MAX));
        self.written += u64::from(is_written);
        is_written
    }

    /// The rest of the oldest frame that the socket, which took `taken` bytes, has not completely;
    /// `None` where there is none.
    pub fn left(&self, taken: u64) -> Option<u64> {
        (taken < self.written * self.size).then(|| self.size - taken % self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_model::FlowId;
    use l4s_scenario::Plan;

    /// 1000 B in each of 10 frames per second.
    fn writer() -> Writer {
        let text = "duration = \"10s\"\nlink.rate = \"40mbit\"\n\
                    [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                    [[app]]\ngroup = \"A\"\nrate = \"80kbit\"\nfps = 10\nadapt = true\n";
        let app = &Plan::parse("t.toml", text, &[]).unwrap().points[0].scenario.apps[0];
        let mut writer =
            Writer::new(&Writes::new(FlowId::new(0), app, Time::from_nanos(10_000_000_000)));
        assert!(writer.begin(Time::ZERO));
        writer
    }

    #[test]
    fn a_frame_waits_until_its_last_byte_is_sent() {
        let mut writer = writer();
        assert!(writer.take(0) && writer.take(0), "one waits, and that is not more than one");
        // Two wait, and still do when all but a byte of the first is sent.
        assert!(!writer.take(0) && !writer.take(999));
        assert!(writer.take(1000));
        assert_eq!(writer.next(), Time::from_nanos(500_000_000), "skipped ones were due");
    }

    #[test]
    fn a_piece_ends_with_its_frame() {
        let mut writer = writer();
        assert_eq!(writer.left(0), None);
        assert!(writer.take(0) && writer.take(0));
        let left = [0, 1, 999, 1000, 1999, 2000].map(|taken| writer.left(taken));
        assert_eq!(left, [Some(1000), Some(999), Some(1), Some(1000), Some(1), None]);
    }
}
