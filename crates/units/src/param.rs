//! Settings that a user may change, declared once.
//!
//! A configuration type lists its [`Param`]s: name, meaning, kind with range, how to read and how
//! to set it. The scenario reader, `l4s show`, `l4s aqm`, `l4s cc` and the documentation all work
//! from that list, so none of them can disagree with the code.

use core::fmt;
use core::str::FromStr;

use crate::parse::NO_UNIT;
use crate::{Bytes, Duration, ParseError, packets};

/// A configuration whose settings are declared.
///
/// ```
/// use l4s_units::param;
/// use l4s_units::param::{Configurable, Kind, Param, Profile, Raw};
///
/// struct Config {
///     most: u32,
/// }
///
/// impl Configurable for Config {
///     const KIND: &'static str = "example";
///     const ABOUT: &'static str = "an example";
///     const PARAMS: &'static [Param<Self>] =
///         &[param!(most, Kind::Count { min: 1, max: 9 }, "the most packets")];
///     const PROFILES: &'static [Profile<Self>] =
///         &[Profile { name: "default", doc: "the default", make: || Config { most: 3 } }];
/// }
///
/// let mut config = Config::profile("default").unwrap();
/// let most = &Config::PARAMS[0];
/// (most.set)(&mut config, most.kind.read(&Raw::Integer(5)).unwrap());
/// assert_eq!(config.most, 5);
/// ```
pub trait Configurable: Sized + 'static {
    /// The name a user calls it by, such as `dualpi2`.
    const KIND: &'static str;
    /// Its description, in one line.
    const ABOUT: &'static str;

    /// Every setting, in the order in which to show and to apply them.
    const PARAMS: &'static [Param<Self>];

    /// Named starting points; the first is the default. Never empty.
    const PROFILES: &'static [Profile<Self>];

    /// Settings of earlier versions, each with the way to say the same now.
    const REMOVED: &'static [(&'static str, &'static str)] = &[];

    /// Settings that do not go together.
    fn check(&self) -> Result<(), Conflict> {
        Ok(())
    }

    /// The profile of that name.
    fn profile(name: &str) -> Option<Self> {
        Self::PROFILES.iter().find(|p| p.name == name).map(|p| (p.make)())
    }
}

/// A named set of values for every setting.
///
/// Example: [`Configurable`].
pub struct Profile<C> {
    /// Its name in a scenario: `profile = "dctth"`.
    pub name: &'static str,
    /// Where the values come from.
    pub doc: &'static str,
    /// The configuration.
    pub make: fn() -> C,
}

/// One setting of configuration `C`.
///
/// Example: [`Configurable`].
pub struct Param<C> {
    /// Its key in a scenario.
    pub name: &'static str,
    /// Its meaning, in one line.
    pub doc: &'static str,
    /// Which values it takes.
    pub kind: Kind,
    /// Its present value; `None` where another setting makes it meaningless.
    pub get: fn(&C) -> Option<Value>,
    /// Sets it to a value that its kind's [`Kind::read`] returned.
    pub set: fn(&mut C, Value),
}

impl<C> Param<C> {
    /// A setting.
    pub const fn new(
        name: &'static str,
        doc: &'static str,
        kind: Kind,
        get: fn(&C) -> Option<Value>,
        set: fn(&mut C, Value),
    ) -> Self {
        Param { name, doc, kind, get, set }
    }
}

/// Settings that contradict each other.
///
/// ```
/// use l4s_units::param::Conflict;
///
/// let (shortest, longest) = (5, 3);
/// let conflict = (shortest > longest).then(|| Conflict {
///     key: "shortest",
///     message: "`shortest` is above `longest`".to_owned(),
/// });
/// assert_eq!(conflict.unwrap().key, "shortest");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The key to point at.
    pub key: &'static str,
    /// The fault and the accepted values.
    pub message: String,
}

