//! The events of a run: which sources it has, and when each has its next event.

use l4s_units::Time;

use crate::calendar::Calendar;

/// A source of events. Events of the same instant happen in this order, and those of one kind in the
/// order of their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// The bottleneck can transmit, or delivers packets that it transmitted.
    Link,
    /// The bottleneck's discipline has periodic work.
    Tick,
    /// A timer of an endpoint expires.
    Timers,
    /// The scenario's agenda has an item.
    Agenda,
    /// The observer samples.
    Sample,
    /// Downloads without progress are given up.
    Patience,
    /// The head of this group's return line arrives.
    Line(usize),
    /// This UDP source emits a packet.
    Udp(usize),
    /// This application writes a frame.
    Writer(usize),
    /// The disciplines of this hop have periodic work.
    HopTick(usize),
    /// This link of a hop can transmit.
    HopLink(usize),
    /// A packet comes to the end of an imperfect stretch of this way.
    Stretch(usize),
}

/// When each source has its next event.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The bottleneck has most of the events. They are apart, so that the calendar keeps its earliest one.
    link: Time,
    /// Every other source.
    calendar: Calendar,
    /// The first number of each kind of which there are several.
    udp: usize,
    writers: usize,
    hops: usize,
    links: usize,
    stretches: usize,
}

/// The number of the first return line: six sources come before it.
const LINES: usize = 6;

impl Schedule {
    /// The sources of a run with these numbers of return lines, UDP sources, applications, hops,
    /// links of hops and imperfect ways; none of them has an event.
    pub fn new(
        lines: usize,
        udp: usize,
        writers: usize,
        hops: usize,
        links: usize,
        stretches: usize,
    ) -> Schedule {
        let udp_at = LINES + lines;
        let writers_at = udp_at + udp;
        let hops_at = writers_at + writers;
        let links_at = hops_at + hops;
        let stretches_at = links_at + links;
        Schedule {
            link: Time::NEVER,
            calendar: Calendar::new(stretches_at + stretches),
            udp: udp_at,
            writers: writers_at,
            hops: hops_at,
            links: links_at,
            stretches: stretches_at,
        }
    }

    /// The place of a source in the order of those of the same instant.
    #[inline]
    pub fn number(&self, event: Event) -> usize {
        match event {
            Event::Link => 0,
            Event::Tick => 1,
            Event::Timers => 2,
            Event::Agenda => 3,
            Event::Sample => 4,
            Event::Patience => 5,
            Event::Line(n) => LINES + n,
            Event::Udp(n) => self.udp + n,
            Event::Writer(n) => self.writers + n,
            Event::HopTick(n) => self.hops + n,
            Event::HopLink(n) => self.links + n,
            Event::Stretch(n) => self.stretches + n,
        }
    }

    #[inline]
    fn event(&self, number: usize) -> Event {
        match number {
            0 => Event::Link,
            1 => Event::Tick,
            2 => Event::Timers,
            3 => Event::Agenda,
            4 => Event::Sample,
            5 => Event::Patience,
            n if n < self.udp => Event::Line(n - LINES),
            n if n < self.writers => Event::Udp(n - self.udp),
            n if n < self.hops => Event::Writer(n - self.writers),
            n if n < self.links => Event::HopTick(n - self.hops),
            n if n < self.stretches => Event::HopLink(n - self.links),
            n => Event::Stretch(n - self.stretches),
        }
    }

    /// The next event of a source is at `time`.
    #[inline]
    pub fn set(&mut self, event: Event, time: Time) {
        match event {
            Event::Link => self.link = time,
            _ => self.calendar.set(self.number(event), time),
        }
    }

    /// When a source has its next event.
    #[inline]
    pub fn get(&self, event: Event) -> Time {
        match event {
            Event::Link => self.link,
            _ => self.calendar.get(self.number(event)),
        }
    }

    /// As [`Schedule::set`], for a source whose next event is often the same as before.
    #[inline]
    pub fn update(&mut self, event: Event, time: Time) {
        if time != self.get(event) {
            self.set(event, time);
        }
    }

    /// The earliest event.
    #[inline]
    pub fn next(&mut self) -> (Time, Event) {
        let (time, number) = self.calendar.next();
        if self.link <= time { (self.link, Event::Link) } else { (time, self.event(number)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_one_source_and_every_source_one_number() {
        let schedule = Schedule::new(2, 0, 3, 1, 4, 3);
        let events: Vec<Event> = (0..LINES + 13).map(|number| schedule.event(number)).collect();
        let numbers = events.iter().map(|event| schedule.number(*event));
        assert!(numbers.eq(0..LINES + 13));
        let last = [Event::Writer(2), Event::HopTick(0), Event::HopLink(0)];
        assert_eq!(events[LINES + 4..LINES + 7], last);
    }
}
