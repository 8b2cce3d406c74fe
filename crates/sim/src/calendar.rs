//! When something happens next, among a fixed set of sources.
//!
//! Few things in the simulator need an event of their own: a link has one next departure, a
//! constant-delay line one head, a set of timers one earliest. Each such source owns a leaf of a
//! tournament tree of eight players per match. The last match is played when somebody asks who is next and the
//! last winner has another time: most runs have eight sources at most.

use l4s_units::Time;

/// Players in a match.
const MATCH: usize = 8;

/// The next event of each source; ties go to the lower source.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// The time of each source, in whole matches.
    sources: Vec<[Time; MATCH]>,
    /// The earliest time of each match of the round before, up to a round of one match; none where the sources
    /// are one match.
    rounds: Vec<Vec<[Time; MATCH]>>,
    /// The earliest event, until its source has another one.
    first: Option<(Time, usize)>,
}

impl Calendar {
    /// `sources` sources, none of which has an event.
    pub fn new(sources: usize) -> Self {
        let never = |players: usize| vec![[Time::NEVER; MATCH]; players.div_ceil(MATCH).max(1)];
        let sources = never(sources);
        let (mut rounds, mut players) = (Vec::new(), sources.len());
        while players > 1 {
            rounds.push(never(players));
            players = players.div_ceil(MATCH);
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
        let mut before = &self.sources;
        for round in &mut self.rounds {
            round[number / MATCH][number % MATCH] = winner(&before[number]).0;
            (before, number) = (round, number / MATCH);
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
        *self.first.get_or_insert_with(|| {
            // From the final match back to that of the source.
            let back = self.rounds.iter().rev();
            let number = back.fold(0, |number, round| number * MATCH + winner(&round[number]).1);
            let (time, place) = winner(&self.sources[number]);
            (time, number * MATCH + place)
        })
    }
}

/// The earliest time of a match, and its place there.
#[inline]
fn winner(players: &[Time; MATCH]) -> (Time, usize) {
    let mut best = (Time::NEVER, 0);
    for (place, time) in players.iter().enumerate() {
        if *time < best.0 {
            best = (*time, place);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_earliest_wins_and_ties_go_to_the_lower_source(
            sources in 1usize..200,
            changes in prop::collection::vec((0usize..200, 0u64..50), 1..200),
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