/// Which values a setting takes. Bounds are inclusive.
///
/// ```
/// use l4s_units::param::{Kind, Raw, Value};
///
/// let kind = Kind::Count { min: 1, max: 9 };
/// assert_eq!(kind.read(&Raw::Integer(5)), Ok(Value::Count(5)));
/// assert!(kind.read(&Raw::Integer(10)).is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Count {
        /// Lowest.
        min: u64,
        /// Highest.
        max: u64,
    },
    /// A number with a fraction.
    Number {
        /// Lowest.
        min: f64,
        /// Highest.
        max: f64,
        /// Its unit in print, such as `Hz`; empty for a ratio.
        unit: &'static str,
    },
    /// A time.
    Duration {
        /// Shortest.
        min: Duration,
        /// Longest.
        max: Duration,
    },
    /// Two times, the second not before the first, such as the ends of a ramp.
    Durations {
        /// Shortest.
        min: Duration,
        /// Longest.
        max: Duration,
    },
    /// A time, or a number of packets such as `3p`.
    DurationOrPackets {
        /// Longest time.
        max: Duration,
        /// Most packets.
        max_packets: u64,
    },
    /// A number of packets such as `10000p`.
    Packets {
        /// Fewest.
        min: u64,
        /// Most.
        max: u64,
    },
    /// A size.
    Bytes {
        /// Smallest.
        min: Bytes,
        /// Largest.
        max: Bytes,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// The value of a setting.
///
/// ```
/// use l4s_units::param::{Setting, Value};
///
/// assert_eq!(u32::from_value(Value::Count(5)), 5);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// Of [`Kind::Bool`].
    Bool(bool),
    /// Of [`Kind::Count`].
    Count(u64),
    /// Of [`Kind::Number`].
    Number(f64),
    /// Of [`Kind::Duration`] or [`Kind::DurationOrPackets`].
    Duration(Duration),
    /// Of [`Kind::Durations`].
    Durations(Duration, Duration),
    /// Of [`Kind::Packets`] or [`Kind::DurationOrPackets`].
    Packets(u64),
    /// Of [`Kind::Bytes`].
    Bytes(Bytes),
    /// Of [`Kind::Choice`].
    Word(&'static str),
}

/// The value of a setting whose kind is known.
///
/// # Panics
/// Each panics on a value of another kind. A setting's `set` may use the one of its own kind,
/// because it is only called with results of that kind's [`Kind::read`].
impl Value {
    /// Of [`Kind::Bool`].
    pub fn bool(self) -> bool {
        if let Value::Bool(b) = self { b } else { self.other("a truth value") }
    }

    /// Of [`Kind::Count`].
    pub fn count(self) -> u64 {
        if let Value::Count(n) = self { n } else { self.other("a count") }
    }

    /// Of [`Kind::Number`].
    pub fn number(self) -> f64 {
        if let Value::Number(x) = self { x } else { self.other("a number") }
    }

    /// Of [`Kind::Duration`].
    pub fn duration(self) -> Duration {
        if let Value::Duration(d) = self { d } else { self.other("a time") }
    }

    /// Of [`Kind::Durations`].
    pub fn durations(self) -> (Duration, Duration) {
        if let Value::Durations(low, high) = self { (low, high) } else { self.other("two times") }
    }

    /// Of [`Kind::Packets`].
    pub fn packets(self) -> u64 {
        if let Value::Packets(n) = self { n } else { self.other("packets") }
    }

    /// Of [`Kind::Bytes`].
    pub fn bytes(self) -> Bytes {
        if let Value::Bytes(b) = self { b } else { self.other("a size") }
    }

    /// Of [`Kind::Choice`].
    pub fn word(self) -> &'static str {
        if let Value::Word(w) = self { w } else { self.other("a word") }
    }

    fn other(self, wanted: &str) -> ! {
        panic!("{wanted} was asked of the setting `{self}`")
    }
}

/// A type whose values are the [`Value`]s of a setting.
///
/// ```
/// use l4s_units::param::{Setting, Value};
///
/// assert_eq!(true.into_value(), Some(Value::Bool(true)));
/// ```
pub trait Setting: Copy {
    /// As the value of a setting; `None` for an `Option` that is.
    fn into_value(self) -> Option<Value>;

    /// From a value of its kind.
    ///
    /// # Panics
    /// On a value of another kind: see [`Value`].
    fn from_value(value: Value) -> Self;
}

