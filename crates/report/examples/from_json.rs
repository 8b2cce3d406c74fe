//! Draws the report of a JSON file in the format of `web/src/data.ts` and says how long each step
//! took: `cargo run -p l4s-report --example from_json DATA.json OUT`.

use std::time::Instant;

use l4s_report::{Data, Mode, Painter, Pictures, Studio, write_data};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("expected DATA.json OUT".into());
    };
    let data: Data = serde_json::from_str(&std::fs::read_to_string(from)?)?;
    let begin = Instant::now();
    let studio = Studio::open(&data)?;
    println!("engine and script: {:?}", begin.elapsed());
    let painter = Painter::new();
    for name in studio.names() {
        let begin = Instant::now();
        let svg = studio.svg(name, Mode::Light, 1200, 0)?;
        let drawn = begin.elapsed();
        let png = painter.paint(&svg, 2.0)?.png()?;
        let painted = begin.elapsed() - drawn;
        println!("{name}: SVG {} B in {drawn:?}, PNG {} B in {painted:?}", svg.len(), png.len());
    }
    let begin = Instant::now();
    let written = write_data(&data, to.as_ref(), Pictures::Both)?;
    let bytes = std::fs::metadata(&written.page)?.len();
    println!("{} ({bytes} B) and all figures: {:?}", written.page.display(), begin.elapsed());
    Ok(())
}
