//! Decimal numbers of files, exactly: `0.1` seconds are 100,000,000 ns, without a detour through floating
//! point.

/// Why a text is no number in range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    Empty,
    Negative,
    NotANumber,
    Infinite,
    /// Something else than digits.
    Other,
    /// More than 64 bits.
    Large,
}

impl Fault {
    /// The reason, for a message.
    pub fn help(self) -> Option<String> {
        let words = match self {
            Fault::Empty => "the field is empty",
            Fault::Negative => "it is negative",
            Fault::NotANumber => "NaN has no value; leave such rows out",
            Fault::Infinite => "it is infinite",
            Fault::Other => return None,
            Fault::Large => "it is too large",
        };
        Some(words.to_owned())
    }
}

/// A number times `scale`, to the nearest whole one. It is written as in most languages: digits,
/// a fraction, an exponent.
pub(crate) fn decimal(text: &str, scale: u64) -> Result<u64, Fault> {
    let (sign, digits) = match text.as_bytes() {
        [] => return Err(Fault::Empty),
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(named(digits));
    }
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole) || !plain(fraction) || whole.len() + fraction.len() == 0 {
        return Err(Fault::Other);
    }
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if unsigned.is_empty() || !plain(unsigned) {
        return Err(Fault::Other);
    }
    let power = exponent.strip_prefix('+').unwrap_or(exponent);
    let is_zero = [whole, fraction].iter().all(|part| part.bytes().all(|byte| byte == b'0'));
    if sign && !is_zero {
        return Err(Fault::Negative);
    }
    scaled(whole, fraction, power, scale)
}

/// The fault of a text without digits.
fn named(text: &str) -> Fault {
    let is = |names: &[&str]| names.iter().any(|name| text.eq_ignore_ascii_case(name));
    if is(&["nan", "na", "n/a", "null", "none"]) {
        Fault::NotANumber
    } else if is(&["inf", "infinity"]) {
        Fault::Infinite
    } else {
        Fault::Other
    }
}

/// Digits before and after the point, times a power of ten, times `scale`.
fn scaled(whole: &str, fraction: &str, power: &str, scale: u64) -> Result<u64, Fault> {
    // The scale is at most 10⁹. A digit after the 28th place behind the point changes the result only if
    // it breaks a tie.
    const PLACES: usize = 28;
    let digits = whole.trim_start_matches('0');
    if digits.is_empty() && fraction.bytes().all(|byte| byte == b'0') {
        return Ok(0);
    }
    // An exponent of more digits than that makes any number of this crate too large, or 0.
    let power: i64 = match power.parse() {
        Ok(power) if (-1_000_000..=1_000_000).contains(&power) => power,
        _ if power.starts_with('-') => return Ok(0),
        _ => return Err(Fault::Large),
    };
    // Nearly every number of a file: at most 18 digits, and one division.
    let exponent = power - fraction.len() as i64;
    if digits.len() + fraction.len() <= 18 && (-18..=0).contains(&exponent) {
        let number = digits.bytes().chain(fraction.bytes());
        let number = number.fold(0u64, |number, byte| number * 10 + u64::from(byte - b'0'));
        // Below 10¹⁸ · 10⁹.
        let (scaled, unit) = (u128::from(number) * u128::from(scale), 10u64.pow(-exponent as u32));
        let value = (scaled + u128::from(unit / 2)) / u128::from(unit);
        return u64::try_from(value).map_err(|_| Fault::Large);
    }
    // The place of the point in all digits.
    let all: Vec<u8> = digits.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
    let point = digits.len() as i64 + power;
    let zeros = all.iter().take_while(|digit| **digit == 0).count() as i64;
    if point - zeros > 20 {
        return Err(Fault::Large);
    }
    let digit = |place: i64| usize::try_from(place).ok().and_then(|place| all.get(place)).copied();
    let mut value = 0u128;
    for place in 0..point {
        value = value * 10 + u128::from(digit(place).unwrap_or(0));
    }
    value *= u128::from(scale);
    // The fraction, place by place: scale · 0.ddd….
    let mut rest = 0u128;
    for place in (0..PLACES as i64).rev() {
        rest = (rest + u128::from(digit(point + place).unwrap_or(0)) * u128::from(scale) * TEN_18)
            / 10;
    }
    value += (rest + TEN_18 / 2) / TEN_18;
    u64::try_from(value).map_err(|_| Fault::Large)
}