macro_rules! settings {
    ($($type:ty: $read:ident, $write:expr);+ $(;)?) => {$(
        impl Setting for $type {
            fn into_value(self) -> Option<Value> {
                Some(($write)(self))
            }

            fn from_value(value: Value) -> Self {
                value.$read()
            }
        }
    )+};
}

settings! {
    bool: bool, Value::Bool;
    u64: count, Value::Count;
    f64: number, Value::Number;
    Duration: duration, Value::Duration;
    Bytes: bytes, Value::Bytes;
}

impl<T: Setting> Setting for Option<T> {
    fn into_value(self) -> Option<Value> {
        self.and_then(T::into_value)
    }

    fn from_value(value: Value) -> Self {
        Some(T::from_value(value))
    }
}

impl Setting for u32 {
    fn into_value(self) -> Option<Value> {
        Some(Value::Count(self.into()))
    }

    /// Saturates. The range of the setting keeps it from having to.
    fn from_value(value: Value) -> Self {
        u32::try_from(value.count()).unwrap_or(u32::MAX)
    }
}

/// Declares an enumeration that a setting chooses from: each variant with its word.
///
/// The variants become a [`Setting`], and `KIND` is the [`Kind`] of a setting of this type.
///
/// ```
/// use l4s_units::param::{Kind, Setting, Value};
///
/// l4s_units::words! {
///     /// How a packet leaves.
///     Exit {
///         /// Through the front.
///         Front = "front",
///         /// Through the back.
///         Back = "back",
///     }
/// }
/// assert_eq!(Exit::KIND, Kind::Choice(&["front", "back"]));
/// assert_eq!(Exit::from_value(Value::Word("back")), Exit::Back);
/// ```
#[macro_export]
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)?
    })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, ::serde::Serialize, ::serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// The kind of a setting of this type.
            pub const KIND: $crate::param::Kind = $crate::param::Kind::Choice(&[$($word),+]);

            /// Its word in a scenario.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }
        }

        impl $crate::param::Setting for $name {
            fn into_value(self) -> Option<$crate::param::Value> {
                Some($crate::param::Value::Word(self.word()))
            }

            fn from_value(value: $crate::param::Value) -> Self {
                match value.word() {
                    $($word => $name::$variant,)+
                    other => unreachable!("`{other}` is not a word of the setting"),
                }
            }
        }
    )+};
}

/// Declares a [`Param`] that is a field of the configuration `Self`, of a type that is a
/// [`Setting`]. The arguments are the field, whose name is that of the setting, its kind, its meaning,
/// and, unless it always has an effect, a function that returns whether it has one:
///
/// ```
/// use l4s_units::param;
/// use l4s_units::param::{Configurable, Kind, Param, Profile};
///
/// #[derive(Default)]
/// struct Config {
///     marks: bool,
///     most: u32,
/// }
///
/// impl Configurable for Config {
///     const KIND: &'static str = "example";
///     const ABOUT: &'static str = "an example";
///     const PARAMS: &'static [Param<Self>] = &[
///         param!(marks, Kind::Bool, "mark packets"),
///         param!(most, Kind::Count { min: 1, max: 9 }, "the most packets", |c| c.marks),
///     ];
///     const PROFILES: &'static [Profile<Self>] =
///         &[Profile { name: "default", doc: "the default", make: Config::default }];
/// }
/// assert_eq!((Config::PARAMS[1].get)(&Config::default()), None);
/// ```
#[macro_export]
macro_rules! param {
    ($field:ident, $kind:expr, $doc:literal $(, $applies:expr)? $(,)?) => {
        $crate::param::Param::new(
            stringify!($field),
            $doc,
            $kind,
            |c: &Self| {
                $(
                    let applies: fn(&Self) -> bool = $applies;
                    if !applies(c) {
                        return None;
                    }
                )?
                $crate::param::Setting::into_value(c.$field)
            },
            |c: &mut Self, value| c.$field = $crate::param::Setting::from_value(value),
        )
    };
}

/// A value as written by a user, in any file format.
///
/// ```
/// use l4s_units::param::{Kind, Raw, Value};
///
/// assert_eq!(Kind::Bool.read(&Raw::Bool(true)), Ok(Value::Bool(true)));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub enum Raw {
    /// A string.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A list.
    List(Vec<Raw>),
}

