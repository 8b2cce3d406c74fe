//! The rate of a trace over time, drawn with characters.

use std::fmt::Write;
use std::io::{IsTerminal, stdout};

use l4s_trace::{Play, Trace};
use l4s_units::{Duration, Rate, Time};

use crate::args::Picture;
use crate::table::terminal_width;

use super::summary::{mbps, rounded};

/// The rows of a picture.
const ROWS: usize = 8;

/// The levels of a row.
const LEVELS: usize = 8;

/// The width in columns where there is no terminal.
const WIDTH: usize = 72;

/// The least and the most columns of a terminal that are used.
const NARROWEST: usize = 40;
const WIDEST: usize = 200;

/// The shortest time of a column: opportunities are in whole milliseconds.
const SHORTEST: Duration = Duration::from_millis(1);

/// The fewest columns of rates that show a course.
const FEWEST: usize = 8;

/// The columns of a label of the time axis, with the space to the next one.
const LABEL: u64 = 12;

/// Characters to draw with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ink {
    Unicode,
    Ascii,
}

/// Where a picture is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Canvas {
    ink: Ink,
    width: usize,
}

impl Canvas {
    /// That of stdout, with the characters that the user chose. Without a choice there is none where stdout
    /// is no terminal.
    pub fn of(chosen: Option<Picture>) -> Option<Canvas> {
        let is_terminal = stdout().is_terminal();
        let ink = match chosen {
            Some(Picture::None) => return None,
            Some(Picture::Unicode) => Ink::Unicode,
            Some(Picture::Ascii) => Ink::Ascii,
            None if !is_terminal => return None,
            None if is_utf8() => Ink::Unicode,
            None => Ink::Ascii,
        };
        let width = terminal_width(stdout()).map_or(WIDTH, |columns| columns.min(WIDEST));
        (width >= NARROWEST).then_some(Canvas { ink, width })
    }

    /// Draws a period. `None` where it is too short.
    pub fn draw(self, trace: &Trace) -> Option<String> {
        let highest = self.rates(trace, self.width - 8)?.into_iter().max()?;
        let top = round_up(mbps(highest));
        let labels = [top, top / 2.0].map(|value| value.to_string());
        let margin = labels.iter().map(String::len).max().unwrap_or_default();
        let rates = self.rates(trace, self.width - margin - 2)?;
        let eighths: Vec<usize> = rates.iter().map(|rate| level(mbps(*rate), top)).collect();
        let [tick, line] = self.either(['┤', '│'], ['+', '|']);
        let mut out =
            format!("Mb/s, mean over {} each\n", rounded(trace.period() / rates.len() as u64));
        for row in 0..ROWS {
            let label = match row {
                0 => &labels[0],
                row if row == ROWS / 2 => &labels[1],
                _ => "",
            };
            let axis = if label.is_empty() { line } else { tick };
            let below = (ROWS - 1 - row) * LEVELS;
            let cells = eighths.iter().map(|eighths| self.cell(eighths.saturating_sub(below), row));
            let cells: String = cells.collect();
            let _ = writeln!(out, "{label:>margin$} {axis}{}", cells.trim_end());
        }
        out += &self.time_axis(trace.period(), rates.len(), margin);
        Some(out)
    }

    /// The mean rates of equal parts of a period, at most as many as there is space for.
    fn rates(self, trace: &Trace, most: usize) -> Option<Vec<Rate>> {
        let period = trace.period().as_nanos();
        let columns = (most as u64).min(period / SHORTEST.as_nanos());
        if columns < FEWEST as u64 {
            return None;
        }
        let mut link = trace.play(&Play::default()).ok()?;
        let time = |column: u64| {
            Time::from_nanos((u128::from(period) * u128::from(column) / u128::from(columns)) as u64)
        };
        let rate = |column| {
            let (from, to) = (time(column), time(column + 1));
            let bits = u128::from(link.bytes_between(from, to).get()) * 8_000_000_000;
            Rate::from_bps((bits / u128::from(to.since(from).as_nanos())) as u64)
        };
        Some((0..columns).map(rate).collect())
    }

    /// The part of a column in a row, whose lower end is `eighths` below the rate.
    fn cell(self, eighths: usize, row: usize) -> char {
        match self.ink {
            Ink::Unicode => [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][eighths.min(LEVELS)],
            Ink::Ascii if eighths >= LEVELS / 2 => '#',
            Ink::Ascii if eighths > 0 && row == ROWS - 1 => '.',
            Ink::Ascii => ' ',
        }
    }

    fn time_axis(self, period: Duration, columns: usize, margin: usize) -> String {
        let [corner, tick, line] = self.either(['┼', '┬', '─'], ['+', '+', '-']);
        let step = step(period, (columns as u64 / LABEL).max(1));
        let column = |time: Duration| {
            (u128::from(time.as_nanos()) * columns as u128 / u128::from(period.as_nanos())) as usize
        };
        let ticks: Vec<_> = (0..).map(|n| step * n).take_while(|time| *time <= period).collect();
        let mut axis = vec![line; columns];
        let mut labels = String::new();
        for time in ticks {
            let (at, label) = (column(time), time.to_string());
            // The first one is the corner. The last one may be the end, where there is no column.
            if let Some(place) = axis.get_mut(at).filter(|_| at > 0) {
                *place = tick;
            }
            let at = at.min(columns.saturating_sub(label.len()));
            if labels.is_empty() || at > labels.len() {
                labels = format!("{labels:at$}{label}");
            }
        }
        let axis: String = axis.into_iter().collect();
        format!("{:>margin$} {corner}{axis}\n{:margin$}  {labels}\n", 0, "")
    }

