//! `l4s host install` and `set`: from command-line words to a configuration.

use l4s_aqm::{Config, dualpi2};
use l4s_cc::prague;
use l4s_host::{Device, Install, Journal, Place, WantedPrague, WantedQueue, boot};
use l4s_os::Host;
use l4s_scenario::Override;
use l4s_units::Rate;
use l4s_units::param::Configurable;

use crate::args::HostInstall;
use crate::failure::Failure;
use crate::print;

/// Settings of a queue that are not the algorithm's.
const RATE: &str = "rate";

/// Installs the requested parts.
pub fn install(options: &HostInstall) -> Result<(), Failure> {
    if options.cc.is_none() && options.qdisc.is_none() {
        return Err(Failure::input_with(
            "nothing to install",
            "--cc prague for connections, --qdisc dualpi2 for devices, or both",
        ));
    }
    let rate = options.rate.iter().map(|rate| format!("{RATE}={rate}"));
    let settings: Vec<String> = rate.chain(options.set.iter().cloned()).collect();
    let wanted = Install {
        prague: options.cc.as_deref().map(congestion_control).transpose()?,
        default: options.default,
        accecn: options.accecn,
        devices: devices(&options.dev)?,
        queue: options
            .qdisc
            .as_deref()
            .map(|kind| queue(kind, settings, options.replace))
            .transpose()?,
    };
    if options.boot {
        boot::check()?;
    }
    apply(&wanted)?;
    if options.boot {
        at_boot(options, &wanted.devices)?;
    }
    Ok(())
}

/// Changes the queue of a device.
pub fn set(name: &str, set: &[String]) -> Result<(), Failure> {
    let device = Device::named(name)?;
    let journal = Journal::read(&Place::machine())?;
    let entry = journal.devices.get(&device.index).filter(|entry| entry.netns == device.netns);
    let Some(before) = entry.and_then(|entry| entry.settings.clone()) else {
        return Err(Failure::input_with(
            format!("--dev: {name} has no DualPI2 of l4s"),
            format!("l4s host install --qdisc dualpi2 --dev {name}"),
        ));
    };
    let settings = merged(before, set);
    let queue = queue(dualpi2::Config::KIND, settings, false)?;
    apply(&Install { devices: vec![device], queue: Some(queue), ..Install::default() })?;
    until_next_start();
    Ok(())
}

/// Prints a note if the change differs from the systemd unit.
pub fn until_next_start() {
    if boot::is_enabled() {
        say!(
            "note: this lasts until the next boot, which repeats the last `l4s host install --boot`; \
            run that command again with the new settings to keep them"
        );
    }
}

/// Merges settings: later values of a key win. A profile resets all of its settings.
fn merged(before: Vec<String>, set: &[String]) -> Vec<String> {
    let key = |text: &str| text.split('=').next().unwrap_or_default().to_owned();
    let renews = set.iter().any(|text| key(text) == "profile");
    let kept = before
        .into_iter()
        .filter(|old| set.iter().all(|new| key(new) != key(old)) && (!renews || key(old) == RATE));
    kept.chain(set.iter().cloned()).collect()
}

fn apply(wanted: &Install) -> Result<(), Failure> {
    let installed = l4s_host::install(&Place::machine(), wanted)?;
    for warning in &installed.warnings {
        say!("note: {warning}");
    }
    let mut text: String =
        installed.done.iter().map(|what| format!("installed  {what}\n")).collect();
    if text.is_empty() {
        text += "everything was installed already\n";
    }
    print(&text)
}

/// Makes systemd repeat the same command at boot, without `--boot`.
fn at_boot(options: &HostInstall, devices: &[Device]) -> Result<(), Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Run(format!("where this program is: {error}")))?;
    let mut words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--boot").collect();
    // Early in a boot there may be no route yet to find the device.
    if options.dev.is_empty() {
        words.extend(devices.iter().map(|device| format!("--dev={}", device.name)));
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    boot::enable(&program, &words, devices)
        .inspect_err(|_| say!("note: installed, but only until the next boot"))?;
    print("installed  systemd unit l4s-host, which repeats this at each boot\n")
}