/// Why a raw value does not fit: the value and the accepted ones.
///
/// ```
/// use l4s_units::param::{Kind, Raw};
///
/// let misfit = Kind::Choice(&["step", "ramp"]).read(&Raw::Text("stap".to_owned())).unwrap_err();
/// assert_eq!(misfit.words, ["step", "ramp"]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{found}: expected {expected}")]
pub struct Misfit {
    /// The value as found.
    pub found: String,
    /// The accepted values.
    pub expected: String,
    /// The accepted words, for a suggestion of the nearest; empty where there are none.
    pub words: &'static [&'static str],
    /// The way out, in words.
    pub help: Option<String>,
}

impl Kind {
    /// The value that `raw` stands for.
    pub fn read(self, raw: &Raw) -> Result<Value, Misfit> {
        let misfit = |help| Misfit {
            found: raw.to_string(),
            expected: self.to_string(),
            words: if let Kind::Choice(words) = self { words } else { &[] },
            help,
        };
        match self.parse(raw) {
            Ok(value) if self.admits(value) => Ok(value),
            Ok(_) => Err(misfit(None)),
            Err(help) => Err(misfit(help)),
        }
    }

    /// The value, in or out of range; or an error with an optional remedy.
    fn parse(self, raw: &Raw) -> Result<Value, Option<String>> {
        fn read<Q: FromStr<Err = ParseError>>(text: &str) -> Result<Q, Option<String>> {
            text.parse().map_err(|error: ParseError| error.help)
        }
        let whole = |n: i64| u64::try_from(n).map_err(|_| None);
        match (self, raw) {
            (Kind::Bool, Raw::Bool(b)) => Ok(Value::Bool(*b)),
            (Kind::Count { .. }, Raw::Integer(n)) => whole(*n).map(Value::Count),
            (Kind::Number { .. }, Raw::Integer(n)) => Ok(Value::Number(*n as f64)),
            (Kind::Number { .. }, Raw::Float(x)) => Ok(Value::Number(*x)),
            (Kind::Duration { .. }, Raw::Text(text)) => read(text).map(Value::Duration),
            (Kind::Durations { .. }, Raw::List(items)) => match items.as_slice() {
                [Raw::Text(low), Raw::Text(high)] => Ok(Value::Durations(read(low)?, read(high)?)),
                _ => Err(None),
            },
            (Kind::DurationOrPackets { .. }, Raw::Text(text)) => {
                packets(text).map(Value::Packets).or_else(|error| {
                    read(text).map(Value::Duration).map_err(|help| help.or(error.help))
                })
            }
            (Kind::Packets { .. }, Raw::Text(text)) => {
                packets(text).map(Value::Packets).map_err(|error| error.help)
            }
            (Kind::Packets { .. }, Raw::Integer(n)) => whole(*n).map(Value::Packets),
            (Kind::Bytes { .. }, Raw::Text(text)) => read(text).map(Value::Bytes),
            (Kind::Choice(words), Raw::Text(text)) => {
                words.iter().find(|w| *w == text).map(|w| Value::Word(w)).ok_or(None)
            }
            (
                Kind::Duration { .. } | Kind::DurationOrPackets { .. } | Kind::Bytes { .. },
                Raw::Integer(_) | Raw::Float(_),
            ) => Err(Some(NO_UNIT.to_owned())),
            _ => Err(None),
        }
    }