    fn either<const N: usize>(self, unicode: [char; N], ascii: [char; N]) -> [char; N] {
        if self.ink == Ink::Unicode { unicode } else { ascii }
    }
}

/// Whether the terminal's text is UTF-8 (POSIX: the first of these that is set and not empty).
fn is_utf8() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let values = names.iter().filter_map(std::env::var_os);
    let first = values.map(|value| value.to_string_lossy().to_ascii_lowercase());
    let first = first.into_iter().find(|value| !value.is_empty()).unwrap_or_default();
    first.ends_with("utf-8") || first.ends_with("utf8")
}

/// The height of a rate in eighths of a row: at least one above 0.
fn level(rate: f64, top: f64) -> usize {
    let level = (rate / top * (ROWS * LEVELS) as f64).round() as usize;
    level.max(usize::from(rate > 0.0))
}

/// The end of an axis: the next number of one or two digits that is easy to halve.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = value.log10().floor() as i32;
    let scaled = value / 10f64.powi(power);
    let nice = [1.0, 1.2, 1.6, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];
    let nice = nice.into_iter().find(|nice| scaled <= *nice).unwrap_or(10.0);
    // A product with a negative power of ten has odd last digits, and a quotient has not.
    if power < 0 { nice / 10f64.powi(-power) } else { nice * 10f64.powi(power) }
}

/// The time between labels: 1, 2 or 5 times a power of ten, so that at most `most` follow the first.
fn step(period: Duration, most: u64) -> Duration {
    let least = period.as_nanos().div_ceil(most);
    let powers = (0..).map(|power| 10u64.saturating_pow(power));
    let steps = powers.flat_map(|power| [1, 2, 5].map(|times| power.saturating_mul(times)));
    Duration::from_nanos(steps.into_iter().find(|step| *step >= least).unwrap_or(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, ink: Ink, width: usize) -> String {
        let trace = Trace::read(text.as_bytes()).unwrap();
        Canvas { ink, width }.draw(&trace).unwrap()
    }

    /// 0, 10, 20, 40 and 0.1 Mb/s for 2 s each: the axis ends at 40, and a row is 5 Mb/s.
    const STAIRS: &str = "time_s,rate_mbps\n0,0\n2,10\n4,20\n6,40\n8,0.1\n10,\n";

    #[test]
    fn a_bar_is_as_high_as_its_rate() {
        // 40 columns less 2 digits, a space and the axis are 36: 7.2 for each rate. Columns 7, 14, 21 and 28 have parts of
        // two rates: 8/10 of 10 Mb/s, 4/10 of 10 and 6/10 of 20 Mb/s, and so on. The highest column has all eighths.
        let picture = drawn(STAIRS, Ink::Unicode, 40);
        let expected = "\
Mb/s, mean over 277.778ms each
40 ┤                      ██████
   │                      ██████▃
   │                     ▅███████
   │                     ████████
20 ┤              ▂██████████████
   │              ███████████████
   │       ▅█████████████████████
   │       ██████████████████████▁▁▁▁▁▁▁
 0 ┼──────────────────┬─────────────────
    0s                5s             10s
";
        assert_eq!(picture, expected);
    }

    #[test]
    fn ascii_has_no_other_characters() {
        let picture = drawn(STAIRS, Ink::Ascii, 40);
        assert!(picture.is_ascii(), "{picture}");
        let lowest = picture.lines().nth(ROWS).unwrap();
        assert!(lowest.starts_with("   |  ") && lowest.ends_with(".."), "{picture}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in NARROWEST..=WIDEST {
            for text in [STAIRS, "1\n500\n1234567\n", "time_s,rate_mbps\n0,0.00123\n7,\n"] {
                let picture = drawn(text, Ink::Unicode, width);
                let widest = picture.lines().map(|line| line.chars().count()).max();
                assert!(widest <= Some(width), "{width}:\n{picture}");
            }
        }
    }

    #[test]
    fn a_trace_of_a_millisecond_has_no_picture() {
        let trace = Trace::read(b"1\n1\n").unwrap();
        assert_eq!(Canvas { ink: Ink::Unicode, width: 72 }.draw(&trace), None);
    }

    #[test]
    fn axes_end_at_round_numbers() {
        let tops = [(53.78, 60.0), (40.0, 40.0), (0.0123, 0.016), (1.3, 1.6), (999.0, 1000.0)];
        for (rate, top) in tops {
            assert_eq!(round_up(rate), top, "{rate}");
        }
        let seconds = Duration::from_secs;
        assert_eq!(step(seconds(120), 5), seconds(50));
        assert_eq!(step(seconds(120), 6), seconds(20));
    }
}
