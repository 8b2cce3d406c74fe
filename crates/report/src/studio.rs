//! Draws figures by running the page's own script, in a JavaScript engine inside this program.

use rquickjs::{Context, Ctx, Function, Object, Persistent, Runtime};
use serde::Serialize;

use crate::{Data, ReportError};

/// Functions of a browser that a script expects, and that must not vary: there is no clock and no
/// chance here.
const PRELUDE: &str = "
    globalThis.setTimeout = () => 0;
    globalThis.clearTimeout = () => {};
    Math.random = () => 0.5;
    Date.now = () => 0;
";

/// Room for the script's calls; ECharts nests deeper than the engine's default allows.
const STACK: usize = 4 << 20;
/// Of a thread that draws: the engine's stack, and the same again for its callers.
pub(crate) const THREAD_STACK: usize = 2 * STACK;

/// Light or dark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Dark ink on white.
    Light,
    /// Light ink on near-black.
    Dark,
}

/// Which set of the script's figures: it selects the reader of the data.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opener {
    /// Those of a report.
    Report,
    /// The traffic lights.
    Lights,
}

impl Opener {
    fn name(self) -> &'static str {
        match self {
            Opener::Report => "open",
            Opener::Lights => "openLights",
        }
    }
}

/// Data with the script that draws it.
pub struct Studio {
    // Fields drop in this order: values in the engine before the engine.
    svg: Persistent<Function<'static>>,
    names: Vec<String>,
    context: Context,
    _runtime: Runtime,
}

impl Studio {
    /// Starts an engine, loads the script and hands it the data.
    pub fn open(data: &Data) -> Result<Self, ReportError> {
        Studio::open_with(Opener::Report, data)
    }

    /// The same with data of another kind.
    pub(crate) fn open_with(opener: Opener, data: &impl Serialize) -> Result<Self, ReportError> {
        let json = crate::page::json(data)?;
        let start = || -> rquickjs::Result<(Runtime, Context)> {
            let runtime = Runtime::new()?;
            runtime.set_max_stack_size(STACK);
            let context = Context::full(&runtime)?;
            Ok((runtime, context))
        };
        let (runtime, context) = start().map_err(|e| ReportError::draw("anything", e))?;
        let (names, svg) = context.with(|ctx| {
            let load = || -> rquickjs::Result<_> {
                ctx.eval::<(), _>(PRELUDE)?;
                ctx.eval::<(), _>(crate::page::SCRIPT)?;
                let library: Object = ctx.globals().get("L4s")?;
                let studio: Object = library.get::<_, Function>(opener.name())?.call((json,))?;
                let names: Vec<String> = studio.get::<_, Function>("names")?.call(())?;
                let svg: Function = studio.get("svg")?;
                Ok((names, Persistent::save(&ctx, svg)))
            };
            load().map_err(|e| thrown(&ctx, "the data", e))
        })?;
        Ok(Studio { svg, names, context, _runtime: runtime })
    }

    /// The figures that the data allows.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// A figure as SVG, `width` by `height` pixels; a height of 0 takes the figure's own.
    pub fn svg(
        &self,
        name: &str,
        mode: Mode,
        width: u32,
        height: u32,
    ) -> Result<String, ReportError> {
        let mode = match mode {
            Mode::Light => "light",
            Mode::Dark => "dark",
        };
        self.context.with(|ctx| {
            let draw = || self.svg.clone().restore(&ctx)?.call((name, mode, width, height));
            draw().map_err(|e| thrown(&ctx, name, e))
        })
    }
}

/// The exception of the script, or the error of the engine.
fn thrown(ctx: &Ctx<'_>, figure: &str, error: rquickjs::Error) -> ReportError {
    let message = match error {
        rquickjs::Error::Exception => rquickjs::CaughtError::from_error(ctx, error).to_string(),
        other => other.to_string(),
    };
    ReportError::draw(figure, message)
}