    /// Whether a value is of this kind and in its range.
    pub fn admits(self, value: Value) -> bool {
        match (self, value) {
            (Kind::Count { min, max }, Value::Count(n)) => (min..=max).contains(&n),
            (Kind::Packets { min, max }, Value::Packets(n)) => (min..=max).contains(&n),
            (Kind::Number { min, max, .. }, Value::Number(x)) => (min..=max).contains(&x),
            (Kind::Duration { min, max }, Value::Duration(d)) => (min..=max).contains(&d),
            (Kind::Durations { min, max }, Value::Durations(low, high)) => {
                min <= low && low <= high && high <= max
            }
            (Kind::DurationOrPackets { max, .. }, Value::Duration(d)) => d <= max,
            (Kind::DurationOrPackets { max_packets, .. }, Value::Packets(n)) => n <= max_packets,
            (Kind::Bytes { min, max }, Value::Bytes(b)) => (min..=max).contains(&b),
            (Kind::Bool, Value::Bool(_)) | (Kind::Choice(_), Value::Word(_)) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Kind {
    /// The accepted values, in the words of an error message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Bool => write!(f, "true or false"),
            Kind::Count { min, max } => write!(f, "a whole number from {min} to {max}"),
            Kind::Number { min, max, unit: "" } => write!(f, "a number from {min} to {max}"),
            Kind::Number { min, max, unit } => write!(f, "a number of {unit} from {min} to {max}"),
            Kind::Duration { min, max } => {
                write!(f, "a time such as \"15ms\", from {min} to {max}")
            }
            Kind::Durations { min, max } => write!(
                f,
                "two times, the lower first, such as [\"0.8ms\", \"1.2ms\"], from {min} to {max}"
            ),
            Kind::DurationOrPackets { max, max_packets } => write!(
                f,
                "a time up to {max} such as \"1ms\", or packets up to {max_packets}p such as \"3p\""
            ),
            Kind::Packets { min, max } => {
                write!(f, "a number of packets such as \"1000p\", from {min}p to {max}p")
            }
            Kind::Bytes { min, max } => {
                write!(f, "a size such as \"30mb\", from {min} to {max}")
            }
            Kind::Choice(words) => {
                write!(f, "one of ")?;
                for (i, word) in words.iter().enumerate() {
                    write!(f, "{}\"{word}\"", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Value {
    /// As it is written in a scenario, without quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(b) => write!(f, "{b}"),
            Value::Count(n) => write!(f, "{n}"),
            Value::Number(x) => write!(f, "{x}"),
            Value::Duration(d) => write!(f, "{d}"),
            Value::Durations(low, high) => write!(f, "{low} {high}"),
            Value::Packets(n) => write!(f, "{n}p"),
            Value::Bytes(b) => write!(f, "{b}"),
            Value::Word(w) => write!(f, "{w}"),
        }
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Raw::Text(text) => write!(f, "\"{text}\""),
            Raw::Integer(n) => write!(f, "{n}"),
            Raw::Float(x) => write!(f, "{x}"),
            Raw::Bool(b) => write!(f, "{b}"),
            Raw::List(items) => {
                write!(f, "[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
                }
                write!(f, "]")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_value_outside_its_range_is_refused_with_the_range() {
        let kind = Kind::Duration { min: MS, max: Duration::from_secs(1) };
        assert_eq!(kind.read(&Raw::Text("15ms".into())), Ok(Value::Duration(MS * 15)));
        let misfit = kind.read(&Raw::Text("0s".into())).unwrap_err();
        assert_eq!(misfit.to_string(), "\"0s\": expected a time such as \"15ms\", from 1ms to 1s");
        assert!(kind.read(&Raw::Integer(15)).is_err(), "a bare number has no unit");
    }

    #[test]
    fn a_threshold_is_a_time_or_packets() {
        let kind = Kind::DurationOrPackets { max: MS * 100, max_packets: 100 };
        assert_eq!(kind.read(&Raw::Text("1ms".into())), Ok(Value::Duration(MS)));
        assert_eq!(kind.read(&Raw::Text("3p".into())), Ok(Value::Packets(3)));
        assert!(kind.read(&Raw::Text("101p".into())).is_err());
    }

    #[test]
    fn a_ramp_rises() {
        let kind = Kind::Durations { min: Duration::ZERO, max: MS * 10 };
        let ramp = |a: &str, b: &str| {
            kind.read(&Raw::List(vec![Raw::Text(a.into()), Raw::Text(b.into())]))
        };
        assert_eq!(ramp("1ms", "2ms"), Ok(Value::Durations(MS, MS * 2)));
        assert!(ramp("2ms", "1ms").is_err());
    }

    #[test]
    fn words_are_listed_for_a_suggestion() {
        let misfit = Kind::Choice(&["step", "ramp"]).read(&Raw::Text("stepp".into())).unwrap_err();
        assert_eq!(misfit.words, ["step", "ramp"]);
    }
}
