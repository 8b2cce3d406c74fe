//! Structures of 64-bit words that C code has as well.

/// A structure of unsigned 64-bit words, in the order and with the names of its C structure. Made by
/// [`c_struct!`](crate::c_struct).
///
/// ```
/// use l4s_units::CStruct;
///
/// assert_eq!(7u64.words(), [7]);
/// ```
pub trait CStruct {
    /// Gives every word with its name to `visit`, in the order in memory. The name of a word in a
    /// structure within starts with the name of that structure and a dot.
    fn visit(&self, name: &str, visit: &mut dyn FnMut(&str, u64));

    /// Every word, in the order in memory.
    fn words(&self) -> Vec<u64> {
        let mut words = Vec::new();
        self.visit("", &mut |_, word| words.push(word));
        words
    }

    /// The name of every word, in the order in memory.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.visit("", &mut |name, _| names.push(name.to_owned()));
        names
    }
}

impl CStruct for u64 {
    fn visit(&self, name: &str, visit: &mut dyn FnMut(&str, u64)) {
        visit(name, *self);
    }
}

/// Declares a structure of `u64` and of other such structures, and makes it a
/// [`CStruct`](crate::CStruct).
///
/// ```
/// use l4s_units::CStruct;
///
/// l4s_units::c_struct! {
///     /// `struct pair`.
///     Pair { first: u64, second: u64 }
/// }
/// l4s_units::c_struct! {
///     /// `struct outer`.
///     Outer { pair: Pair, third: u64 }
/// }
/// let outer = Outer { pair: Pair { first: 1, second: 2 }, third: 3 };
/// assert_eq!(outer.words(), [1, 2, 3]);
/// assert_eq!(outer.names(), ["pair.first", "pair.second", "third"]);
/// ```
#[macro_export]
macro_rules! c_struct {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[allow(missing_docs, reason = "the C structure documents them")]
        pub struct $name {
            $(pub $field: $type,)+
        }

        impl $crate::CStruct for $name {
            fn visit(&self, name: &str, visit: &mut dyn FnMut(&str, u64)) {
                let prefix = if name.is_empty() { String::new() } else { format!("{name}.") };
                $($crate::CStruct::visit(
                    &self.$field,
                    &format!("{prefix}{}", stringify!($field)),
                    visit,
                );)+
            }
        }
    };
}
