//! The page: one HTML file that holds everything it shows and loads nothing.

use std::io;

use serde::Serialize;

use crate::{Data, MOST_BYTES, ReportError, TOO_LARGE};

/// The script of the page: Apache ECharts and our figures. Built from `web/` (`npm run build`).
pub(crate) const SCRIPT: &str = include_str!("../assets/web/report.js");

const STYLE: &str = include_str!("../assets/web/report.css");
/// Licences of the page's components.
const NOTICES: &str = include_str!("../assets/THIRD-PARTY.txt");

/// The policy that a browser holds the page to: its own scripts and styles, and nothing fetched.
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

/// The report as HTML.
pub fn page(data: &Data) -> Result<String, ReportError> {
    let mut names: Vec<&str> = data.folders.iter().map(|f| f.scenario.as_str()).collect();
    names.dedup();
    html(&format!("{}: l4s report", names.join(" and ")), "L4s.mount();", data)
}

/// A page that shows `data` by running `mount`.
pub(crate) fn html(title: &str, mount: &str, data: &impl Serialize) -> Result<String, ReportError> {
    let json = json(data)?;
    let title = text(title);
    let json = in_script(&json);
    Ok(format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{title}</title>
<style>
{STYLE}</style>
</head>
<body>
<div id="app"></div>
<noscript>This report draws its charts with a script inside the page. Without scripts, see the SVG and PNG files in the folder figures.</noscript>
<script type="application/json" id="data">{json}</script>
<script type="text/plain" id="notices">{NOTICES}</script>
<script>
{SCRIPT}
{mount}
</script>
</body>
</html>
"#
    ))
}

/// Data as JSON, if a page has room for it.
pub(crate) fn json(data: &impl Serialize) -> Result<String, ReportError> {
    let mut text = Bounded(Vec::new());
    match serde_json::to_writer(&mut text, data) {
        Ok(()) => String::from_utf8(text.0).map_err(|e| ReportError::draw("the page", e)),
        Err(error) if error.is_io() => Err(ReportError::TooLarge(format!(
            "{TOO_LARGE}: its page would have more than {} MB of data; report on fewer runs",
            MOST_BYTES >> 20
        ))),
        Err(error) => Err(ReportError::draw("the page", error)),
    }
}

/// Bytes up to the most that a page has.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Text between tags.
pub(crate) fn text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// JSON between script tags: without `<`, nothing in it can end the script.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_data_can_end_its_script() {
        let escaped = in_script(r#"{"text":"</script><script>alert(1)"}"#);
        assert!(!escaped.contains('<'));
        let back: serde_json::Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(back["text"], "</script><script>alert(1)");
    }

    /// An HTML parser ends a script at `</script`, and treats `<!--` in one in its own way.
    #[test]
    fn nothing_in_what_is_embedded_can_end_its_script() {
        for text in [SCRIPT, NOTICES] {
            let text = text.to_lowercase();
            assert!(!text.contains("</script") && !text.contains("<!--"));
        }
        assert!(!STYLE.contains("</"));
    }
}
