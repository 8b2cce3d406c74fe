//! Random scenarios: every key, with values from its whole declared range.

use l4s_scenario::{Described, controls, disciplines};
use l4s_units::param::Kind;
use l4s_units::{Bytes, Duration, Frequency, Rate};

/// Pseudo-random numbers from a seed (SplitMix64).
pub struct Dice(pub u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// True one time in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }

    /// A number from `low` to `high`, in all magnitudes; often an end or a round number.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = high - low;
        let bits = 64 - span.leading_zeros();
        let n = match self.below(8) {
            0 => 0,
            1 => span,
            2 => 10u64.pow(self.below(20) as u32),
            _ => self.next() >> (64 - 1 - self.below(u64::from(bits.max(1)))),
        };
        low + n.min(span)
    }

    fn number(&mut self, low: f64, high: f64) -> f64 {
        let part = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        match self.below(5) {
            0 => low,
            1 => high,
            2 => low + (high - low) * part,
            // Small numbers too, below the resolution of a fixed-point number.
            _ => (low + (high - low) * part.powi(9)).clamp(low, high),
        }
    }

    fn time(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_nanos(self.between(low.as_nanos(), high.as_nanos()))
    }

    fn rate(&mut self, low: u64, high: u64) -> String {
        format!("\"{}\"", Rate::from_bps(self.between(low, high)))
    }

    fn size(&mut self, low: u64, high: u64) -> String {
        format!("\"{}\"", Bytes::new(self.between(low, high)))
    }

    /// A value of this kind as TOML.
    fn value(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Bool => self.one_in(2).to_string(),
            Kind::Count { min, max } => self.between(min, max).to_string(),
            Kind::Number { min, max, .. } => format!("{:?}", self.number(min, max)),
            Kind::Duration { min, max } => format!("\"{}\"", self.time(min, max)),
            Kind::Durations { min, max } => {
                let low = self.time(min, max);
                let high = self.time(low, max);
                format!("[\"{low}\", \"{high}\"]")
            }
            Kind::DurationOrPackets { max, max_packets } => match self.one_in(2) {
                true => format!("\"{}\"", self.time(Duration::ZERO, max)),
                false => format!("\"{}p\"", self.between(0, max_packets)),
            },
            Kind::Packets { min, max } => format!("\"{}p\"", self.between(min, max)),
            Kind::Bytes { min, max } => self.size(min.get(), max.get()),
            Kind::Choice(words) => format!("\"{}\"", self.pick(words)),
        }
    }

    /// A kind with a profile and some of its settings, as an inline table.
    fn configuration(&mut self, all: &[Described]) -> String {
        let described = self.pick(all);
        let profile = self.pick(&described.profiles);
        let mut text = format!("{{ kind = \"{}\", profile = \"{}\"", described.kind, profile.name);
        // Many settings at once would mostly contradict each other.
        let some = self.below(4) + 1;
        for setting in &profile.settings {
            let often = if setting.value.is_some() { 1 } else { 3 };
            if self.below(profile.settings.len() as u64 * often) < some {
                text += &format!(", {} = {}", setting.name, self.value(setting.kind));
            }
        }
        text + " }"
    }

    fn buffer(&mut self) -> String {
        match self.below(3) {
            0 => format!("\"{}p\"", self.between(1, 100_000_000)),
            1 => self.size(9_100, 1_000_000_000_000),
            _ => {
                let (low, high) = (Duration::from_millis(80), Duration::from_secs(1000));
                format!("\"{}\"", self.time(low, high))
            }
        }
    }

    /// `start` and `stop` within a run of `ns`.
    fn span(&mut self, ns: u64) -> String {
        let start = self.between(0, ns - 1);
        let mut text = format!("start = \"{}\"\n", Duration::from_nanos(start));
        if self.one_in(2) {
            let stop = self.between(start + 1, 86_400_000_000_000);
            text += &format!("stop = \"{}\"\n", Duration::from_nanos(stop));
        } else if self.one_in(2) {
            text += "stop = \"end\"\n";
        }
        text
    }

    /// A `[[path]]`.
    fn path(&mut self, number: u64, groups: &[&str], has_udp: bool) -> String {
        let chance = |dice: &mut Dice| format!("{:?}", dice.number(0.0, 0.99));
        let time = |dice: &mut Dice| dice.time(Duration::ZERO, Duration::from_secs(1));
        let mut text = format!("[[path]]\nname = \"p{number}\"\nduplicate = {}\n", chance(self));
        text += &format!("place = \"{}\"\n", self.pick(&["before", "behind"]));
        if self.one_in(2) {
            text += "direction = \"up\"\n";
        } else if has_udp && self.one_in(2) {
            text += "groups = [\"U\"]\n";
        }
        if !text.contains("groups") && self.one_in(2) {
            text += &format!("groups = [\"{}\"]\n", self.pick(groups));
        }
        match self.below(5) {
            0 => {}
            1 => text += &format!("loss = [{}, 7, 7, 1]\n", self.between(1, i64::MAX as u64)),
            2 => text += &format!("loss = {}\n", chance(self)),
            3 => text += &format!("loss = {{ to_bad = {}, to_good = 1 }}\n", chance(self)),
            _ => {
                let [to_bad, in_bad, in_good] = [(); 3].map(|()| chance(self));
                text += &format!(
                    "loss = {{ to_bad = {to_bad}, to_good = 0.1, in_bad = {in_bad}, in_good = \
                     {in_good} }}\n"
                );
            }
        }
        let reordering = self.one_in(2);
        match self.below(4) {
            0 => {}
            1 => text += &format!("jitter = \"{}\"\n", time(self)),
            2 => {
                let kind = self.pick(&["uniform", "exponential"]);
                text += &format!(
                    "jitter = {{ mean = \"{}\", distribution = \"{kind}\", reordering = {reordering} }}\n",
                    time(self)
                );
            }
            _ => {
                text += &format!(
                    "jitter = {{ mean = \"{}\", distribution = \"normal\", deviation = \"{}\" }}\n",
                    time(self),
                    time(self)
                );
            }
        }
        if self.one_in(2) {
            let by = time(self);
            text += &format!("reorder = {{ chance = {}, by = \"{by}\" }}\n", chance(self));
        }
        if self.one_in(2) {
            text += &format!("corrupt = {}\n", chance(self));
        }
        let ecn = self.pick(&["pass", "bleach", "ect1-to-ect0", "ce-to-ect1", "ect-to-ce"]);
        let accecn = self.pick(&["pass", "strip", "clear-ace"]);
        let dscp = self.pick(&["pass", "wash"]);
        text + &format!("ecn = \"{ecn}\"\naccecn = \"{accecn}\"\ndscp = \"{dscp}\"\n")
    }

    /// A radio of a link, as keys of its table.
    fn radio(&mut self) -> String {
        if self.one_in(2) {
            return self.cell();
        }
        let (standard, widths, mcs, guards) = [
            ("n", &["20", "40"][..], 7, &["400ns", "800ns"][..]),
            ("ac", &["20", "40", "80", "160"], 8, &["400ns", "800ns"]),
            ("ax", &["20", "40", "80", "160"], 11, &["800ns", "1600ns", "3200ns"]),
        ][self.below(3) as usize];
        let mut text = format!("wifi.standard = \"{standard}\"\n");
        if self.one_in(2) {
            text += &format!("wifi.width = {}\n", self.pick(widths));
        }
        if self.one_in(2) {
            text += &format!("wifi.mcs = {}\n", self.between(0, mcs));
        }
        if self.one_in(2) {
            text += &format!("wifi.streams = {}\n", self.pick(&[1, 2, 4]));
        }
        if self.one_in(2) {
            text += &format!("wifi.guard = \"{}\"\n", self.pick(guards));
        }
        if self.one_in(2) {
            let airtime = self.time(Duration::from_micros(200), Duration::from_micros(5_484));
            text += &format!("wifi.airtime = \"{airtime}\"\n");
        }
        if self.one_in(2) {
            text += &format!("wifi.stations = {}\n", self.between(0, 50));
        }
        if self.one_in(2) {
            text += &format!("wifi.loss = {:?}\n", self.number(0.0, 0.5));
        }
        text
    }

    fn cell(&mut self) -> String {
        let (spacing, bandwidths) =
            [(15, &["20", "25", "50"][..]), (30, &["20", "70", "100"]), (60, &["20", "60", "100"])]
                [self.below(3) as usize];
        let mut text = format!("cell.spacing = {spacing}\n");
        if self.one_in(2) {
            text += &format!("cell.bandwidth = {}\n", self.pick(bandwidths));
        }
        if self.one_in(2) {
            text += &format!("cell.mcs = {}\n", self.between(5, 27));
        }
        if self.one_in(2) {
            text += &format!("cell.layers = {}\n", self.between(1, 4));
        }
        if self.one_in(2) {
            let pattern = self.pick(&["fdd", "DSU", "DDDDDDDSUU"]);
            text += &format!("cell.pattern = \"{pattern}\"\n");
        }
        if self.one_in(2) {
            text += &format!("cell.loss = {:?}\n", self.number(0.0, 0.5));
        }
        if self.one_in(2) {
            let request = self.time(Duration::from_millis(1), Duration::from_millis(80));
            text += &format!("cell.request = \"{request}\"\n");
        }
        text
    }

    /// A scenario. Most of them are accepted.
    pub fn scenario(&mut self) -> String {
        let ns = self.between(1_000_000, 86_400_000_000_000);
        let mut text = format!("duration = \"{}\"\n", Duration::from_nanos(ns));
        if self.one_in(2) {
            let warmup = Duration::from_nanos(self.between(0, ns - 1));
            text += &format!("warmup = \"{warmup}\"\n");
        }
        if self.one_in(2) {
            text += &format!("seed = {}\n", self.between(0, i64::MAX as u64));
        }
        if self.one_in(4) {
            text += &format!("host_jitter = {}\n", self.one_in(2));
        }
        if self.one_in(4) {
            text += "name = \"a \\\"b\\\" \\\\ # [c] µ \\u202E = 'd'\"\nquestion = \"\\\\ ?\"\n";
        }
        text += "[link]\n";
        // 80 ms at this rate are at least a packet.
        let is_radio = self.one_in(5);
        let follows = !is_radio && self.one_in(4);
        if is_radio {
            text += &self.radio();
        } else if follows {
            text += &format!("trace = \"{}\"\n", self.pick(&["5g-1", "5g-2", "starlink-1"]));
            if self.one_in(2) {
                let offset = self.time(Duration::ZERO, Duration::from_secs(4_000_000));
                text += &format!("trace_offset = \"{offset}\"\n");
            }
            if self.one_in(2) {
                text += &format!("trace_scale = {}\n", self.rate(1_000_000, 1_000_000_000_000));
            }
        } else {
            text += &format!("rate = {}\n", self.rate(1_000_000, 1_000_000_000_000));
        }
        if self.one_in(2) {
            text += &format!("buffer = {}\n", self.buffer());
        }
        if !is_radio && self.one_in(3) {
            text += &format!("burst = {}\n", self.size(0, 100_000_000));
        }
        if self.one_in(3) {
            text += &format!("ack_loss = {:?}\n", self.number(0.0, 0.9));
        }
        if !is_radio && !follows && self.one_in(3) {
            let airtime = self.time(Duration::ZERO, Duration::from_millis(100));
            text += &format!("aggregation = \"{airtime}\"\n");
        }
        text += "[kernel]\n";
        text += &format!("ip = {}\n", self.pick(&[4, 6]));
        text += &format!("gso = {}\n", self.one_in(2));
        text += &format!("qdisc = \"{}\"\n", self.pick(&["linux", "bpf"]));
        let (aqms, ccs) = (disciplines(), controls());
        let goes_up = self.one_in(3);
        let up_is_radio = goes_up && self.one_in(4);
        if goes_up {
            text += "[uplink]\n";
            text += &match up_is_radio {
                true => self.radio(),
                false => format!("rate = {}\n", self.rate(1_000_000, 1_000_000_000_000)),
            };
            text += &format!("aqm = {}\n", self.configuration(&aqms));
            if self.one_in(2) {
                text += &format!("buffer = {}\n", self.buffer());
            }
            // Any of them, without a draw that would change the scenarios of all seeds.
            if let Some(filter) = ["off", "on", "aggressive"].get(text.len() % 4) {
                text += &format!("ack_filter = \"{filter}\"\n");
            }
        }
        // 802.11 carries no longer packets.
        let longest = if text.contains("wifi.") { 2296 } else { 9000 };
        // Groups that send up have no programs.
        let uploads = goes_up && self.one_in(2);
        if !self.one_in(4) {
            text = format!("aqm = {}\n{text}", self.configuration(&aqms));
        }
        let names = ["A", "B b", "\\\"", "µ-1", "x]"];
        let groups = 1 + self.below(3) as usize;
        for name in &names[..groups] {
            let rtt = self.time(Duration::from_micros(1), Duration::from_secs(60));
            text += &format!("[[group]]\nname = \"{name}\"\nrtt = \"{rtt}\"\n");
            text += &format!("cc = {}\n", self.configuration(&ccs));
            if uploads && self.one_in(2) {
                text += "direction = \"up\"\n";
            }
            let flows = self.between(0, 5);
            text += &format!("flows = {flows}\n");
            if self.one_in(2) {
                text += &format!("ecn = \"{}\"\n", self.pick(&["auto", "classic", "l4s"]));
            }
            let is_quic = self.one_in(16);
            if is_quic {
                text += "endpoint = \"quic\"\n";
                text += &format!("ack_eliciting_threshold = {}\n", self.between(0, 40));
            }
            if !is_quic && self.one_in(2) {
                text += &format!("peer = \"{}\"\n", self.pick(&["accecn", "rfc3168", "none"]));
            }
            if self.one_in(32) {
                text += "accecn = \"ace\"\n";
            }
            if self.one_in(4) {
                text += &format!("mss = {}\n", self.between(536, longest - 52));
            }
            if self.one_in(4) {
                text += &format!("initial_window = {}\n", self.between(1, 1000));
            }
            if !is_quic && self.one_in(4) {
                text += &format!("sndbuf = \"{}b\"\n", self.between(4096, 1_073_741_823));
                text += &format!("rcvbuf = \"{}b\"\n", self.between(35_792, 1_073_741_823));
            }
            let start = |dice: &mut Dice| Duration::from_nanos(dice.between(0, ns - 1));
            match self.below(4) {
                0 => {}
                1 => text += &format!("start = \"{}\"\n", start(self)),
                2 => {
                    let starts: Vec<_> =
                        (0..flows).map(|_| format!("\"{}\"", start(self))).collect();
                    text += &format!("start = [{}]\n", starts.join(", "));
                }
                _ => {
                    let every = Duration::from_nanos(self.between(0, ns / 8));
                    text += &format!("start = {{ every = \"{every}\" }}\n");
                }
            }
            match self.below(3) {
                0 => {}
                1 => text += "size = \"unlimited\"\n",
                _ => text += &format!("size = {}\n", self.size(1, 1_000_000_000_000_000)),
            }
        }
        for _ in 0..self.below(3) {
            let most = 500_000_000 / (ns / 1_000_000_000 + 1);
            let rate = Frequency::from_micros(self.between(0, most * 400));
            let rate = if self.one_in(4) { "0.000001/mbit".to_owned() } else { rate.to_string() };
            let group = self.pick(&names[..groups]);
            text += &format!("[[web]]\ngroup = \"{group}\"\nrate = \"{rate}\"\n");
            text += &self.span(ns);
            match self.below(3) {
                0 => {}
                1 => text += &format!("size = {}\n", self.size(1, 1_000_000_000_000_000)),
                _ => {
                    let low = self.between(1, 1_000_000_000_000_000);
                    let high = self.size(low, 1_000_000_000_000_000);
                    let (shape, low) = (self.number(0.01, 100.0), Bytes::new(low));
                    text += &format!(
                        "size = {{ pareto = {shape:?}, min = \"{low}\", max = {high} }}\n"
                    );
                }
            }
        }
        for _ in 0..self.below(3) {
            let group = self.pick(&names[..groups]);
            let rate = self.rate(80_000, 1_000_000_000_000);
            text += &format!("[[app]]\ngroup = \"{group}\"\nrate = {rate}\n");
            text += &format!("adapt = {}\nflows = {}\n", self.one_in(2), self.between(0, 3));
            text += &format!("fps = {}\n", self.between(1, 30));
            text += &self.span(ns);
        }
        for name in &["p", "é \\"][..if uploads { 0 } else { self.below(3) } as usize] {
            let group = self.pick(&names[..groups]);
            text += &format!(
                "[[program]]\nname = \"{}\"\ngroup = \"{group}\"\n",
                name.replace('\\', "\\\\")
            );
            let command = self.pick(&["\"a 'b'; c\"", "[\"a\", \"\", \"é\\\\\"]"]);
            if self.one_in(2) {
                text += &format!("client = {command}\n");
            } else {
                let ready =
                    self.pick(&["port", "tcp:80", "udp:65535", "line: x", "file:/a:b", "1500ms"]);
                text += &format!("server = {command}\nready = \"{ready}\"\n");
            }
            if self.one_in(2) {
                let stop = self.pick(&["term", "int", "hup", "quit", "kill"]);
                text += &format!("stop = \"{stop}\"\nexpect = {}\n", self.between(0, 255));
            }
            text +=
                *self.pick::<&str>(&["", "env = {}\n", "env = { A = \"1\", \"b c\" = \"\" }\n"]);
        }
        let udp = self.below(3) as usize;
        for name in &["U", "\\\\ '"][..udp] {
            let rate = self.rate(0, 1_000_000_000_000);
            text += &format!("[[udp]]\nname = \"{name}\"\nrate = {rate}\n");
            if goes_up && self.one_in(2) {
                text += "direction = \"up\"\n";
            }
            let ecn = self.pick(&["not-ect", "ect0", "ect1", "ce"]);
            text += &format!("ecn = \"{ecn}\"\npacket = {}\n", self.size(64, longest));
            text += &self.span(ns);
        }
        for number in 0..self.below(3) {
            let rate = self.rate(1_000_000, 1_000_000_000_000);
            text += &format!("[[hop]]\nname = \"h{number}\"\nrate = {rate}\n");
            text += &format!("place = \"{}\"\n", self.pick(&["before", "behind"]));
            text += &format!("per = \"{}\"\n", self.pick(&["all", "group", "group", "flow"]));
            if self.one_in(2) {
                text += &format!("buffer = {}\n", self.buffer());
            }
            if self.one_in(2) {
                text += &format!("burst = {}\n", self.size(0, 100_000_000));
            }
            if self.one_in(2) {
                text += &format!("groups = [\"{}\"]\n", self.pick(&names[..groups]));
            }
            if self.one_in(2) {
                text += &format!("aqm = {}\n", self.configuration(&aqms));
            }
        }
        // Sources that send up have none of these.
        let paths = if goes_up { 0 } else { self.below(3) };
        for number in 0..paths {
            text += &self.path(number, &names[..groups], udp > 0);
        }
        for _ in 0..self.below(4) {
            let time = Duration::from_nanos(self.between(1, ns - 1));
            text += &format!("[[at]]\ntime = \"{time}\"\n");
            let mut what = 1 + self.below(7) + if goes_up { 8 * self.below(4) } else { 0 };
            // A radio has no rate to change.
            if is_radio {
                what = what & !1 | 2;
            }
            if up_is_radio {
                what &= !8;
            }
            if what & 1 != 0 {
                text += &format!("link.rate = {}\n", self.rate(1000, 1_000_000_000_000));
            }
            if what & 2 != 0 {
                let rtt = self.time(Duration::from_micros(1), Duration::from_secs(60));
                let name = if self.one_in(2) { "*" } else { self.pick(&names[..groups]) };
                text += &format!("group.\"{name}\".rtt = \"{rtt}\"\n");
            }
            if what & 4 != 0 {
                text += &format!("aqm = {}\n", self.configuration(&aqms));
            }
            if what & 8 != 0 {
                text += &format!("uplink.rate = {}\n", self.rate(1000, 1_000_000_000_000));
            }
            if paths > 0 && self.one_in(3) {
                let name = self.pick(&["p0", "*"]);
                text += &format!("path.\"{name}\".loss = {:?}\n", self.number(0.0, 0.99));
                let jitter = self.time(Duration::ZERO, Duration::from_secs(2));
                text += &format!("path.\"{name}\".jitter = \"{jitter}\"\n");
            }
            if what & 16 != 0 {
                text += &format!("uplink.aqm = {}\n", self.configuration(&aqms));
            }
        }
        for _ in 0..self.below(3) {
            let (low, name) = (self.number(-1e9, 1e9), self.pick(&names[..groups]));
            let path =
                format!("groups.'{name}'.{}", self.pick(&["mark", "delay_ms.p99", "app.flows"]));
            text += &format!("[[assert]]\nthat = \"{low:?} < {path} / link.rate_bps != 1e-5\"\n");
            if self.one_in(2) {
                text += "why = \"a \\\"b\\\" µ \\u202E\"\n";
            }
        }
        if self.one_in(4) {
            let rate = |dice: &mut Dice| dice.rate(1_000_000, 1_000_000_000_000);
            text += &format!("[sweep]\n\"link.rate\" = [{}, {}]\n", rate(self), rate(self));
            let rtt = self.time(Duration::from_micros(1), Duration::from_secs(60));
            text += &format!("[[sweep.case]]\nlabel = \"0\"\n\"group.*.rtt\" = \"{rtt}\"\n");
            let (aqm, cc) = (self.configuration(&aqms), self.configuration(&ccs));
            text += &format!("[[sweep.case]]\naqm = {aqm}\ngroup.A.cc = {cc}\n");
        }
        text
    }
}
