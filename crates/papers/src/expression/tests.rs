use proptest::prelude::*;

use super::*;

fn refused(text: &str) -> String {
    Expression::try_from(text.to_owned()).expect_err(text)
}

#[test]
fn a_quantity_is_a_column_of_the_runs() {
    for name in [
        "link_utilization",
        "queue_L_delay_p99_ms",
        "group_A_prague_downloads_at_rest",
        "ratio_window_A_B",
        "set_group.*.rtt",
        "set_link.rate",
        "with_cubic_red",
    ] {
        let term = Expression::try_from(name.to_owned()).map(|expression| expression.0);
        assert_eq!(term, Ok(Term::Column(name.to_owned())));
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest() {
    for (text, message) in [
        (
            "queue_L_delay_mean / 2",
            "unknown quantity `queue_L_delay_mean`, did you mean `queue_L_delay_mean_ms`?",
        ),
        (
            "link_utilisation",
            "unknown quantity `link_utilisation`, did you mean `link_utilization`?",
        ),
        ("zzz", "unknown quantity `zzz`"),
        ("averge(1)", "unknown function `averge`, did you mean `average`?"),
        ("last(classic_enc, 0, 1)", "unknown series `classic_enc`, did you mean `classic_ecn`?"),
        (
            "completion(A, efficiency_men, 0, 1, 1)",
            "unknown quantity `completion_A_0_0_efficiency_men`, did you mean \
             `completion_A_0_0_efficiency_mean`?",
        ),
    ] {
        assert_eq!(refused(text), message);
    }
}

#[test]
fn a_word_is_no_quantity() {
    assert!(refused("group_A_cc").starts_with("unknown quantity `group_A_cc`"));
}

#[test]
fn an_error_says_what_is_expected_and_what_is_there() {
    for (text, message) in [
        ("", "expected a number, a quantity or `(` at the end"),
        ("1 +", "expected a number, a quantity or `(` at the end"),
        ("1 + * 2", "expected a number, a quantity or `(`, found `* 2`"),
        ("1 2", "expected an operator or the end, found `2`"),
        ("(1 + 2", "expected `)` at the end"),
        ("share(1)", "expected `,` in `share(…)`, found `)`"),
        ("abs(1, 2)", "expected `)` in `abs(…)`, found `, 2)`"),
        ("12ab", "`12ab` is not a number"),
    ] {
        assert_eq!(refused(text), message, "{text}");
    }
    let refused = |text: &str| Condition::try_from(text.to_owned()).expect_err(text);
    assert_eq!(refused("link_utilization"), "expected a comparison at the end");
    assert_eq!(refused("1 = 2"), "expected a comparison, found `= 2`");
}

proptest! {
    /// An existing name is read, for any quantity; with an additional letter it is not.
    #[test]
    fn any_group_has_its_columns(group in "[A-Za-z0-9]{1,8}") {
        let name = format!("group_{group}_drop");
        let longer = format!("{name}s");
        prop_assert!(column(&name).is_ok());
        prop_assert!(column(&longer).is_err());
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-z_0-9+*/()., <=>\"é-]{0,40}") {
        let _ = Expression::try_from(text.clone());
        let _ = Condition::try_from(text);
    }
}
