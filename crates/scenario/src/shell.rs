//! Commands as a person may paste them.

/// A word as a shell takes it.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_word_back() {
        assert_eq!(shell_word("link.rate=40mbit"), "link.rate=40mbit");
        assert_eq!(shell_word("group.*.rtt=5ms"), "'group.*.rtt=5ms'");
        assert_eq!(shell_word("case=it's"), r"'case=it'\''s'");
    }
}
