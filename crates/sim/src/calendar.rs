//! When something happens next, among a fixed set of sources.
//!
//! Few things in the simulator need an event of their own: a link has one next departure, a
//! constant-delay line one head, a set of timers one earliest. Each such source owns a leaf of a
//! tournament tree of eight players per match. The last match is played when somebody asks who is next:
//! most runs have eight sources at most, and change two or three of them per event.

use l4s_units::Time;

/// Players in a match.
const MATCH: usize = 8;

/// The next event of each source; ties go to the lower source.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// From the sources on the winners of each round but the last; each has whole matches.
    rounds: Vec<Vec<(Time, u32)>>,
}

impl Calendar {
    /// `sources` sources, none of which has an event.
    pub fn new(sources: usize) -> Self {
        let whole = |players: usize| players.div_ceil(MATCH).max(1) * MATCH;
        let mut rounds = vec![(0..whole(sources)).map(|n| (Time::NEVER, n as u32)).collect()];
        while let Some(players) = rounds.last().map(Vec::len).filter(|players| *players > MATCH) {
            let winner = |n| (Time::NEVER, (n * MATCH.pow(rounds.len() as u32)) as u32);
            rounds.push((0..whole(players / MATCH)).map(winner).collect());
        }
        Calendar { rounds }
    }

    /// Source `source` has its next event at `time`.
    #[inline]
    pub fn set(&mut self, source: usize, time: Time) {
        self.rounds[0][source].0 = time;
        let mut player = source;
        for round in 1..self.rounds.len() {
            player /= MATCH;
            self.rounds[round][player] = winner(&self.rounds[round - 1][player * MATCH..]);
        }
    }

    /// When source `source` has its next event.
    #[inline]
    pub fn get(&self, source: usize) -> Time {
        self.rounds[0][source].0
    }

    /// The earliest event: its time and source.
    #[inline]
    pub fn next(&self) -> (Time, usize) {
        let (time, source) = winner(&self.rounds[self.rounds.len() - 1]);
        (time, source as usize)
    }
}

/// The winner of the first match.
#[inline]
fn winner(players: &[(Time, u32)]) -> (Time, u32) {
    let mut best = players[0];
    for player in &players[1..MATCH] {
        if player.0 < best.0 {
            best = *player;
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
