//! Flows and UDP sources that change while a run goes on, by orders to the agents.

use core::ops::Range;

use l4s_model::{App, FlowId, Group, Ip, Scenario, SourceId, Udp};
use l4s_units::{Bytes, Rate, Time};

use crate::End;
use crate::lab::OrderSender;
use crate::ledger::{Newcomer, Newcomers, lock};
use crate::message::{Opens, Order, Writes};

/// The flows of a run that are open, and the numbers of those that may be opened.
#[derive(Debug)]
pub(crate) struct DynamicFlows {
    orders: OrderSender,
    newcomers: Newcomers,
    /// Numbers that no flow has had.
    numbers: Range<FlowId>,
    /// Long flows of each group that are open, the oldest first.
    long: Vec<Vec<FlowId>>,
    /// Those of each `[[app]]` that were opened later.
    apps: Vec<Vec<FlowId>>,
}

impl DynamicFlows {
    /// The flows of a run of `scenario`, to which flows with these numbers may be added. The ledger of the run
    /// has the same `newcomers`.
    pub fn new(
        scenario: &Scenario,
        numbers: Range<FlowId>,
        orders: OrderSender,
        newcomers: Newcomers,
    ) -> DynamicFlows {
        let roster = scenario.roster();
        let listed = |group| {
            let Range { start, end } = roster.listed(roster.group(group));
            start.onwards().take_while(|flow| *flow < end).collect()
        };
        DynamicFlows {
            orders,
            newcomers,
            numbers,
            long: (0..roster.groups()).map(listed).collect(),
            apps: Vec::new(),
        }
    }

    /// Whether every number was used.
    pub fn is_exhausted(&self) -> bool {
        self.numbers.is_empty()
    }

    /// How many downloads are ordered or open.
    pub fn downloads(&self) -> usize {
        lock(&self.newcomers).values().filter(|new| new.size.is_some()).count()
    }

    /// Orders the difference between two scenarios: long flows of groups, applications and UDP sources. A flow
    /// that would have started before `now` starts now.
    pub fn update(&mut self, old: &Scenario, new: &Scenario, now: Time) {
        for (number, group) in new.groups.iter().enumerate() {
            while self.long[number].len() > group.starts.len() {
                let youngest = self.long[number].pop();
                youngest.into_iter().for_each(|flow| self.give_up(number, flow));
            }
            for nth in self.long[number].len()..group.starts.len() {
                let flow = self.open(number, group.starts[nth].max(now), group.size, None);
                self.long[number].push(flow);
            }
        }
        self.apps.resize_with(new.apps.len(), Vec::new);
        for (number, app) in new.apps.iter().enumerate() {
            if old.apps.get(number) == Some(app) {
                continue;
            }
            for flow in std::mem::take(&mut self.apps[number]) {
                self.give_up(app.group, flow);
            }
            let flows = if app.rate == Rate::ZERO { 0 } else { app.flows };
            self.apps[number] = (0..flows)
                .map(|nth| self.open(app.group, app.opens(nth).max(now), None, Some(app)))
                .collect();
        }
        for (number, source) in new.udp.iter().enumerate() {
            if old.udp.get(number) != Some(source) {
                let Udp { ecn, packet, rate, .. } = *source;
                let headers = if new.kernel.ip == Ip::V6 { 48 } else { 28 };
                let order = Order::Send {
                    ecn: ecn.bits(),
                    payload: packet.get().saturating_sub(headers) as usize,
                    packet: packet.get(),
                    bps: rate.as_bps(),
                };
                self.orders.send(new.roster().udp(number).index(), End::Server, order);
            }
        }
    }

    /// Orders a flow; returns its number.
    pub fn open(
        &mut self,
        group: usize,
        at: Time,
        size: Option<Bytes>,
        app: Option<&App>,
    ) -> FlowId {
        let flow = self.numbers.start;
        self.numbers.start = flow + 1;
        let newcomer = Newcomer { group: SourceId::new(group as u16), size, is_app: app.is_some() };
        lock(&self.newcomers).insert(flow, newcomer);
        if let Some(app) = app {
            let writes = Writes::new(flow, app, Time::NEVER);
            self.orders.send(group, End::Server, Order::Write(writes));
        }
        let opens = Opens {
            flow,
            at_ns: at.as_nanos(),
            size: size.map(Bytes::get),
            frame: app.map(|app| app.frame().get()),
        };
        self.orders.send(group, End::Client, Order::Open(opens));
        flow
    }

    fn give_up(&self, group: usize, flow: FlowId) {
        self.orders.send(group, End::Client, Order::GiveUp { flow });
    }
}

/// Whether each group has the same congestion control, ECN, MTU and buffers in both: they belong to the
/// namespaces and the listening socket of the group, and cannot change while these exist.
pub(crate) fn keeps_sockets(old: &Scenario, new: &Scenario) -> bool {
    let of = |group: &Group| {
        let Group { ecn, peer, accecn, mss, rcvbuf, sndbuf, .. } = *group;
        (group.cc.clone(), ecn, peer, accecn, mss, rcvbuf, sndbuf)
    };
    old.groups.iter().map(of).eq(new.groups.iter().map(of))
}
