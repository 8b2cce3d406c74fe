//! The catalogue: every discipline and congestion control with its settings.

use l4s_units::param::{Configurable, Kind, Value};

/// A discipline or congestion control, as it declares itself.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its name, as in `kind = "dualpi2"`.
    pub kind: &'static str,
    /// Its description, in one line.
    pub about: &'static str,
    /// Its profiles; the first is the default.
    pub profiles: Vec<Profile>,
}

/// A named set of values for every setting.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name, as in `profile = "dctth"`.
    pub name: &'static str,
    /// Where the values come from.
    pub doc: &'static str,
    /// Every setting.
    pub settings: Vec<Setting>,
}

/// A setting and its value in a profile.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its key.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
    /// Which values it takes.
    pub kind: Kind,
    /// Its value; `None` where another setting makes it meaningless.
    pub value: Option<Value>,
}

/// Every queue discipline.
pub fn disciplines() -> Vec<Described> {
    let mut all = Vec::new();
    macro_rules! add {
        ($variant:ident, $module:ident) => {
            all.push(describe::<l4s_aqm::$module::Config>());
        };
    }
    l4s_aqm::for_each_discipline!(add);
    all
}

/// Every congestion control.
pub fn controls() -> Vec<Described> {
    let mut all = Vec::new();
    macro_rules! add {
        ($variant:ident, $module:ident) => {
            all.push(describe::<l4s_cc::$module::Config>());
        };
    }
    l4s_cc::for_each_control!(add);
    all
}

fn describe<C: Configurable>() -> Described {
    let profiles = C::PROFILES.iter().map(|profile| {
        let config = (profile.make)();
        let settings = C::PARAMS.iter().map(|param| Setting {
            name: param.name,
            doc: param.doc,
            kind: param.kind,
            value: (param.get)(&config),
        });
        Profile { name: profile.name, doc: profile.doc, settings: settings.collect() }
    });
    Described { kind: C::KIND, about: C::ABOUT, profiles: profiles.collect() }
}

/// The names of all disciplines.
pub(crate) fn discipline_kinds() -> Vec<&'static str> {
    disciplines().into_iter().map(|described| described.kind).collect()
}

/// The names of all congestion controls.
pub(crate) fn control_kinds() -> Vec<&'static str> {
    controls().into_iter().map(|described| described.kind).collect()
}