/// Digits that are kept below the unit.
const TEN_18: u128 = 1_000_000_000_000_000_000;

/// A number of units as decimal text, exactly: 1,500 ms are `1.5` s.
pub(crate) fn text(value: u64, scale: u64) -> String {
    let (whole, fraction) = (value / scale, value % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    let places = scale.ilog10() as usize;
    let digits = format!("{fraction:0places$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_exact() {
        for (text, scale, value) in [
            ("0.1", 1_000_000_000, 100_000_000),
            ("5", 1, 5),
            ("1e6", 1, 1_000_000),
            ("1.5E+3", 1, 1_500),
            ("25e-1", 1_000, 2_500),
            ("+7.", 1, 7),
            (".5", 1_000, 500),
            ("-0.0", 1, 0),
            ("0.30000000000000004", 1_000_000_000, 300_000_000),
            ("0.4999999999", 1, 0),
            ("0.5", 1, 1),
            ("18446744073709551615", 1, u64::MAX),
            ("0e999999999999", 1, 0),
            ("1e-999999999999999999999", 1, 0),
            ("0.000000000000000000000000000000000001e36", 1, 1),
            ("1000000000000000000000000000000e-30", 1_000, 1_000),
        ] {
            assert_eq!(decimal(text, scale), Ok(value), "{text}");
        }
    }

    #[test]
    fn other_texts_have_their_reason() {
        for (text, fault) in [
            ("", Fault::Empty),
            ("-1", Fault::Negative),
            ("-0.0001", Fault::Negative),
            ("-1e99", Fault::Negative),
            ("nan", Fault::NotANumber),
            ("-NaN", Fault::NotANumber),
            ("NA", Fault::NotANumber),
            ("inf", Fault::Infinite),
            ("-Infinity", Fault::Infinite),
            ("five", Fault::Other),
            ("5x", Fault::Other),
            ("1.2.3", Fault::Other),
            (".", Fault::Other),
            ("1e", Fault::Other),
            ("1e-", Fault::Other),
            ("1e5.5", Fault::Other),
            ("0x10", Fault::Other),
            ("1_000", Fault::Other),
            ("18446744073709551616", Fault::Large),
            ("1e20", Fault::Large),
            ("1e999999999999999999999", Fault::Large),
        ] {
            assert_eq!(decimal(text, 1), Err(fault), "{text}");
        }
    }

    proptest! {
        /// A number of few digits is read in another way than one of many.
        #[test]
        fn zeros_behind_a_fraction_change_nothing(
            number in "[0-9]{1,9}\\.[0-9]{1,9}",
            scale in prop::sample::select(vec![1u64, 1_000, 1_000_000, 1_000_000_000]),
        ) {
            let long = format!("{number}{}", "0".repeat(20));
            prop_assert_eq!(decimal(&number, scale), decimal(&long, scale));
        }

        #[test]
        fn text_reads_back(value: u64, scale in prop::sample::select(vec![1u64, 1_000, 1_000_000, 1_000_000_000])) {
            prop_assert_eq!(decimal(&text(value, scale), scale), Ok(value));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9.eE]{0,40}") {
            let ours = decimal(&text, 1);
            // f64 accepts the same texts, and has the same value to its precision.
            match (ours, text.parse::<f64>()) {
                (Ok(value), Ok(float)) => {
                    prop_assert!((value as f64 - float).abs() <= 0.5 + float.abs() * 1e-15);
                }
                (Err(Fault::Negative), Ok(float)) => prop_assert!(float.is_sign_negative()),
                (Err(Fault::Large), Ok(float)) => prop_assert!(float.abs() >= 1.8e19),
                (Err(_), float) => prop_assert!(float.is_err(), "{text}"),
                (Ok(_), Err(_)) => prop_assert!(false, "{text}"),
            }
        }
    }
}
