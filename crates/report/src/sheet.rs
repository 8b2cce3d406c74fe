//! The contact sheet: one picture of each of many reports, as a page that leads to them and as a
//! single image.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::page::text;
use crate::{Mode, Painter, ReportError};

const STYLE: &str = include_str!("../assets/sheet.css");

/// A report on the sheet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card {
    /// Its name.
    pub name: String,
    /// The subject of the figure.
    pub of: String,
    /// The question that it answers.
    pub question: String,
    /// The outcome, in a line.
    pub outcome: String,
    /// Its page, from the folder of the sheet.
    pub page: String,
    /// Its picture, without `.svg` or `-dark.svg`.
    pub picture: PathBuf,
}

/// The page.
const PAGE: &str = "index.html";
/// Width of a card in the image, and the space between two, in pixels.
const CARD: f32 = 460.0;
const GAP: f32 = 20.0;
/// Heights of the picture in it, and of the words above.
const PICTURE: f32 = 250.0;
const WORDS: f32 = 54.0;
/// Cards side by side.
const COLUMNS: usize = 4;

/// Writes `index.html`, and `contact-sheet.png` and `contact-sheet-dark.png`, into the folder
/// `out`, unless the same `code` did so before; the path of the page.
pub fn write_sheet(
    title: &str,
    code: &str,
    cards: &[Card],
    out: &Path,
) -> Result<PathBuf, ReportError> {
    let dir = crate::folder(out)?;
    let html = html(title, code, cards)?;
    let image_of = |mode| format!("contact-sheet{}.png", suffix(mode));
    // The page has all in it that the images show, and is written after them.
    let modes = [Mode::Light, Mode::Dark];
    let has = |mode| dir.has_file(&image_of(mode)).unwrap_or(false);
    let is_current = || {
        let found = dir.read(PAGE, html.len() as u64).ok().flatten();
        found.is_some_and(|found| found == html.as_bytes())
    };
    if modes.into_iter().all(has) && is_current() {
        return Ok(out.join(PAGE));
    }
    let names = modes.map(image_of).into_iter().chain([PAGE.to_owned()]).collect();
    let writing = crate::begin(&dir, names)?;
    for mode in modes {
        writing.file(&image_of(mode), &image(cards, mode)?).map_err(ReportError::List)?;
    }
    writing.file(PAGE, html.as_bytes()).map_err(ReportError::List)?;
    writing.finish().map_err(ReportError::List)?;
    Ok(out.join(PAGE))
}

fn suffix(mode: Mode) -> &'static str {
    match mode {
        Mode::Light => "",
        Mode::Dark => "-dark",
    }
}

/// The picture of a card.
fn svg(card: &Card, mode: Mode) -> Result<String, ReportError> {
    let path = card.picture.with_file_name(format!(
        "{}{}.svg",
        card.picture.file_name().unwrap_or_default().to_string_lossy(),
        suffix(mode)
    ));
    fs::read_to_string(&path).map_err(|cause| ReportError::Picture { path, cause })
}

/// The page: its pictures are in it, so that it can be sent to someone.
fn html(title: &str, code: &str, cards: &[Card]) -> Result<String, ReportError> {
    let (title, code) = (text(title), text(code));
    let mut body = String::new();
    for card in cards {
        let Card { name, of, question, outcome, page, .. } = card;
        let [light, dark] = [data_uri(&svg(card, Mode::Light)?), data_uri(&svg(card, Mode::Dark)?)];
        let (name, of, question) = (text(name), text(of), text(question));
        let _ = write!(
            body,
            r#"<a href="{page}">
<h2>{name}<small>{of}</small></h2>
<p>{question}</p>
<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}"><img alt="" src="{light}"></picture>
<p>{outcome}</p>
</a>
"#,
            outcome = text(outcome),
        );
    }
    Ok(format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="l4s {code}">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
{STYLE}</style>
</head>
<body>
<h1>{title}</h1>
<p>Each card leads to the report of its runs.</p>
<main>
{body}</main>
</body>
</html>
"#
    ))
}

/// An SVG as an address, with the special characters of attributes and addresses escaped.
fn data_uri(svg: &str) -> String {
    let mut uri = "data:image/svg+xml,".to_owned();
    for char in svg.chars() {
        match char {
            '%' | '#' | '<' | '>' | '"' | '\n' | '&' | ' ' => {
                let _ = write!(uri, "%{:02X}", char as u32);
            }
            char => uri.push(char),
        }
    }
    uri
}

