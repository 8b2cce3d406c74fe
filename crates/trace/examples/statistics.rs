//! Statistics of trace files: `cargo run --release -p l4s-trace --example statistics -- FILE...`

use std::process::ExitCode;

use l4s_trace::Trace;
use l4s_units::Rate;

fn mbps(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

/// A file's statistics in five lines.
fn describe(bytes: &[u8]) -> Result<String, l4s_trace::TraceError> {
    let statistics = Trace::read(bytes)?.statistics();
    let percentiles = statistics.tenth.percentiles.map(|rate| format!("{:.2}", mbps(rate)));
    let correlations = statistics.autocorrelation.iter();
    let correlations = correlations.map(|point| format!("{} {:.3}", point.lag, point.value));
    Ok(format!(
        "  {} with {} entries, mean {:.3} Mb/s\n  \
         variation {:.3} over 100 ms, {:.3} over 1 s\n  \
         Mb/s over 100 ms at 1, 5, 25, 50, 75, 95, 99 %: {}\n  \
         autocorrelation: {}\n  \
         longest gap {}",
        statistics.length,
        statistics.entries,
        mbps(statistics.mean),
        statistics.tenth.variation,
        statistics.second.variation,
        percentiles.join(" "),
        correlations.collect::<Vec<_>>().join(", "),
        statistics.longest_gap,
    ))
}

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in std::env::args().skip(1) {
        let described = std::fs::read(&path).map_err(|error| error.to_string());
        match described.and_then(|bytes| describe(&bytes).map_err(|error| error.to_string())) {
            Ok(text) => println!("{path}\n{text}"),
            Err(error) => {
                eprintln!("{path}: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
