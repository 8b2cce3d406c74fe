//! Expressions of statements: `queue_L_delay_mean_ms / other(queue_Q_delay_mean_ms)`.
//!
//! ```text
//! condition = sum ( "<" | "<=" | ">" | ">=" | "==" ) sum
//! sum       = product { ( "+" | "-" ) product }
//! product   = factor { ( "*" | "/" ) factor }
//! factor    = number | "inf" | "change" | column | function "(" … ")" | "(" sum ")"
//! ```
//!
//! A column is one of `runs.parquet` (docs/reference/results.md) or of the traffic lights ([`lights::columns`]). A
//! setting in a column `set_…` counts in milliseconds or bit/s. `change` is the time of the scenario's
//! first `[[at]]` in seconds. The functions are those of [`Function`].

use std::sync::OnceLock;

use l4s_report::lights::Tally;
use serde::Deserialize;

use crate::course::series;
use crate::lights;
use crate::unknown::unknown;

/// A function of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Function {
    /// `abs(x)`: the absolute value.
    Abs,
    /// `average(x)`: the mean of all values of `x`; nothing of none.
    Average,
    /// `share(part, all)`: percent; nothing where `all` is 0.
    Share,
    /// `other(x)`: `x` in the other run of a pair (`other` of the sample).
    Other,
    /// `completion(group, column, from, to, least)`: a column of each bin of sizes that is within `from`
    /// to `to` bytes and of which at least `least` flows completed.
    Completion,
    /// `first(series, from, to)`: the first value after `from`, up to `to`, in seconds.
    First,
    /// `last(series, from, to)`: the last value of that time.
    Last,
    /// `most(series, from, to)`: the highest value of that time.
    Most,
    /// `least(series, from, to)`: the lowest value of that time.
    Least,
    /// `rise(series, level, from)`: seconds from `from` until the series is at `level` or above.
    Rise,
    /// `fall(series, level, from)`: seconds from `from` until the series is at `level` or below.
    Fall,
    /// `rate_ratio(from, to)`: the rate of flow `A.0` over that of a flow of B, in that time.
    RateRatio,
}

/// Each function, with its numbers of names and of expressions in parentheses.
const FUNCTIONS: [(&str, Function, usize, usize); 12] = [
    ("abs", Function::Abs, 0, 1),
    ("average", Function::Average, 0, 1),
    ("share", Function::Share, 0, 2),
    ("other", Function::Other, 0, 1),
    ("completion", Function::Completion, 2, 3),
    ("first", Function::First, 1, 2),
    ("last", Function::Last, 1, 2),
    ("most", Function::Most, 1, 2),
    ("least", Function::Least, 1, 2),
    ("rise", Function::Rise, 1, 2),
    ("fall", Function::Fall, 1, 2),
    ("rate_ratio", Function::RateRatio, 0, 2),
];

/// An expression. In a run it has no value, one or several; an operation has one for each choice of
/// its operands' values.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Expression(pub(crate) Term);

/// A comparison of two expressions.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Condition {
    pub(crate) left: Term,
    pub(crate) is: Is,
    pub(crate) right: Term,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Term {
    Number(f64),
    Column(String),
    Change,
    Operation(Box<Term>, Operator, Box<Term>),
    Call(Call),
}

/// A function with its arguments.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Call {
    pub(crate) function: Function,
    pub(crate) names: Vec<String>,
    pub(crate) terms: Vec<Term>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Is {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
}

impl TryFrom<String> for Expression {
    type Error = String;

    fn try_from(text: String) -> Result<Expression, String> {
        let mut parser = Parser { rest: &text };
        let term = parser.sum()?;
        parser.end()?;
        Ok(Expression(term))
    }
}

impl TryFrom<String> for Condition {
    type Error = String;

    fn try_from(text: String) -> Result<Condition, String> {
        let mut parser = Parser { rest: &text };
        let left = parser.sum()?;
        let symbols = [
            ("<=", Is::AtMost),
            (">=", Is::AtLeast),
            ("<", Is::Below),
            (">", Is::Above),
            ("==", Is::Equal),
        ];
        let found = symbols.into_iter().find(|(symbol, _)| parser.takes(symbol));
        let (_, is) = found.ok_or_else(|| parser.expected("a comparison"))?;
        let right = parser.sum()?;
        parser.end()?;
        Ok(Condition { left, is, right })
    }
}

