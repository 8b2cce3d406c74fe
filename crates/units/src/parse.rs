//! Reading quantities in the style of `tc`.

use core::str::FromStr;

use crate::{Bytes, Duration, Ecn, Frequency, Rate};

/// Why a text is not a quantity: what was found and what is accepted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{found}` is not {expected}")]
pub struct ParseError {
    /// The text as it was found.
    pub found: String,
    /// What is accepted, with an example.
    pub expected: &'static str,
}

/// Decimal scaling is exact: `0.1ms` is 100,000 ns, without a detour through floating point.
fn scaled(text: &str, units: &[(&str, u64)], expected: &'static str) -> Result<u64, ParseError> {
    let error = || ParseError { found: text.to_owned(), expected };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(error)?;
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim_start());
    let (_, scale) =
        units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or_else(error)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.len() > 12 || fraction.contains('.') {
        return Err(error());
    }
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| error())?;
    let scaled = digits.checked_mul(u128::from(*scale)).ok_or_else(error)?;
    let divisor = 10u128.pow(fraction.len() as u32);
    // A fraction finer than the unit of the type has no exact value.
    if !scaled.is_multiple_of(divisor) {
        return Err(error());
    }
    u64::try_from(scaled / divisor).map_err(|_| error())
}

impl FromStr for Duration {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let units = [
            ("ns", 1),
            ("us", 1_000),
            ("µs", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("min", 60_000_000_000),
        ];
        scaled(text, &units, "a time: a number with ns, us, ms, s or min, such as \"10ms\"")
            .map(Duration::from_nanos)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let units = [
            ("bit", 1),
            ("kbit", 1_000),
            ("mbit", 1_000_000),
            ("gbit", 1_000_000_000),
            ("tbit", 1_000_000_000_000),
        ];
        scaled(text, &units, "a rate: a number with bit, kbit, mbit or gbit, such as \"40mbit\"")
            .map(Rate::from_bps)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let units = [
            ("b", 1),
            ("kb", 1_000),
            ("mb", 1_000_000),
            ("gb", 1_000_000_000),
            ("kib", 1 << 10),
            ("mib", 1 << 20),
            ("gib", 1 << 30),
        ];
        scaled(
            text,
            &units,
            "a size: a number with b, kb, mb, gb or kib, mib, gib, such as \"1514b\"",
        )
        .map(Bytes::new)
    }
}

impl FromStr for Frequency {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let expected = "a number of times per second, such as \"100/s\" or \"0.5/s\"";
        scaled(text, &[("/s", 1_000_000)], expected).map(Frequency::from_micros)
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
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn refuses_what_has_no_unit_or_no_value() {
        for text in ["", "10", "-10ms", "ms", "1.2.3ms", "1e3ms", "10parsec", "0.1ns", "5mbit"] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
        assert!("99999999999999999999gbit".parse::<Rate>().is_err());
        for text in ["100", "/s", "-1/s", "1/min", "0.0000001/s"] {
            assert!(text.parse::<Frequency>().is_err(), "{text}");
        }
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
    }
}
