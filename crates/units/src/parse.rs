//! Reading quantities in the style of `tc`: a number and a unit.
//!
//! A number is written as in TOML: `40`, `0.5`, `1_000`, `1e6`. A unit is one of those that are
//! listed, in upper or lower case. Any other spelling is refused, with a suggestion if its meaning is
//! plain; a suggestion never has another value.

use core::fmt;
use core::str::FromStr;

use crate::{Bytes, Duration, Ecn, Frequency, Rate};

/// Why a text is not a quantity: the text, the accepted form, and a suggestion.
///
/// ```
/// use l4s_units::{ParseError, Rate};
///
/// let error: ParseError = "40".parse::<Rate>().unwrap_err();
/// assert_eq!(error.found, "40");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The text as it was found.
    pub found: String,
    /// The accepted form, with an example.
    pub expected: &'static str,
    /// The way out, in words.
    pub help: Option<String>,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}", self.found, self.expected)?;
        self.help.iter().try_for_each(|help| write!(f, "; {help}"))
    }
}

impl std::error::Error for ParseError {}

/// The message for a number without a unit.
pub(crate) const NO_UNIT: &str = "a number needs its unit";

/// The units of a quantity: those that are read, and the messages for others.
struct Units {
    /// The accepted form, with an example.
    expected: &'static str,
    /// The value of each unit, in upper or lower case.
    known: &'static [(&'static str, u64)],
    /// Other spellings that mean just one of them, in lower case.
    others: &'static [(&'static str, &'static str)],
    /// The message for an ambiguous or different unit.
    unclear: fn(&str) -> Option<&'static str>,
}

const TIME: Units = Units {
    expected: "a time: a number with ns, us, ms, s or min, such as \"10ms\"",
    known: &[
        ("ns", 1),
        ("us", 1_000),
        // The micro sign and the Greek letter.
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
    ],
    others: &[
        ("nsec", "ns"),
        ("nanosecond", "ns"),
        ("usec", "us"),
        ("microsecond", "us"),
        ("msec", "ms"),
        ("millisecond", "ms"),
        ("sec", "s"),
        ("second", "s"),
        ("minute", "min"),
    ],
    unclear: |unit| matches!(unit, "m" | "M").then_some("minutes are `min`, milliseconds `ms`"),
};

const RATE: Units = Units {
    expected: "a rate: a number with bit, kbit, mbit or gbit, such as \"40mbit\"",
    known: &[
        ("bit", 1),
        ("kbit", 1_000),
        ("mbit", 1_000_000),
        ("gbit", 1_000_000_000),
        ("tbit", 1_000_000_000_000),
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("mbit/s", 1_000_000),
        ("gbit/s", 1_000_000_000),
        ("tbit/s", 1_000_000_000_000),
    ],
    others: &[
        ("bps", "bit"),
        ("kbps", "kbit"),
        ("mbps", "mbit"),
        ("gbps", "gbit"),
        ("tbps", "tbit"),
        ("b/s", "bit"),
        ("kb/s", "kbit"),
        ("mb/s", "mbit"),
        ("gb/s", "gbit"),
        ("tb/s", "tbit"),
    ],
    // As a rule `B` is a byte and `b` a bit.
    unclear: |unit| {
        let bytes = unit.contains('B') || unit.contains("yte");
        bytes.then_some("rates are in bits, 8 to a byte")
    },
};

const SIZE: Units = Units {
    expected: "a size: a number with b, kb, mb, gb or kib, mib, gib, such as \"1514b\"",
    known: &[
        ("b", 1),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("tb", 1_000_000_000_000),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("tib", 1 << 40),
    ],
    others: &[
        ("byte", "b"),
        ("kbyte", "kb"),
        ("mbyte", "mb"),
        ("gbyte", "gb"),
        ("tbyte", "tb"),
        ("kilobyte", "kb"),
        ("megabyte", "mb"),
        ("gigabyte", "gb"),
    ],
    unclear: |unit| {
        let bits = unit.to_ascii_lowercase().contains("bit");
        bits.then_some("sizes are in bytes, of 8 bits each")
    },
};

const OFTEN: Units = Units {
    expected: "a number of times per second, such as \"100/s\" or \"0.5/s\"",
    known: &[("/s", 1_000_000)],
    others: &[("hz", "/s"), ("s", "/s"), ("/sec", "/s"), ("/second", "/s"), ("per second", "/s")],
    unclear: |_| None,
};

const PACKETS: Units = Units {
    expected: "a number of packets such as \"100p\"",
    known: &[("p", 1)],
    others: &[("pkt", "p"), ("packet", "p")],
    unclear: |_| None,
};

