//! Counts of squares as the paper gives them, and the paper's (Fallback §7.5).

use serde::{Deserialize, Serialize};

use super::{Square, Verdict};

/// Squares by verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Counts {
    /// Those at rest too.
    pub right: usize,
    /// Of the right ones, those that saw no mark.
    pub rest: usize,
    pub amber: usize,
    pub red: usize,
    /// Without a detector.
    pub unknown: usize,
}

/// The squares of a schedule, counted.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// All of them.
    pub all: Counts,
    /// Those in which a Classic flow was present.
    pub with_cubic: Counts,
    /// Those in which none was.
    pub without_cubic: Counts,
    /// By link rate.
    pub by_rate: Vec<Counts>,
}

/// The paper's counts of a schedule.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Said {
    /// The schedule.
    pub schedule: String,
    /// Squares right, amber and red of 500; absent where it gives no numbers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counts: Option<[usize; 3]>,
    /// Amber squares at 4, 12 and 40 Mb/s, and above.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub amber_by_rate: Option<[usize; 4]>,
    /// The rest of it, in words.
    pub words: String,
}

/// A row of the paper, before it is text of one's own.
type Row = (&'static str, Option<[usize; 3]>, Option<[usize; 4]>, &'static str);

/// The counts of the paper (Fallback §7.5).
const PAPER: [Row; 4] = [
    ("codel", Some([497, 0, 3]), None, "No red square had a Cubic flow in it."),
    (
        "dualpi2",
        Some([361, 139, 0]),
        Some([75, 52, 11, 1]),
        "At 4 and 12 Mb/s a packet or two take longer than the depth that distinguishes the queues.",
    ),
    (
        "codel-dualpi2",
        None,
        None,
        "Much as DualPI2 alone, more amber at 100 ms, and a couple of red without long Cubic flows.",
    ),
    (
        "dualpi2-codel",
        None,
        None,
        "Amber as DualPI2 alone, and more red; with long Cubic flows one, 1:1 at 200 Mb/s and 100 ms.",
    ),
];

impl Said {
    /// All that the paper says (Fallback §7.5).
    pub fn all() -> Vec<Said> {
        let said = |&(schedule, counts, amber_by_rate, words): &Row| Said {
            schedule: schedule.to_owned(),
            counts,
            amber_by_rate,
            words: words.to_owned(),
        };
        PAPER.iter().map(said).collect()
    }
}

impl Counts {
    fn add(&mut self, verdict: Option<Verdict>) {
        match verdict {
            Some(Verdict::Right) => self.right += 1,
            Some(Verdict::Rest) => (self.right, self.rest) = (self.right + 1, self.rest + 1),
            Some(Verdict::Amber) => self.amber += 1,
            Some(Verdict::Red) => self.red += 1,
            None => self.unknown += 1,
        }
    }

    /// All of them.
    pub fn sum(&self) -> usize {
        self.right + self.amber + self.red + self.unknown
    }
}

/// The squares of schedule number `schedule`, counted.
pub fn tally(squares: &[Square], schedule: usize, traffic: &[String], rates: &[String]) -> Tally {
    let mut tally = Tally { by_rate: vec![Counts::default(); rates.len()], ..Tally::default() };
    for square in squares.iter().filter(|square| square.at[0] == schedule) {
        let [_, mix, rate, _] = square.at;
        let has_cubic = !traffic[mix].ends_with(":0");
        let part = if has_cubic { &mut tally.with_cubic } else { &mut tally.without_cubic };
        part.add(square.verdict);
        tally.all.add(square.verdict);
        tally.by_rate[rate].add(square.verdict);
    }
    tally
}
