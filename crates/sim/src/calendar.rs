//! When something happens next, among a fixed set of sources.
//!
//! Few things in the simulator need an event of their own: a link has one next departure, a
//! constant-delay line one head, a set of timers one earliest. Each such source owns a leaf of a
//! tournament tree of eight players per match. A match is played again when a player's time changes, and those after it as far as
//! their players change. The last match waits until somebody asks who is next and the last winner has another time: most runs have
//! eight sources at most.

use l4s_units::Time;

/// Players in a match.
const MATCH: usize = 8;

/// The next event of each source; ties go to the lower source.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// The time of each source, in whole matches.
    sources: Vec<[Time; MATCH]>,
    /// The winners of the matches of the round before, up to a round of one match; none where the sources
    /// are one match.
    rounds: Vec<Vec<Winners>>,
    /// The earliest event, until its source has another one.
    first: Option<(Time, usize)>,
}

/// The players of a match that won one before: the time of each, and its source.
#[derive(Clone, Copy, Debug)]
struct Winners {
    times: [Time; MATCH],
    sources: [u32; MATCH],
}

impl Calendar {
    /// `sources` sources, none of which has an event.
    pub fn new(sources: usize) -> Self {
        let matches = |players: usize| players.div_ceil(MATCH).max(1);
        let none = Winners { times: [Time::NEVER; MATCH], sources: [0; MATCH] };
        let sources = vec![[Time::NEVER; MATCH]; matches(sources)];
        let (mut rounds, mut players) = (Vec::new(), sources.len());
        while players > 1 {
            players = matches(players);
            rounds.push(vec![none; players]);
        }
        Calendar { sources, rounds, first: None }
    }

    /// Source `source` has its next event at `time`.
    #[inline(always)]
    pub fn set(&mut self, source: usize, time: Time) {
        self.sources[source / MATCH][source % MATCH] = time;
        if !self.rounds.is_empty() {
            self.play(source / MATCH);
        }
        match self.first {
            Some((_, first)) if source == first => self.first = None,
            Some(first) if (time, source) < first => self.first = Some((time, source)),
            _ => {}
        }
    }

    /// Plays a match of the sources again, and those that its winner comes to.
    #[inline(never)]
    fn play(&mut self, mut number: usize) {
        let (mut time, place) = winner(&self.sources[number]);
        let mut source = (number * MATCH + place) as u32;
        for round in &mut self.rounds {
            let (next, place) = (number / MATCH, number % MATCH);
            let players = &mut round[next];
            if (players.times[place], players.sources[place]) == (time, source) {
                return;
            }
            (players.times[place], players.sources[place]) = (time, source);
            let (earliest, place) = winner(&players.times);
            (time, source, number) = (earliest, players.sources[place], next);
        }
    }

    /// When source `source` has its next event.
    #[inline]
    pub fn get(&self, source: usize) -> Time {
        self.sources[source / MATCH][source % MATCH]
    }

    /// The earliest event: its time and source.
    #[inline]
    pub fn next(&mut self) -> (Time, usize) {
        *self.first.get_or_insert_with(|| match self.rounds.last() {
            None => winner(&self.sources[0]),
            Some(last) => {
                let (time, place) = winner(&last[0].times);
                (time, last[0].sources[place] as usize)
            }
        })
    }
}

/// The earliest time of a match, and its place there. Players meet in pairs: one after another, each comparison would wait for the
/// one before it.
#[inline]
fn winner(players: &[Time; MATCH]) -> (Time, usize) {
    let player = |place: usize| (players[place], place);
    let [a, b, c, d] = [0, 2, 4, 6].map(|place| earlier(player(place), player(place + 1)));
    earlier(earlier(a, b), earlier(c, d))
}

/// The winner of two.
#[inline]
fn earlier(one: (Time, usize), other: (Time, usize)) -> (Time, usize) {
    if other.0 < one.0 { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_earliest_wins_and_ties_go_to_the_lower_source(
            sources in 1usize..700,
            changes in prop::collection::vec((0usize..700, 0u64..50), 1..200),
        ) {
            let mut calendar = Calendar::new(sources);
            let mut times = vec![Time::NEVER; sources];
            for (source, time) in changes {
                let (source, time) = (source % sources, Time::from_nanos(time));
                calendar.set(source, time);
                times[source] = time;
                let earliest = times.iter().min().unwrap();
                let winner = times.iter().position(|t| t == earliest).unwrap();
                prop_assert_eq!(calendar.next(), (*earliest, winner));
                prop_assert_eq!(calendar.get(source), time);
            }
        }
    }
}