/// The text that is still to be read.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Result<Term, String> {
        let operators = [("+", Operator::Add), ("-", Operator::Subtract)];
        self.chain(operators, Parser::product)
    }

    fn product(&mut self) -> Result<Term, String> {
        let operators = [("*", Operator::Multiply), ("/", Operator::Divide)];
        self.chain(operators, Parser::factor)
    }

    /// Operands with operators between them, from the left.
    fn chain(
        &mut self,
        operators: [(&str, Operator); 2],
        operand: fn(&mut Self) -> Result<Term, String>,
    ) -> Result<Term, String> {
        let mut left = operand(self)?;
        while let Some((_, operator)) = operators.into_iter().find(|(sign, _)| self.takes(sign)) {
            left = Term::Operation(Box::new(left), operator, Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Term, String> {
        if self.takes("(") {
            let inner = self.sum()?;
            return self.takes(")").then_some(inner).ok_or_else(|| self.expected("`)`"));
        }
        if self.rest.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            let number = self.word(|_, c| c.is_ascii_alphanumeric() || c == '.');
            let bad = |_| format!("`{number}` is not a number");
            return Ok(Term::Number(number.parse().map_err(bad)?));
        }
        match self.name()? {
            "inf" => Ok(Term::Number(f64::INFINITY)),
            "change" => Ok(Term::Change),
            name if self.takes("(") => self.call(name),
            name => column(name).map(Term::Column),
        }
    }

    /// The arguments of a function, after its `(`.
    fn call(&mut self, name: &str) -> Result<Term, String> {
        let known = || FUNCTIONS.iter().map(|(name, ..)| *name);
        let &(_, function, names, terms) = (FUNCTIONS.iter())
            .find(|(known, ..)| *known == name)
            .ok_or_else(|| unknown("function", name, known()))?;
        let mut call = Call { function, names: Vec::new(), terms: Vec::new() };
        for rest in (0..names + terms).rev() {
            match call.names.len() < names {
                true => call.names.push(self.name()?.to_owned()),
                false => call.terms.push(self.sum()?),
            }
            let sign = if rest > 0 { "," } else { ")" };
            if !self.takes(sign) {
                return Err(self.expected(&format!("`{sign}` in `{name}(…)`")));
            }
        }
        match (function, call.names.as_slice()) {
            (Function::Completion, [group, quantity]) => {
                column(&format!("completion_{group}_0_0_{quantity}")).map(drop)?;
            }
            (_, names) => names.iter().try_for_each(|name| series(name).map(drop))?,
        }
        Ok(Term::Call(call))
    }

    /// A name. Those of settings have dots and stars: `set_group.*.rtt`.
    fn name(&mut self) -> Result<&'a str, String> {
        if !self.rest.trim_start().starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(self.expected("a number, a quantity or `(`"));
        }
        Ok(self.word(|before, c| {
            c.is_ascii_alphanumeric() || "_.".contains(c) || c == '*' && before.ends_with('.')
        }))
    }

    /// The next characters for which `belongs` holds, given the word up to them.
    fn word(&mut self, belongs: impl Fn(&str, char) -> bool) -> &'a str {
        let text = self.rest.trim_start();
        let end = text.char_indices().find(|(at, c)| !belongs(&text[..*at], *c));
        let (word, rest) = text.split_at(end.map_or(text.len(), |(at, _)| at));
        self.rest = rest;
        word
    }

    /// Reads `sign` if it is next, and says whether it was.
    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn end(&self) -> Result<(), String> {
        match self.rest.trim() {
            "" => Ok(()),
            _ => Err(self.expected("an operator or the end")),
        }
    }

    fn expected(&self, what: &str) -> String {
        match self.rest.trim() {
            "" => format!("expected {what} at the end"),
            rest => format!("expected {what}, found `{rest}`"),
        }
    }
}

/// The name of a column, if there is such a column and it has numbers.
fn column(name: &str) -> Result<String, String> {
    static COLUMNS: OnceLock<Vec<String>> = OnceLock::new();
    let columns = COLUMNS.get_or_init(|| {
        let runs = l4s_measure::dictionary().into_iter();
        let numbers = runs.filter(|column| column.table == "runs" && column.kind != "Utf8");
        let tallied =
            lights::columns(&Tally::default()).map(|(name, _)| name.to_owned()).into_iter();
        tallied.chain(numbers.map(|column| column.name)).collect()
    });
    let known: Vec<String> = columns.iter().map(|column| filled(column, name)).collect();
    match known.iter().any(|known| known == name) {
        true => Ok(name.to_owned()),
        false => Err(unknown("quantity", name, known.iter().map(String::as_str))),
    }
}

/// A column of the dictionary, such as `queue_{name}_mark`, with its braces filled from the same places
/// of `name`. `{key}` takes all the rest.
fn filled(column: &str, name: &str) -> String {
    let mut found = name.split('_');
    let parts = column.split('_').map(|part| match (part, found.next()) {
        ("{key}", Some(next)) => {
            [next].into_iter().chain(found.by_ref()).collect::<Vec<_>>().join("_")
        }
        (part, Some(next)) if part.starts_with('{') => next.to_owned(),
        (part, _) => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests;
