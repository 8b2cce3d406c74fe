//! From a text to an assertion.

use std::ops::Range;

use l4s_model::Scenario;

use super::path::{self, is_bare};
use super::{Assertion, Comparison, Factor, Misread, Operator, Product};

pub(super) fn assertion(text: &str, scenario: &Scenario) -> Result<Assertion, Misread> {
    let mut reader = Reader { text, at: 0, scenario };
    let first = reader.product()?;
    let mut rest = Vec::new();
    while !reader.is_at_end() || rest.is_empty() {
        let comparison = reader.one_of(&Comparison::ALL);
        let comparison = comparison.ok_or_else(|| {
            reader.expected("a comparison (`<`, `<=`, `>`, `>=`, `==`, `!=`), `*` or `/`")
        })?;
        rest.push((comparison, reader.product()?));
    }
    let products = [&first].into_iter().chain(rest.iter().map(|(_, product)| product));
    if products.flat_map(Product::paths).next().is_none() {
        let message = "numbers alone: expected a path of the summary, such as `link.utilization`";
        return Err(misread(0..text.len(), message));
    }
    Ok(Assertion { text: text.to_owned(), first, rest })
}

fn misread(at: Range<usize>, message: impl Into<String>) -> Misread {
    Misread { at, message: message.into(), known: Vec::new() }
}

/// A text that was read up to the byte `at`.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    scenario: &'a Scenario,
}

impl<'a> Reader<'a> {
    fn product(&mut self) -> Result<Product, Misread> {
        self.skip_blanks();
        let start = self.at;
        let first = self.factor()?;
        let (mut rest, mut end) = (Vec::new(), self.at);
        while let Some(operator) =
            self.one_of(&[("*", Operator::Multiply), ("/", Operator::Divide)])
        {
            rest.push((operator, self.factor()?));
            end = self.at;
        }
        Ok(Product { text: self.text[start..end].to_owned(), first, rest })
    }

    fn factor(&mut self) -> Result<Factor, Misread> {
        self.skip_blanks();
        let rest = self.rest();
        let unsigned = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        if unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return self.number().map(Factor::Number);
        }
        if !rest.starts_with(|c: char| is_bare(c) || is_quote(c)) {
            return Err(self.expected("a number or a path, such as `queues.L.delay_ms.p99`"));
        }
        let start = self.at;
        let mut names = vec![self.name()?];
        let mut end = self.at;
        while self.one_of(&[(".", ())]).is_some() {
            names.push(self.name()?);
            end = self.at;
        }
        // The blanks behind a path are no part of it.
        self.at = end;
        path::resolve(self.scenario, &self.text[start..end], &names).map(Factor::Path)
    }

    /// A number as in TOML or JSON.
    fn number(&mut self) -> Result<f64, Misread> {
        let (rest, start) = (self.rest(), self.at);
        let mut before = ' ';
        let end = rest.find(|c: char| {
            let sign = matches!(c, '-' | '+') && matches!(before, ' ' | 'e' | 'E');
            before = c;
            !(sign || c.is_alphanumeric() || matches!(c, '.' | '_' | '%'))
        });
        self.at += end.unwrap_or(rest.len());
        let found = &self.text[start..self.at];
        found.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| {
            let message = format!(
                "`{found}` is not a number: expected one without a unit, such as 0.5 or 4e6"
            );
            misread(start..self.at, message)
        })
    }

    /// A name of a path, and where it stands.
    fn name(&mut self) -> Result<(String, Range<usize>), Misread> {
        self.skip_blanks();
        let (rest, start) = (self.rest(), self.at);
        let name = match rest.chars().next().filter(|c| is_quote(*c)) {
            Some(quote) => {
                let closed = rest[1..].split_once(quote).map(|(name, _)| name);
                let name = closed.ok_or_else(|| {
                    misread(start..self.text.len(), "a name without its second quote")
                })?;
                self.at += name.len() + 2;
                name
            }
            None => {
                let name = &rest[..rest.find(|c| !is_bare(c)).unwrap_or(rest.len())];
                self.at += name.len();
                name
            }
        };
        match self.at {
            end if end > start => Ok((name.to_owned(), start..end)),
            _ => Err(self.expected("a name")),
        }
    }

    /// Reads the first of these signs that is next.
    fn one_of<T: Copy>(&mut self, signs: &[(&str, T)]) -> Option<T> {
        self.skip_blanks();
        signs.iter().find(|(sign, _)| self.takes(sign)).map(|(_, meant)| *meant)
    }

    /// Reads `sign` if it is next, and says whether it was.
    fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.rest().starts_with(sign);
        self.at += if is_next { sign.len() } else { 0 };
        is_next
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_blanks();
        self.at == self.text.len()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The error of a text that goes on with something else, up to the next blank. There is none before.
    fn expected(&self, what: &str) -> Misread {
        let found = self.rest().split_whitespace().next().unwrap_or_default();
        let message = match found {
            "" => format!("expected {what} at the end"),
            found => format!("found `{found}`, expected {what}"),
        };
        misread(self.at..self.at + found.len(), message)
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'')
}
