//! Flows, their hosts and UDP sources that change while a run goes on, by orders to the agents.

use core::fmt;
use core::ops::Range;

use l4s_bottleneck::app_flows;
use l4s_model::{App, FlowId, Ip, Scenario, SourceId, Udp};
use l4s_os::OsError;
use l4s_units::{Bytes, Rate, Time};

use crate::lab::OrderSender;
use crate::ledger::{Newcomer, Newcomers, detects, lock};
use crate::message::{Opens, Order, Part, Setup, Writes};
use crate::{End, LabPlan};

/// Makes the plan of a scenario for the lab that runs.
pub(crate) type Replan = Box<dyn Fn(&Scenario) -> Result<LabPlan, OsError> + Send>;

/// The flows of a run that are open, and the numbers of those that may be opened.
pub(crate) struct DynamicFlows {
    replan: Replan,
    orders: OrderSender,
    newcomers: Newcomers,
    /// Numbers that no flow has had.
    numbers: Range<FlowId>,
    /// Long flows of each group that are open, the oldest first.
    long: Vec<Vec<FlowId>>,
    /// Those of each `[[app]]`.
    apps: Vec<Vec<FlowId>>,
    /// Whether each group has a detector of Classic ECN.
    detects: Vec<bool>,
}

impl fmt::Debug for DynamicFlows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DynamicFlows { numbers, long, apps, .. } = self;
        write!(f, "DynamicFlows {{ {numbers:?}, long: {long:?}, apps: {apps:?} }}")
    }
}

impl DynamicFlows {
    /// The flows of a run of `scenario`, to which flows with these numbers may be added. The ledger of the run
    /// has the same `newcomers`. `replan` plans the scenario after a change.
    pub fn new(
        scenario: &Scenario,
        numbers: Range<FlowId>,
        orders: OrderSender,
        newcomers: Newcomers,
        replan: Replan,
    ) -> DynamicFlows {
        let roster = scenario.roster();
        let listed = |group| {
            let Range { start, end } = roster.listed(roster.group(group));
            start.onwards().take_while(|flow| *flow < end).collect()
        };
        let mut apps = vec![Vec::new(); scenario.apps.len()];
        app_flows(scenario).for_each(|own| apps[own.entry].push(own.flow));
        DynamicFlows {
            replan,
            orders,
            newcomers,
            numbers,
            long: (0..roster.groups()).map(listed).collect(),
            apps,
            detects: scenario.groups.iter().map(|group| detects(&group.cc)).collect(),
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

    /// Orders the difference between two scenarios: hosts and long flows of groups, applications and UDP
    /// sources. A flow that would have started before `now` starts now. Where a group does not
    /// [keep its connections](l4s_model::Group::keeps_connections), new ones take the place of its long
    /// flows and of those of applications; downloads under way stay.
    ///
    /// # Errors
    /// This machine has no plan for the new scenario: nothing was ordered.
    pub fn update(&mut self, old: &Scenario, new: &Scenario, now: Time) -> Result<(), OsError> {
        let keeps: Vec<bool> = old
            .groups
            .iter()
            .zip(&new.groups)
            .map(|(old, new)| old.keeps_connections(new))
            .collect();
        if keeps.contains(&false) {
            let plan = (self.replan)(new)?;
            for number in (0..keeps.len()).filter(|number| !keeps[*number]) {
                for flow in std::mem::take(&mut self.long[number]) {
                    self.give_up(number, flow);
                }
                self.detects[number] = detects(&new.groups[number].cc);
                let pair = &plan.pairs[number];
                for (end, setup) in [(End::Server, &pair.server), (End::Client, &pair.client)] {
                    let setup = Box::new(without_flows(setup));
                    self.orders.send(number, end, Order::Setup(setup));
                }
            }
        }
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
            if old.apps.get(number) == Some(app) && keeps[app.group] {
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
        Ok(())
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
        let newcomer = Newcomer {
            group: SourceId::new(group as u16),
            size,
            is_app: app.is_some(),
            detects: self.detects[group],
        };
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

/// A setup without the flows that were known before the run: an order to a host that has them.
fn without_flows(setup: &Setup) -> Setup {
    let mut setup = setup.clone();
    match &mut setup.part {
        Part::TcpServer { apps, .. } => apps.clear(),
        Part::TcpClient { flows, frames, .. } => {
            flows.clear();
            frames.clear();
        }
        Part::UdpServer { .. } | Part::UdpClient { .. } => {}
    }
    setup
}