impl Units {
    /// The quantity in its smallest unit, exactly: `0.1ms` is 100,000 ns, without a detour through
    /// floating point.
    fn read(&self, text: &str) -> Result<u64, ParseError> {
        let trimmed = text.trim();
        let (number, unit) = trimmed.split_at(number_end(trimmed));
        let value = self.scale(unit).and_then(|scale| exactly(number, scale));
        value.ok_or_else(|| ParseError {
            found: text.to_owned(),
            expected: self.expected,
            help: self.help(number, unit.trim()),
        })
    }

    fn scale(&self, unit: &str) -> Option<u64> {
        let unit = unit.trim_start();
        let known = self.known.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
        known.map(|(_, scale)| *scale)
    }

    /// A suggestion for a wrong spelling. The number in it is the one that was written, and
    /// its unit has the same scale: otherwise there is no suggestion, or the number times a thousand.
    fn help(&self, number: &str, unit: &str) -> Option<String> {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if !digit(number.chars().next()) {
            return None;
        }
        if unit.is_empty() {
            return Some(NO_UNIT.to_owned());
        }
        if unit.starts_with([',', '\'', ' ']) && digit(unit.chars().nth(1)) {
            let words = "the decimal point is `.`, and between digits there may be `_`";
            return Some(words.to_owned());
        }
        if let Some(words) = (self.unclear)(unit) {
            return Some(words.to_owned());
        }
        let lower = unit.to_lowercase();
        let one = lower.strip_suffix('s').filter(|one| one.len() > 1).unwrap_or(&lower);
        let spelled = |(other, _): &&(&str, &str)| [lower.as_str(), one].contains(other);
        let other = self.others.iter().find(spelled).map(|(_, meant)| *meant);
        let known = || self.known.iter().map(|(name, _)| *name);
        let plural = || known().find(|name| *name == one);
        let meant = other.or_else(plural).or_else(|| slip(&lower, known()))?;
        let value = self.scale(meant).and_then(|scale| exactly(number, scale));
        value.map(|_| format!("did you mean \"{number}{meant}\"?"))
    }
}

/// The unit with one letter missing, doubled or added, or with two letters swapped: if it is the
/// only one as near, and the first letter, which sets the scale, is right.
fn slip<'a>(found: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // No unit is as long as this.
    let found: Vec<char> = found.chars().take(12).collect();
    let mut near = known.filter(|unit| is_near(&found, unit));
    let unit = near.next().filter(|_| near.next().is_none())?;
    let sorted = |mut letters: Vec<char>| {
        letters.sort_unstable();
        letters
    };
    let same_letters = sorted(found.clone()) == sorted(unit.chars().collect());
    // Of two letters any other may be meant too.
    let fits = unit.len() > 2 && unit.chars().next() == found.first().copied();
    (fits && (same_letters || found.len() != unit.chars().count())).then_some(unit)
}

/// Whether one edit makes one of the other: a letter more, less or another, or two swapped.
fn is_near(found: &[char], unit: &str) -> bool {
    let unit: Vec<char> = unit.chars().collect();
    let start = found.iter().zip(&unit).take_while(|(a, b)| a == b).count();
    let (found, unit) = (&found[start..], &unit[start..]);
    let end = found.iter().rev().zip(unit.iter().rev()).take_while(|(a, b)| a == b).count();
    match (&found[..found.len() - end], &unit[..unit.len() - end]) {
        ([_], []) | ([], [_]) | ([_], [_]) => true,
        ([a, b], [c, d]) => (a, b) == (d, c),
        _ => false,
    }
}

/// Where the number at the start of a text ends: digits with `_` between them, a fraction, an
/// exponent.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let part = |at: &usize| bytes.get(*at).is_some_and(|b| b.is_ascii_digit() || *b == b'_');
        (from..bytes.len()).take_while(part).count() + from
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    end
}

/// The number times `scale`; `None` where that is no whole number of 64 bits.
fn exactly(number: &str, scale: u64) -> Option<u64> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // `_` stands between two digits.
    let odd = |part: &str| part.starts_with('_') || part.ends_with('_') || part.contains("__");
    if whole.is_empty() || [whole, fraction, exponent].into_iter().any(odd) {
        return None;
    }
    let plain = |part: &str| part.replace('_', "");
    let (whole, fraction) = (plain(whole), plain(fraction));
    let fraction = fraction.trim_end_matches('0');
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let exponent: i64 = plain(exponent).parse().ok()?;
    let power = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let tens = 10u128.checked_pow(u32::try_from(power.unsigned_abs()).ok()?)?;
    let scaled = digits.checked_mul(u128::from(scale))?;
    let value = match power >= 0 {
        true => scaled.checked_mul(tens)?,
        // A fraction finer than the unit of the type has no exact value.
        false => (scaled % tens == 0).then_some(scaled / tens)?,
    };
    u64::try_from(value).ok()
}

