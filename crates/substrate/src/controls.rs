//! The congestion controls of real sockets: the kernel's own, or ours by BPF where it has none.

use std::collections::BTreeMap;

use l4s_bpf::{Flags, Loaded};
use l4s_cc::prague;
use l4s_lab::Control;
use l4s_model::{Group, Scenario};

use crate::Error;

/// Every congestion control that a plan needs. Those that the kernel did not have go with it.
pub struct Controls {
    /// The option that requires them, such as `--on kernel`.
    option: &'static str,
    /// The kernel's name of each of them.
    names: BTreeMap<String, String>,
    /// Those that it did not have: registered until this is dropped.
    _loaded: Vec<Loaded>,
    /// Ours of Prague, one for each choice of settings.
    pragues: Vec<(prague::Config, Loaded)>,
}

impl Controls {
    /// None yet, for runs with `option`.
    pub fn new(option: &'static str) -> Controls {
        let (names, _loaded, pragues) = (BTreeMap::new(), Vec::new(), Vec::new());
        Controls { option, names, _loaded, pragues }
    }

    /// Makes every congestion control of a scenario available.
    pub fn provide(&mut self, scenario: &Scenario) -> Result<(), Error> {
        scenario.groups.iter().try_for_each(|group| match &group.cc {
            l4s_cc::Config::Prague(config) => self.provide_prague(config),
            cc => self.provide_one(cc.kind()),
        })
    }

    /// Makes a congestion control available: the kernel's own, or ours by BPF.
    fn provide_one(&mut self, kind: &str) -> Result<(), Error> {
        if self.names.contains_key(kind) {
            return Ok(());
        }
        if l4s_os::has_control(kind) {
            self.names.insert(kind.to_owned(), kind.to_owned());
            return Ok(());
        }
        // Unique while this process lives, so that two labs do not meet.
        let name = format!("{kind}{}", std::process::id());
        let loaded = match kind {
            "dctcp" => Loaded::dctcp(&name),
            "bbr3" => Loaded::bbr3(&name),
            _ => {
                return Err(Error::Machine(format!(
                    "this kernel has no congestion control `{kind}`: `modprobe tcp_{kind}` loads \
                     it where the distribution has it; `--on sim` runs without"
                )));
            }
        };
        let loaded = loaded.map_err(|error| not_loaded(kind, &error))?;
        self.names.insert(kind.to_owned(), loaded.name().to_owned());
        self._loaded.push(loaded);
        Ok(())
    }

    /// Makes Prague available: the kernel's own where it has one and nothing is asked of it, else
    /// ours by BPF with these settings.
    fn provide_prague(&mut self, config: &prague::Config) -> Result<(), Error> {
        if self.pragues.iter().any(|(known, _)| known == config)
            || (stock(config) && l4s_os::has_control("prague"))
            || !prague::kernel::unable(config).is_empty()
        {
            return Ok(());
        }
        // 15 letters at most: process ids have 22 bits.
        let name = match (self.pragues.len(), std::process::id()) {
            (0, id) => format!("prague{id}"),
            (number @ 1..=0xff, id) => format!("prague{id:x}_{number:x}"),
            _ => {
                return Err(Error::Machine(format!(
                    "{}: more than 256 choices of settings of prague in one plan",
                    self.option
                )));
            }
        };
        let loaded = Loaded::prague(&name, config).map_err(|error| not_loaded("prague", &error))?;
        self.pragues.push((*config, loaded));
        Ok(())
    }

    /// The kernel's congestion control of a group.
    pub fn of(&self, group: &Group) -> Control {
        let kind = group.cc.kind();
        if let l4s_cc::Config::Prague(config) = &group.cc {
            let ours = self.pragues.iter().find(|(known, _)| known == config);
            return match ours {
                Some((_, loaded)) => Control {
                    name: loaded.name().to_owned(),
                    ours: true,
                    sockets: loaded.sockets(),
                    falls_back: !loaded.flags().has(Flags::NO_FALLBACK_RFC3168),
                },
                // The kernel's own, or one that will be refused with words.
                None => Control { ours: !stock(config), ..Control::from(kind.to_owned()) },
            };
        }
        self.names.get(kind).cloned().unwrap_or_else(|| kind.to_owned()).into()
    }
}

/// Whether nothing is asked of Prague that the kernel's own could not do.
fn stock(config: &prague::Config) -> bool {
    *config == prague::Config::linux()
}

fn not_loaded(kind: &str, error: &l4s_bpf::BpfError) -> Error {
    Error::Machine(format!(
        "this kernel has no congestion control `{kind}`, and ours cannot be loaded: {error}\n\
         `modprobe tcp_{kind}` loads the kernel's own where the distribution has it; reno and \
         cubic work without; `--on sim` runs all of it"
    ))
}
