//! The commands of viewers.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::Fault;

/// Keys to set, in order: a value as `--set` takes it, or `None` to take the key back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes(pub Vec<(String, Option<String>)>);

/// A command of a viewer.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Command {
    /// Sets keys, all or none.
    Set {
        /// The keys.
        set: Changes,
        /// 0 for all lanes, 1 for the discipline of the second.
        #[serde(default)]
        lane: usize,
        /// Repeated by the answer.
        #[serde(default)]
        id: Option<u64>,
    },
    /// Another scenario, from time zero.
    Load {
        /// The number of a preset.
        #[serde(default)]
        point: Option<usize>,
        /// A scenario, TOML.
        #[serde(default)]
        text: Option<String>,
        /// Keys to set in it.
        #[serde(default)]
        set: Changes,
        /// Repeated by the answer.
        #[serde(default)]
        id: Option<u64>,
    },
    /// Adds a second lane, or takes it away.
    Compare {
        /// Its differences; `None` ends the comparison.
        #[serde(deserialize_with = "Option::deserialize")]
        set: Option<Changes>,
        /// Repeated by the answer.
        #[serde(default)]
        id: Option<u64>,
    },
    /// From time zero.
    Restart {
        /// Repeated by the answer.
        #[serde(default)]
        id: Option<u64>,
    },
    /// Stops or resumes virtual time.
    Pause {
        /// Whether it stops.
        paused: bool,
        /// Repeated by the answer.
        #[serde(default)]
        id: Option<u64>,
    },
    /// Sets virtual seconds per second.
    Speed {
        /// From 0.01 to 10.
        speed: f64,
        /// Repeated by the answer.
        #[serde(default)]
        id: Option<u64>,
    },
}

/// The start of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Opening {
    /// The scenario.
    pub start: Start,
    /// Keys to set in it.
    pub set: Changes,
}

/// A scenario to start with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start {
    /// The preset of that number.
    Point(usize),
    /// A text, TOML.
    Text(String),
}

impl Default for Start {
    fn default() -> Self {
        Start::Point(0)
    }
}

/// The body of `POST /api/sessions`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The number of a preset.
    #[serde(default)]
    point: Option<usize>,
    /// A scenario, TOML.
    #[serde(default)]
    text: Option<String>,
    /// Keys to set in it.
    #[serde(default)]
    set: Changes,
}

impl Opening {
    /// Of a preset or a text, but not of both; the first preset without either.
    ///
    /// # Errors
    /// Both were given.
    pub fn new(point: Option<usize>, text: Option<String>, set: Changes) -> Result<Opening, Fault> {
        let start = match (point, text) {
            (Some(_), Some(_)) => {
                return Err(Fault::new("text", "found `point` and `text`, expected one of them"));
            }
            (point, None) => Start::Point(point.unwrap_or_default()),
            (None, Some(text)) => Start::Text(text),
        };
        Ok(Opening { start, set })
    }
}

impl Request {
    /// Reads the body; an empty one is `{}`.
    ///
    /// # Errors
    /// It is no such object.
    pub fn read(body: &[u8]) -> Result<Opening, Fault> {
        let request = match body.trim_ascii() {
            b"" => Request::default(),
            [first, ..] if *first != b'{' => return Err(no_object()),
            body => serde_json::from_slice(body).map_err(|error| misread(&error))?,
        };
        Opening::new(request.point, request.text, request.set)
    }
}

impl Command {
    /// Reads a message.
    ///
    /// # Errors
    /// It is no command. Where its `id` could be read, the fault has it.
    pub fn read(message: &str) -> Result<Command, Fault> {
        // A list of the values in order would be taken for it, too.
        if !message.trim_start().starts_with('{') {
            return Err(no_object());
        }
        serde_json::from_str(message).map_err(|error| {
            #[derive(Deserialize)]
            struct Any {
                #[serde(default)]
                id: Option<u64>,
            }
            let any = serde_json::from_str::<Any>(message);
            misread(&error).to(any.ok().and_then(|any| any.id))
        })
    }

    /// The identifier that its answer repeats.
    pub fn id(&self) -> Option<u64> {
        match *self {
            Command::Set { id, .. }
            | Command::Load { id, .. }
            | Command::Compare { id, .. }
            | Command::Restart { id }
            | Command::Pause { id, .. }
            | Command::Speed { id, .. } => id,
        }
    }
}

fn no_object() -> Fault {
    Fault::new("message", "expected a JSON object")
}

/// The fault of a message, and the part of it that is meant.
fn misread(error: &serde_json::Error) -> Fault {
    let message = error.to_string();
    let quoted = message.split('`').nth(1);
    let field = match quoted {
        Some(field) if message.starts_with("unknown field") => field,
        Some(field) if message.starts_with("missing field") => field,
        Some(_) if message.starts_with("unknown variant") => "do",
        _ => "message",
    };
    Fault::new(
        field.chars().take(100).collect::<String>(),
        message.chars().take(500).collect::<String>(),
    )
}

impl<'de> Deserialize<'de> for Changes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Changes, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Changes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a text or null for each key to set")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Changes, A::Error> {
                let mut changes = Vec::new();
                while let Some(change) = map.next_entry()? {
                    changes.push(change);
                }
                Ok(Changes(changes))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

impl Serialize for Changes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order() {
        let text = r#"{"do":"set","set":{"b":"1","a":null,"aqm":"pie"},"id":7}"#;
        let pair = |key: &str, value: Option<&str>| (key.to_owned(), value.map(str::to_owned));
        let set = Changes(vec![pair("b", Some("1")), pair("a", None), pair("aqm", Some("pie"))]);
        assert_eq!(Command::read(text), Ok(Command::Set { set, lane: 0, id: Some(7) }));
    }

    #[test]
    fn comparing_ends_with_null_and_not_by_leaving_it_out() {
        let ended = Command::read(r#"{"do":"compare","set":null}"#);
        assert_eq!(ended, Ok(Command::Compare { set: None, id: None }));
        assert_eq!(Command::read(r#"{"do":"compare","id":3}"#).unwrap_err().field, "set");
    }

    #[test]
    fn a_fault_says_which_part_of_which_message_is_meant() {
        let fault = |text: &str| Command::read(text).unwrap_err();
        assert_eq!(fault(r#"{"do":"pause","id":3}"#).field, "paused");
        assert_eq!(fault(r#"{"do":"pause","paused":true,"x":1,"id":3}"#).field, "x");
        let fly = fault(r#"{"do":"fly","id":3}"#);
        assert_eq!((fly.field.as_str(), fly.id), ("do", Some(3)));
        assert!(fly.message.contains("`restart`"), "{fly}");
        for text in ["", "{", "[]", "7", "null", "\"do\"", r#"{"do":7}"#, r#"{"set":{}}"#] {
            assert_eq!(fault(text).id, None, "{text}");
        }
        assert_eq!(fault(r#"{"do":"pause","paused":true,"id":-1}"#).field, "message");
        assert_eq!(Request::read(br#"{"point":1,"text":""}"#).unwrap_err().field, "text");
        assert_eq!(Request::read(b"").unwrap(), Opening::default());
    }
}