/// A number of packets, such as `3p`.
///
/// # Errors
/// It is none.
pub fn packets(text: &str) -> Result<u64, ParseError> {
    PACKETS.read(text)
}

impl FromStr for Duration {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        TIME.read(text).map(Duration::from_nanos)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        RATE.read(text).map(Rate::from_bps)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        SIZE.read(text).map(Bytes::new)
    }
}

impl FromStr for Frequency {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        OFTEN.read(text).map(Frequency::from_micros)
    }
}

impl FromStr for Ecn {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "not-ect" => Ok(Ecn::NotEct),
            "ect0" => Ok(Ecn::Ect0),
            "ect1" => Ok(Ecn::Ect1),
            "ce" => Ok(Ecn::Ce),
            _ => Err(ParseError {
                found: text.to_owned(),
                expected: "an ECN codepoint: not-ect, ect0, ect1 or ce",
                help: None,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::TestCaseError;

    #[test]
    fn reads_what_tc_reads() {
        assert_eq!("40mbit".parse(), Ok(Rate::from_mbps(40)));
        assert_eq!("1.5Gbit".parse(), Ok(Rate::from_mbps(1500)));
        assert_eq!("10ms".parse(), Ok(Duration::from_millis(10)));
        assert_eq!("0.1ms".parse(), Ok(Duration::from_micros(100)));
        assert_eq!("0s".parse(), Ok(Duration::ZERO));
        assert_eq!("1514b".parse(), Ok(Bytes::new(1514)));
        assert_eq!("1mb".parse(), Ok(Bytes::new(1_000_000)));
        assert_eq!("30 MiB".parse(), Ok(Bytes::new(30 << 20)));
        assert_eq!("100/s".parse(), Ok(Frequency::per_second(100)));
        assert_eq!("0.5 /s".parse(), Ok(Frequency::from_micros(500_000)));
        assert_eq!("ect1".parse(), Ok(Ecn::Ect1));
    }

    #[test]
    fn reads_numbers_as_toml_writes_them() {
        assert_eq!("1_000kbit".parse(), Ok(Rate::from_mbps(1)));
        assert_eq!("1e7bit".parse(), Ok(Rate::from_mbps(10)));
        assert_eq!("1.5E-3 s".parse(), Ok(Duration::from_micros(1500)));
        assert_eq!("10.0000000000000000000000ms".parse(), Ok(Duration::from_millis(10)));
        assert_eq!("0e30s".parse(), Ok(Duration::ZERO));
        assert_eq!("10\u{b5}s".parse(), Ok(Duration::from_micros(10)));
        assert_eq!("10\u{3bc}s".parse(), Ok(Duration::from_micros(10)));
        assert_eq!("2.5Gbit/s".parse(), Ok(Rate::from_mbps(2500)));
        assert_eq!("10tb".parse(), Ok(Bytes::new(10_000_000_000_000)));
        assert_eq!(packets("1_0e1p"), Ok(100));
    }

    fn help<Q: FromStr<Err = ParseError>>(text: &str) -> Option<String> {
        text.parse::<Q>().err().and_then(|error| error.help)
    }

    #[test]
    fn another_spelling_is_told_the_right_one_with_the_same_value() {
        let meant = |text: &str| Some(format!("did you mean \"{text}\"?"));
        assert_eq!(help::<Rate>("40Mbps"), meant("40mbit"));
        assert_eq!(help::<Rate>("40 Mb/s"), meant("40mbit"));
        assert_eq!(help::<Rate>("40mbits"), meant("40mbit"));
        assert_eq!(help::<Rate>("1_0.5mbti"), meant("1_0.5mbit"));
        assert_eq!(help::<Rate>("40gbt"), meant("40gbit"));
        assert_eq!(help::<Duration>("10 seconds"), meant("10s"));
        assert_eq!(help::<Duration>("10mins"), meant("10min"));
        assert_eq!(help::<Duration>("1e3msec"), meant("1e3ms"));
        assert_eq!(help::<Bytes>("10KBytes"), meant("10kb"));
        assert_eq!(help::<Frequency>("100Hz"), meant("100/s"));
        assert_eq!(packets("5 pkts").map_err(|error| error.help), Err(meant("5p")));
    }

    #[test]
    fn what_may_mean_another_value_is_told_no_value() {
        for text in ["1m", "1M", "1sm", "1h", "1d", "1mo", "10parsec", "1__0ms", "-1ms", "1ks"] {
            let help = help::<Duration>(text).unwrap_or_default();
            assert!(!help.contains("did you mean"), "{text}: {help}");
        }
        for text in ["10MB/s", "10MBps", "10mb", "10nbit", "10k", "10,5mbit", "10 500kbit"] {
            let help = help::<Rate>(text).unwrap_or_default();
            assert!(!help.contains("did you mean"), "{text}: {help}");
        }
        for text in ["10kbit", "10mbb", "10k", "10p"] {
            let help = help::<Bytes>(text).unwrap_or_default();
            assert!(!help.contains("did you mean"), "{text}: {help}");
        }
        for text in ["100/min", "100/ms", "100/m", "10ms"] {
            let help = help::<Frequency>(text).unwrap_or_default();
            assert!(!help.contains("did you mean"), "{text}: {help}");
        }
        assert!(help::<Rate>("10,5mbit").unwrap().contains("decimal point is `.`"));
        assert_eq!(help::<Duration>("10").as_deref(), Some(NO_UNIT));
        assert_eq!(help::<Duration>(" 1e3 ").as_deref(), Some(NO_UNIT));
    }

    #[test]
    fn refuses_what_has_no_unit_or_no_value() {
        for text in ["", "10", "-10ms", "ms", "1.2.3ms", "1e-7ms", "10parsec", "0.1ns", "5mbit"] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
        assert!("99999999999999999999gbit".parse::<Rate>().is_err());
        for text in ["100", "/s", "-1/s", "1/min", "0.0000001/s"] {
            assert!(text.parse::<Frequency>().is_err(), "{text}");
        }
    }

    /// Checks the suggestion for a text, where there is one.
    fn suggested<Q: FromStr<Err = ParseError>>(
        text: &str,
        number: &str,
    ) -> Result<(), TestCaseError> {
        let help = help::<Q>(text).unwrap_or_default();
        let meant = help.strip_prefix("did you mean \"").and_then(|rest| rest.strip_suffix("\"?"));
        let Some(meant) = meant else { return Ok(()) };
        prop_assert!(meant.parse::<Q>().is_ok(), "{text}: {help}");
        let rest = meant.strip_prefix(number);
        let rest = rest.filter(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
        prop_assert!(rest.is_some(), "{text}: {help}");
        // The letter that sets the scale is the one that was written.
        let scale = |unit: &str| unit.trim().to_lowercase().chars().next();
        if text.len() > number.len() {
            let written = scale(&text[number.len()..]);
            prop_assert!(
                rest.and_then(scale) == written || meant.ends_with("/s"),
                "{text}: {help}"
            );
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn printing_and_reading_agree(n: u64) {
            prop_assert_eq!(Duration::from_nanos(n).to_string().parse(), Ok(Duration::from_nanos(n)));
            prop_assert_eq!(Rate::from_bps(n).to_string().parse(), Ok(Rate::from_bps(n)));
            prop_assert_eq!(Bytes::new(n).to_string().parse(), Ok(Bytes::new(n)));
            let often = Frequency::from_micros(n);
            prop_assert_eq!(often.to_string().parse(), Ok(often));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = text.parse::<Duration>();
            let _ = text.parse::<Rate>();
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Frequency>();
        }

        #[test]
        fn a_suggestion_is_read_and_has_the_number_that_was_written(
            number in "[0-9]{1,4}(_[0-9]{1,3})?([.][0-9]{1,3})?(e[0-9])?",
            unit in "[ ]?[a-zA-Z/\u{b5}\u{3bc}]{0,6}",
            unit_alike in prop::sample::select(vec!["mbit", "kib", "tb", "ms", "min", "us", "gbit/s", "/s", "p"]),
            at in 0usize..6, letter in "[a-zA-Z/]?",
        ) {
            // A unit with a letter more, less or another.
            let mut alike: Vec<char> = unit_alike.chars().collect();
            let at = at.min(alike.len() - 1);
            alike.splice(at..at + 1, letter.chars());
            let alike: String = alike.into_iter().collect();
            for text in [format!("{number}{unit}"), format!("{number}{alike}")] {
                suggested::<Duration>(&text, &number)?;
                suggested::<Rate>(&text, &number)?;
                suggested::<Bytes>(&text, &number)?;
                suggested::<Frequency>(&text, &number)?;
            }
        }
    }
}
