//! When applications write, and which frames they skip.
//!
//! The one place where `[[app]]` is expanded, so that every substrate has the same flows and the
//! same schedule. Writing itself is the substrate's.

use l4s_aqm::MTU;
use l4s_model::{App, FlowId, Scenario};
use l4s_units::{Bytes, Rate, Time};

use crate::skb_memory;

/// The backlog in a socket to be sent, at most: the default of the largest send buffer of Linux
/// (`tcp_wmem`), which counts the memory of packets.
const SEND_BUFFER: Bytes = Bytes::new(4 << 20);

/// A flow of an application.
///
/// ```
/// use l4s_bottleneck::{AppFlow, app_flows};
/// use l4s_model::{App, Group, Hold, Link, Scenario};
/// use l4s_units::{Duration, Rate, Time};
///
/// let aqm = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
/// let link = Link::new(Rate::from_mbps(10));
/// let mut scenario = Scenario::new("calls", Duration::from_secs(20), link, aqm);
/// let reno = l4s_cc::Config::Reno(l4s_cc::reno::Config::default());
/// scenario.groups.push(Group::new("A", reno, Duration::from_millis(10)));
/// let (rate, fps, flows) = (Rate::from_mbps(1), 50, 2);
/// let (start, stop) = (Time::ZERO, None);
/// scenario.apps.push(App { group: 0, rate, fps, flows, adapt: false, hold: Hold::None, start, stop });
///
/// // Two calls, half a frame apart.
/// let opens: Vec<Time> = app_flows(&scenario).map(|AppFlow { opens, .. }| opens).collect();
/// assert_eq!(opens, [Time::ZERO, Time::ZERO + Duration::from_millis(10)]);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct AppFlow<'a> {
    /// Its number among all flows of the run ([`Roster`](l4s_model::Roster)).
    pub flow: FlowId,
    /// Which `[[app]]` of the scenario writes into it, counted from 0.
    pub entry: usize,
    /// That.
    pub app: &'a App,
    /// When its client opens the connection.
    pub opens: Time,
}

/// The flows of all applications of a scenario, by number.
pub fn app_flows(scenario: &Scenario) -> impl Iterator<Item = AppFlow<'_>> {
    let entries = scenario.apps.iter().enumerate();
    let all = entries.flat_map(|(entry, app)| (0..app.flows).map(move |nth| (entry, app, nth)));
    scenario.roster().apps().start.onwards().zip(all).map(|(flow, (entry, app, nth))| AppFlow {
        flow,
        entry,
        app,
        opens: app.opens(nth),
    })
}

/// The frames of one flow of an application: when each is due, and whether it is written.
///
/// ```
/// use l4s_bottleneck::Frames;
/// use l4s_model::{App, Hold};
/// use l4s_units::{Duration, Rate, Time};
///
/// let (rate, fps, flows) = (Rate::from_mbps(2), 25, 1);
/// let (start, stop) = (Time::ZERO, None);
/// let video = App { group: 0, rate, fps, flows, adapt: true, hold: Hold::None, start, stop };
/// let mut frames = Frames::new(&video);
/// assert_eq!(frames.next(), Time::NEVER, "the connection is not open yet");
/// frames.begin(Time::ZERO);
/// assert!(frames.take(0), "nothing waits in the socket: it is written");
/// assert_eq!(frames.next(), Time::ZERO + Duration::from_millis(40));
/// assert!(!frames.take(2), "two wait: it is skipped");
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Frames {
    app: App,
    /// When the first one was due; never before the connection is there.
    began: Time,
    /// How many were due, skipped ones too.
    due: u64,
}

impl Frames {
    /// None is due before [`Frames::begin`].
    pub fn new(app: &App) -> Frames {
        Frames { app: app.clone(), began: Time::NEVER, due: 0 }
    }

    /// The server has the request, and the first frame is due; whether that was the first time.
    pub fn begin(&mut self, now: Time) -> bool {
        let first = self.began == Time::NEVER;
        if first {
            self.began = now;
        }
        first
    }

    /// They are of this application from now on, the first one due at once if it writes; false
    /// where they are already.
    pub fn adapt(&mut self, app: &App, now: Time) -> bool {
        let differs = self.app != *app;
        if differs {
            self.app = app.clone();
            self.due = 0;
            if self.began != Time::NEVER {
                self.began = now;
            }
        }
        differs
    }

    /// None is due before the next [`Frames::begin`].
    pub fn wait(&mut self) {
        *self = Frames::new(&self.app);
    }

    /// When the next frame is due; never where there is none. A server that is late for one is not
    /// late for those after it.
    pub fn next(&self) -> Time {
        if self.app.rate == Rate::ZERO {
            return Time::NEVER;
        }
        let at = self.began + self.app.frames(self.due);
        let stop = self.app.stop.unwrap_or(Time::NEVER);
        if at < stop { at } else { Time::NEVER }
    }