/// The sheet as PNG.
fn image(cards: &[Card], mode: Mode) -> Result<Vec<u8>, ReportError> {
    let (paper, card, ink, soft) = match mode {
        Mode::Light => ("#f5f7f9", "#ffffff", "#16202c", "#5b6775"),
        Mode::Dark => ("#0b1016", "#10161d", "#e9eef4", "#9aa7b5"),
    };
    let columns = COLUMNS.min(cards.len()).max(1);
    let rows = cards.len().div_ceil(columns);
    let (width, height) =
        (GAP + columns as f32 * (CARD + GAP), GAP + rows as f32 * (WORDS + PICTURE + 2.0 * GAP));
    let mut frame = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"><rect width="{width}" height="{height}" fill="{paper}"/>"#
    );
    let mut pictures = Vec::new();
    for (number, one) in cards.iter().enumerate() {
        let x = GAP + (number % columns) as f32 * (CARD + GAP);
        let y = GAP + (number / columns) as f32 * (WORDS + PICTURE + 2.0 * GAP);
        let (name, of, outcome) = (text(&one.name), text(&one.of), text(&one.outcome));
        let _ = write!(
            frame,
            r#"<rect x="{x}" y="{y}" width="{CARD}" height="{h}" rx="8" fill="{card}"/><g font-family="Roboto" font-size="17"><text x="{tx}" y="{t1}" font-weight="500" fill="{ink}">{name} <tspan font-size="14" font-weight="400" fill="{soft}">{of}</tspan></text><text x="{tx}" y="{t2}" font-size="14" fill="{soft}">{outcome}</text></g>"#,
            h = WORDS + PICTURE + GAP,
            tx = x + 14.0,
            t1 = y + 25.0,
            t2 = y + 45.0,
        );
        let place = [x + 6.0, y + WORDS, CARD - 12.0, PICTURE + GAP - 8.0];
        pictures.push((svg(one, mode)?, place));
    }
    frame += "</svg>";
    Painter::new().compose(&frame, &pictures)?.png()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cards(folder: &Path) -> Vec<Card> {
        let picture = folder.join("picture");
        for (suffix, fill) in [("", "#ff0000"), ("-dark", "#00ff00")] {
            let svg = format!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><rect width="20" height="10" fill="{fill}"/></svg>"#
            );
            fs::write(folder.join(format!("picture{suffix}.svg")), svg).unwrap();
        }
        let card = |name: &str| Card {
            name: name.to_owned(),
            of: "figure <1>".to_owned(),
            question: "Why?".to_owned(),
            outcome: "so & so".to_owned(),
            page: format!("{name}/report.html"),
            picture: picture.clone(),
        };
        vec![card("one"), card("two")]
    }

    #[test]
    fn every_card_leads_to_its_page_and_shows_its_picture() {
        let folder = tempfile::tempdir().unwrap();
        let cards = cards(folder.path());
        let page = write_sheet("Sheet", "1", &cards, &folder.path().join("out")).unwrap();
        let html = fs::read_to_string(page).unwrap();
        for name in ["one", "two"] {
            assert!(html.contains(&format!(r#"<a href="{name}/report.html">"#)));
        }
        assert!(html.contains("figure &lt;1>") && html.contains("so &amp; so"));
        assert_eq!(html.matches("%3Csvg").count(), 4, "light and dark of each");
        assert!(!html.contains("<svg"), "pictures are not part of the page's own markup");
    }

    #[test]
    fn a_sheet_is_written_anew_only_if_it_would_be_another() {
        let folder = tempfile::tempdir().unwrap();
        let mut cards = cards(folder.path());
        let write = |code: &str, cards: &[Card]| write_sheet("Sheet", code, cards, folder.path());
        let png = folder.path().join("contact-sheet-dark.png");
        // Written again if it is another file.
        let last = std::cell::Cell::new(0);
        let anew = || {
            let file = std::os::unix::fs::MetadataExt::ino(&fs::metadata(&png).unwrap());
            last.replace(file) != file
        };
        write("1", &cards).unwrap();
        assert!(anew());
        write("1", &cards).unwrap();
        assert!(!anew());
        write("2", &cards).unwrap();
        assert!(anew(), "other code");
        cards[1].outcome += "!";
        write("2", &cards).unwrap();
        assert!(anew(), "other words");
        fs::write(
            folder.path().join("picture.svg"),
            r#"<svg xmlns="http://www.w3.org/2000/svg"/>"#,
        )
        .unwrap();
        write("2", &cards).unwrap();
        assert!(anew(), "another picture");
        fs::remove_file(folder.path().join("contact-sheet.png")).unwrap();
        write("2", &cards).unwrap();
        assert!(anew(), "one is gone");
    }

    /// Where the picture is in the image is its colour, and its shape is kept.
    #[test]
    fn pictures_are_in_their_places() {
        let folder = tempfile::tempdir().unwrap();
        let cards = cards(folder.path());
        let png = Painter::new();
        let frame = r#"<svg xmlns="http://www.w3.org/2000/svg" width="100" height="60"/>"#;
        let red = svg(&cards[0], Mode::Light).unwrap();
        let image = png.compose(frame, &[(red, [10.0, 20.0, 60.0, 60.0])]).unwrap();
        assert_eq!(image.size(), (100, 60));
        let at = |x: usize, y: usize| &image.rgba()[4 * (100 * y + x)..][..4];
        assert_eq!(at(40, 30), [255, 0, 0, 255]);
        assert_eq!(at(40, 15), [0, 0, 0, 0]);
        // Twice as wide as high: 60 x 30.
        assert_eq!((at(40, 48)[0], at(40, 53)[3]), (255, 0));
    }

    #[test]
    fn a_picture_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let cards = cards(folder.path());
        fs::remove_file(folder.path().join("picture-dark.svg")).unwrap();
        let error = write_sheet("Sheet", "1", &cards, folder.path()).unwrap_err().to_string();
        assert!(error.contains("picture-dark.svg"), "{error}");
    }
}
