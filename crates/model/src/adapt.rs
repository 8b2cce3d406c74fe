//! Scenarios that a run may change to while it goes on.

use l4s_units::Time;

use crate::{App, Change, Group, Link, PathChange, Scenario, Udp, Web};

impl Scenario {
    /// Whether a run of this scenario may become one of `new` in mid-run: whether they differ in
    /// nothing but
    ///
    /// - rate, buffer and discipline of the link, and of the uplink if both have one;
    /// - loss and jitter of imperfect stretches;
    /// - of groups all but their name and direction: the congestion control, ECN, round trip, size, and how many
    ///   flows there are;
    /// - the rate and size of downloads;
    /// - the rate of an application and how it writes, but not how many connections it has;
    /// - the rate, codepoint and packet size of UDP sources;
    /// - name, duration and warm-up, which mean nothing to a run that goes on.
    ///
    /// The links of `[[hop]]` know their flows in advance: where there are some, only bottleneck, uplink,
    /// round trips and stretches may change.
    pub fn adaptable(&self, new: &Scenario) -> bool {
        let sizes = |s: &Scenario| [s.groups.len(), s.web.len(), s.apps.len(), s.udp.len()];
        sizes(self) == sizes(new) && self.with_changes_of(new) == *new
    }

    fn with_bottleneck_of(&self, new: &Scenario) -> Scenario {
        let mut own = self.clone();
        own.name.clone_from(&new.name);
        (own.duration, own.warmup) = (new.duration, new.warmup);
        own.link = Link { rate: new.link.rate, buffer: new.link.buffer, ..own.link };
        own.aqm = new.aqm.clone();
        if let (Some(own), Some(new)) = (&mut own.uplink, &new.uplink) {
            (own.link.rate, own.link.buffer) = (new.link.rate, new.link.buffer);
            own.aqm = new.aqm.clone();
        }
        for (own, new) in own.paths.iter_mut().zip(&new.paths) {
            own.loss.clone_from(&new.loss);
            own.jitter = new.jitter;
        }
        for (own, new) in own.groups.iter_mut().zip(&new.groups) {
            own.rtt = new.rtt;
        }
        own
    }

    /// This scenario, with all adaptable parts taken from `new`.
    fn with_changes_of(&self, new: &Scenario) -> Scenario {
        let mut own = self.with_bottleneck_of(new);
        if !self.hops.is_empty() {
            return own;
        }
        for (own, new) in own.groups.iter_mut().zip(&new.groups) {
            *own = Group { name: own.name.clone(), direction: own.direction, ..new.clone() };
        }
        for (own, new) in own.web.iter_mut().zip(&new.web) {
            *own = Web { rate: new.rate, size: new.size, ..own.clone() };
        }
        for (own, new) in own.apps.iter_mut().zip(&new.apps) {
            *own = App { rate: new.rate, fps: new.fps, adapt: new.adapt, ..own.clone() };
        }
        own.adopt_udp(new);
        own
    }

    fn adopt_udp(&mut self, new: &Scenario) {
        for (own, new) in self.udp.iter_mut().zip(&new.udp) {
            let Udp { rate, ecn, packet, .. } = *new;
            *own = Udp { rate, ecn, packet, ..own.clone() };
        }
    }
}

impl Group {
    /// Whether connections of this group stay open when it becomes `new`: it then differs in its round
    /// trip and number of flows alone. Congestion control, ECN and buffers are chosen when a connection
    /// opens.
    pub fn keeps_connections(&self, new: &Group) -> bool {
        let same = Group { rtt: self.rtt, starts: self.starts.clone(), ..new.clone() };
        same == *self
    }
}

impl Change {
    /// The change of bottleneck, uplink and paths at `time`, when a run of `old` becomes one of `new`.
    pub fn between(old: &Scenario, new: &Scenario, time: Time) -> Change {
        let uplinks = old.uplink.as_ref().zip(new.uplink.as_ref());
        let pairs = old.groups.iter().zip(&new.groups).enumerate();
        let stretches = old.paths.iter().zip(&new.paths).enumerate().map(|(number, (old, new))| {
            let loss = (new.loss != old.loss).then(|| new.loss.clone());
            let jitter = (new.jitter != old.jitter).then_some(new.jitter);
            (number, PathChange { loss, jitter })
        });
        let moved = pairs.filter(|(_, (old, new))| old.rtt != new.rtt);
        Change {
            time,
            aqm: (new.aqm != old.aqm).then(|| new.aqm.clone()),
            rate: (new.link.rate != old.link.rate).then_some(new.link.rate),
            uplink_aqm: uplinks
                .and_then(|(old, new)| (new.aqm != old.aqm).then(|| new.aqm.clone())),
            uplink_rate: uplinks
                .and_then(|(old, new)| (new.link.rate != old.link.rate).then_some(new.link.rate)),
            rtts: moved.map(|(number, (_, new))| (number, new.rtt)).collect(),
            paths: stretches.filter(|(_, change)| *change != PathChange::default()).collect(),
        }
    }
}
