//! `l4s trace`: traces of links, shown, converted and made.

mod convert;
mod picture;
mod source;
mod summary;
mod target;

use std::path::PathBuf;

use l4s_scenario::shell_word;
use l4s_trace::{BUNDLED, Model, TraceError, make};

use crate::args::{TraceCommand, TraceConvert, TraceMake, TraceShow};
use crate::failure::Failure;
use crate::print;
use crate::table::{Align, aligned};

use source::Source;
use target::Target;

/// Runs the command; without one, shows the traces. `to` are the words after `--to` without a command.
pub fn trace(
    command: Option<TraceCommand>,
    options: &TraceShow,
    to: &[String],
) -> Result<(), Failure> {
    match command {
        None if !to.is_empty() => Err(belongs_to_convert(&options.traces, to)),
        None => show(options),
        Some(TraceCommand::Show(options)) => show(&options),
        Some(TraceCommand::Convert(options)) => convert(&options),
        Some(TraceCommand::Make(options)) => made(&options),
        Some(TraceCommand::List) => list(),
    }
}

fn belongs_to_convert(traces: &[PathBuf], to: &[String]) -> Failure {
    let traces = traces.iter().map(|path| path.to_string_lossy().into_owned());
    let words: Vec<_> = traces.chain(["--to".to_owned()]).chain(to.iter().cloned()).collect();
    let words: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
    Failure::input_with(
        "--to: it is an option of `l4s trace convert`",
        format!("l4s trace convert {}", words.join(" ")),
    )
}

/// Prints each trace, once all of them are read. One at a time is in memory.
fn show(options: &TraceShow) -> Result<(), Failure> {
    let canvas = picture::Canvas::of(options.picture);
    let texts = options.traces.iter().map(|path| {
        let source = Source::open(path)?;
        if options.json {
            return summary::json(&source);
        }
        let picture = canvas.and_then(|canvas| canvas.draw(&source.trace));
        Ok(summary::text(&source)
            + &picture.map_or(String::new(), |picture| format!("\n{picture}")))
    });
    let texts = texts.collect::<Result<Vec<_>, Failure>>()?;
    print(&texts.join(if options.json { "" } else { "\n" }))
}

fn convert(options: &TraceConvert) -> Result<(), Failure> {
    let target = Target::new(&options.target)?;
    let source = Source::open(&options.trace)?;
    let converted = convert::convert(&source.trace, options.to, options.interval)
        .map_err(|fault| fault.of(&source.name))?;
    converted.write(&target)
}

fn made(options: &TraceMake) -> Result<(), Failure> {
    let target = Target::new(&options.target)?;
    let model = options.model.name();
    let refused = |error: TraceError| Failure::input(format!("l4s trace make {model}: {error}"));
    let trace = make(options.model, options.seed, options.length).map_err(refused)?;
    let converted =
        convert::convert(&trace, options.to, None).map_err(|fault| fault.of("l4s trace make"))?;
    converted.write(&target)
}

fn list() -> Result<(), Failure> {
    let cells = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let models = Model::ALL.map(|model| cells(&[model.name(), model.about()]));
    let models: Vec<_> = [cells(&["model", "about"])].into_iter().chain(models).collect();
    let bundled = BUNDLED.iter().map(|bundled| {
        let mean = summary::mbps(bundled.trace().mean_rate());
        cells(&[
            bundled.name,
            bundled.model.name(),
            &bundled.seed.to_string(),
            &bundled.length().to_string(),
            &summary::figure(mean),
        ])
    });
    let head = cells(&["trace", "model", "seed", "length", "mean Mb/s"]);
    let bundled: Vec<_> = [head].into_iter().chain(bundled).collect();
    let right = Align::Right;
    print(&format!(
        "{}\n{}\nshow one: l4s trace NAME\nmake another: l4s trace make MODEL --seed N\n",
        aligned(&models, &[]),
        aligned(&bundled, &[Align::Left, Align::Left, right, right, right])
    ))
}