    /// A frame is due, while `unsent` earlier ones are not sent completely. Returns true if it is to
    /// be written, false if it is skipped. One that finds the send buffer full is skipped by
    /// applications that do not adapt, too: there is nowhere to keep it.
    pub fn take(&mut self, unsent: usize) -> bool {
        self.due += 1;
        (unsent as u64) < Frames::most_unsent(&self.app) && !(self.app.adapt && unsent > 1)
    }

    /// How many frames of an application may wait to be sent: those that fill the send buffer, one
    /// at least. A frame takes full packets, and one for the rest.
    pub fn most_unsent(app: &App) -> u64 {
        let (frame, full) = (app.frame().get(), MTU.get());
        let rest = skb_memory(Bytes::new(frame % full));
        let memory = frame / full * skb_memory(MTU).get() + rest.get();
        SEND_BUFFER.get().div_ceil(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_scenario::Plan;
    use l4s_units::Duration;

    fn scenario(apps: &str) -> Scenario {
        let text = format!(
            "duration = \"10s\"\nlink.rate = \"40mbit\"\n\
             [[group]]\nname = \"A\"\ncc = \"reno\"\nflows = 2\nrtt = \"10ms\"\n\
             [[group]]\nname = \"B\"\ncc = \"reno\"\nflows = 0\nrtt = \"10ms\"\n\
             [[udp]]\nname = \"U\"\nrate = \"1mbit\"\n{apps}"
        );
        Plan::parse("t.toml", &text, &[]).unwrap().points[0].scenario.clone()
    }

    fn us(n: u64) -> Time {
        Time::ZERO + Duration::from_micros(n)
    }

    /// Every frame until `stop`, with `unsent(n)` unsent ones at the n-th: when it was due and
    /// whether it was written.
    fn frames(app: &str, unsent: impl Fn(u64) -> usize) -> Vec<(Time, bool)> {
        let scenario = scenario(&format!("[[app]]\ngroup = \"A\"\nrate = \"1mbit\"\n{app}"));
        let mut frames = Frames::new(&scenario.apps[0]);
        assert_eq!(frames.next(), Time::NEVER, "nobody has asked");
        assert!(frames.begin(us(7)));
        assert!(!frames.begin(us(9)), "a request comes once");
        let next = |n| {
            let at = frames.next();
            (at != Time::NEVER).then(|| (at, frames.take(unsent(n))))
        };
        (0..).map_while(next).collect()
    }

    #[test]
    fn flows_are_numbered_after_all_others_and_open_within_a_frame() {
        let two = "[[app]]\ngroup = \"B\"\nrate = \"1mbit\"\nfps = 25\nflows = 2\nstart = \"1s\"\n\
                   [[app]]\ngroup = \"A\"\nrate = \"1mbit\"\n";
        let scenario = scenario(two);
        let all = app_flows(&scenario);
        let all: Vec<_> = all.map(|own| (own.flow.get(), own.app.group, own.opens)).collect();
        assert_eq!(all, [(3, 1, us(1_000_000)), (4, 1, us(1_020_000)), (5, 0, Time::ZERO)]);
    }

    #[test]
    fn a_frame_is_due_every_interval_until_the_stop() {
        // A third of a second has no end in nanoseconds: rounding does not add up.
        let found = frames("fps = 3\nstop = \"1s\"", |_| 10);
        let written = |ns: u64| (Time::from_nanos(7_000 + ns), true);
        assert_eq!(found, [written(0), written(333_333_333), written(666_666_666)]);
    }

    /// 1 Gb/s at 100 frames per second are frames of 1.25 MB. Three of them fill 4 MiB of packets of
    /// 2304 B each; a frame of a byte takes a packet of 768 B.
    #[test]
    fn what_finds_the_send_buffer_full_is_skipped_and_its_frames_are_few() {
        let most_unsent = |rate: &str, fps: u64| {
            let text = format!("[[app]]\ngroup = \"A\"\nrate = \"{rate}\"\nfps = {fps}\n");
            let mut frames = Frames::new(&scenario(&text).apps[0]);
            frames.begin(us(0));
            (0..).take_while(|unsent| frames.take(*unsent)).count()
        };
        assert_eq!(most_unsent("1gbit", 100), 3);
        assert_eq!(most_unsent("8kbit", 1000), 5462);
        // However large a frame is, one at a time is written.
        assert_eq!(most_unsent("10gbit", 1), 1);
    }

    #[test]
    fn who_adapts_skips_while_more_than_one_waits_and_skipped_frames_were_due() {
        let waiting = [0, 1, 2, 9, 1];
        let found = frames("fps = 10\nadapt = true\nstop = \"500ms\"", |n| waiting[n as usize]);
        let expected = [true, true, false, false, true];
        let expected = (0u64..).zip(expected).map(|(n, written)| (us(7 + 100_000 * n), written));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}