fn congestion_control(text: &str) -> Result<WantedPrague, Failure> {
    let (kind, profile) = text.split_once(':').unwrap_or((text, "best-linux"));
    if kind != prague::Config::KIND {
        return Err(Failure::input_with(
            format!("--cc: found `{kind}`, expected prague"),
            "the kernel's own, such as cubic, need no installation",
        ));
    }
    let able: Vec<&str> = prague::Config::PROFILES
        .iter()
        .filter(|profile| prague::kernel::unable(&(profile.make)()).is_empty())
        .map(|profile| profile.name)
        .collect();
    let config = prague::Config::profile(profile).filter(|_| able.contains(&profile));
    let config = config.ok_or_else(|| {
        Failure::input(format!(
            "--cc: found the profile `{profile}`, expected one that a kernel can have: {}",
            able.join(", ")
        ))
    })?;
    Ok(WantedPrague { config, profile: profile.to_owned() })
}

fn devices(names: &[String]) -> Result<Vec<Device>, Failure> {
    if !names.is_empty() {
        return Ok(names.iter().map(|name| Device::named(name)).collect::<Result<_, _>>()?);
    }
    match Host::look().interface {
        Some(interface) => Ok(vec![Device::named(&interface.name)?]),
        None => Err(Failure::input_with(
            "there is no default route, which would show the device that packets leave by",
            format!("--dev NAME, one of {}", Device::names().join(", ")),
        )),
    }
}

/// A queue by its settings, which are those of the scenarios' `[aqm]`, and their faults as well.
fn queue(kind: &str, settings: Vec<String>, replace: bool) -> Result<WantedQueue, Failure> {
    if kind != dualpi2::Config::KIND {
        return Err(Failure::input_with(
            format!("--qdisc: found `{kind}`, expected dualpi2"),
            "configure the kernel's own disciplines with tc",
        ));
    }
    let mut rate = None;
    let mut set = Vec::new();
    for setting in &settings {
        match setting.split_once('=') {
            Some((RATE, value)) => {
                rate = Some(value.parse::<Rate>().map_err(|error| {
                    Failure::input(format!("{RATE}: found \"{value}\": {error}"))
                })?);
            }
            _ => set.push(Override::new(setting)),
        }
    }
    let Config::DualPi2(config) = l4s_scenario::discipline(dualpi2::Config::KIND, &set)? else {
        return Err(Failure::input("--set: found another `kind`, expected dualpi2"));
    };
    let mut config = dualpi2::kernel::as_kernel(&config);
    // Scenarios take it from the link's buffer, which is for experiments.
    if !settings
        .iter()
        .any(|setting| setting.starts_with("limit") || setting.starts_with("memlimit"))
    {
        config.limit = dualpi2::Config::linux().limit;
    }
    Ok(WantedQueue { config, rate, settings, replace })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(all: &[&str]) -> Vec<String> {
        all.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn later_settings_hold_and_a_profile_begins_anew() {
        let before = strings(&["rate=40mbit", "profile=linux", "target=20ms"]);
        let merge = |set: &[&str]| merged(before.clone(), &strings(set));
        assert_eq!(merge(&["target=5ms"]), ["rate=40mbit", "profile=linux", "target=5ms"]);
        assert_eq!(merge(&["profile=best"]), ["rate=40mbit", "profile=best"]);
        assert_eq!(merge(&["rate=1gbit", "k=3"])[2..], ["rate=1gbit", "k=3"]);
    }

    #[test]
    fn settings_are_those_of_a_scenario() {
        let all = strings(&["rate=40mbit", "profile=linux", "target=20ms"]);
        let wanted = queue("dualpi2", all, false).unwrap();
        assert_eq!(wanted.rate, Some(Rate::from_bps(40_000_000)));
        assert_eq!(wanted.config.target.as_millis_f64(), 20.0);
        assert_eq!(wanted.config.limit, dualpi2::Config::linux().limit);
        let refused = |set: &[&str]| queue("dualpi2", strings(set), false).unwrap_err().report();
        assert!(refused(&["targt=20ms"]).contains("target"), "{}", refused(&["targt=20ms"]));
        assert!(refused(&["rate=fast"]).contains("\"fast\""));
        assert!(refused(&["target=[1ms,2ms]"]).contains("expected a time"));
        assert!(refused(&["target"]).contains("expected KEY=VALUE"));
        assert!(refused(&["kind=pie"]).contains("another `kind`"));
        let last = queue("dualpi2", strings(&["target=20ms", "target=5ms"]), false).unwrap();
        assert_eq!(last.config.target.as_millis_f64(), 5.0);
        assert!(queue("fq_codel", Vec::new(), false).is_err());
        assert!(congestion_control("cubic").is_err() && congestion_control("prague").is_ok());
        assert!(congestion_control("prague:best").unwrap_err().report().contains("best-linux"));
    }
}
