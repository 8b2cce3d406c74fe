//! The features that a kernel's TCP has for a group, and the messages about missing ones.

use l4s_cc::Endpoint;
use l4s_cc::prague::{self, Fallback, kernel};
use l4s_model::{AccEcn, Group, Peer};
use l4s_os::OsError;
use l4s_os::namespace::ACCECN;
use l4s_units::Bytes;
use l4s_units::param::Configurable;

use super::{Control, LabOptions, MTU};

/// The least that IPv6 allows (RFC 8200 §5).
const LEAST_MTU_IPV6: u64 = 1280;
/// IP and TCP header, with time stamps.
const HEADERS: u64 = 20 + 20 + 12;

/// The configuration of a kernel for a group.
pub(super) struct Ability {
    /// The settings of our Prague; none for a congestion control of the kernel's own.
    pub prague: Option<kernel::Settings>,
    /// The MTU of both ends.
    pub mtu: u32,
}

impl Ability {
    /// The features of `control` for a group. [`OsError::Unsupported`] names missing ones.
    pub fn of(group: &Group, control: &Control, options: &LabOptions) -> Result<Ability, OsError> {
        if group.endpoint == Endpoint::Quic {
            return Err(OsError::Unsupported(
                "a kernel has no QUIC: expected `endpoint = \"linux-tcp\"`; `--on sim` has QUIC, and a \
                 `[[program]]` may be a QUIC stack"
                    .to_owned(),
            ));
        }
        let prague = match &group.cc {
            l4s_cc::Config::Prague(config) if control.ours || options.built => {
                Some(able(config, options.built)?)
            }
            l4s_cc::Config::Bbr3(_) if options.built => {
                return Err(OsError::Unsupported(
                    "its kernel is built without BPF, and bbr3 in a kernel is a BPF program: expected \
                     `cc = \"bbr\"`; `--on kernel` and `--on sim` have bbr3"
                        .to_owned(),
                ));
            }
            cc => {
                stock(cc)?;
                None
            }
        };
        if group.accecn == AccEcn::Ace {
            return Err(OsError::Unsupported(
                "a kernel sends its AccECN option: expected `accecn = \"option\"`".to_owned(),
            ));
        }
        if group.initial_window != l4s_cc::INITIAL_WINDOW {
            return Err(OsError::Unsupported(format!(
                "a kernel has an initial window of {0} segments: expected `initial_window = {0}`",
                l4s_cc::INITIAL_WINDOW
            )));
        }
        falls_back_as_expected(group, control)?;
        Ok(Ability { prague, mtu: mtu(group.mss, options.ipv6)? })
    }
}

/// The values of `tcp_ecn` in the namespaces of the server and the client: 0 is no ECN, 1 is RFC 3168
/// and 3 is AccECN. A control that cannot do without ECN asks for it by itself.
pub(super) fn tcp_ecn(group: &Group) -> [&'static str; 2] {
    let server = match (group.codepoint(), group.peer) {
        (None, _) => "0",
        (Some(_), Peer::AccEcn) => ACCECN,
        (Some(_), _) => "1",
    };
    let client = match group.peer {
        Peer::Auto => server,
        Peer::None => "0",
        Peer::Rfc3168 => "1",
        Peer::AccEcn => ACCECN,
    };
    [server, client]
}

/// The MTU that leaves room for `mss` bytes of payload in a packet of IPv4. Packets of IPv6 have 20
/// B less.
fn mtu(mss: Bytes, ipv6: bool) -> Result<u32, OsError> {
    let (mtu, least) = (mss.get() + HEADERS, if ipv6 { LEAST_MTU_IPV6 } else { 0 });
    if mtu > MTU.into() || mtu < least {
        return Err(OsError::Unsupported(format!(
            "packets of {mtu} B: expected an `mss` of {} to {}",
            l4s_model::LEAST_MSS.get().max(least.saturating_sub(HEADERS)),
            l4s_model::DEFAULT_MSS.get()
        )));
    }
    Ok(mtu as u32)
}

/// Prague with a client of RFC 3168: whether it does without ECN then is a flag of the kernel's control,
/// and not every kernel knows it.
fn falls_back_as_expected(group: &Group, control: &Control) -> Result<(), OsError> {
    let is_prague = matches!(group.cc, l4s_cc::Config::Prague(_));
    if !is_prague || group.peer != Peer::Rfc3168 || control.falls_back != group.refuses_rfc3168() {
        return Ok(());
    }
    Err(OsError::Unsupported(if control.falls_back {
        "with a client of RFC 3168 this kernel's Prague sends ECT(0): expected `ecn = \"classic\"`; \
         `--on sim` has Prague that does without ECN then"
            .to_owned()
    } else {
        "with a client of RFC 3168 this kernel's Prague does without ECN: expected `ecn = \"auto\"`; \
         `--on sim` has Prague that sends ECT(0) then"
            .to_owned()
    }))
}

/// The settings of our Prague, or those that it does not support: in general, and where the kernel is
/// `built`.
fn able(config: &prague::Config, built: bool) -> Result<kernel::Settings, OsError> {
    let (mut faults, mut rest) = (Vec::new(), *config);
    if built && config.fallback == Fallback::Active {
        let fault = "`fallback`: found \"active\", expected \"off\" or \"passive\": its kernel is \
                     built without BPF, which sends tracers";
        faults.push(fault.to_owned());
        // In any form.
        rest.fallback = Fallback::Passive;
    }
    faults.extend(kernel::unable(&rest));
    if faults.is_empty() {
        return Ok(kernel::Settings::new(config));
    }
    Err(OsError::Unsupported(format!(
        "prague in a kernel does not do all of this; `--on sim` does:\n  {}",
        faults.join("\n  ")
    )))
}

/// Refuses settings that the kernel's own congestion control does not have. Pacing is the socket's.
fn stock(cc: &l4s_cc::Config) -> Result<(), OsError> {
    macro_rules! changed {
        ($variant:ident, $module:ident) => {
            if let l4s_cc::Config::$variant(config) = cc {
                return refuse(config, (l4s_cc::$module::Config::PROFILES[0].make)());
            }
        };
    }
    fn refuse<C: Configurable>(config: &C, stock: C) -> Result<(), OsError> {
        let changed = |param: &&l4s_units::param::Param<C>| {
            !["pacing", "tick"].contains(&param.name) && (param.get)(config) != (param.get)(&stock)
        };
        match C::PARAMS.iter().find(changed) {
            None => Ok(()),
            Some(param) => Err(OsError::Unsupported(format!(
                "`{}` of {} cannot be set in a kernel: leave it out",
                param.name,
                C::KIND
            ))),
        }
    }
    l4s_cc::for_each_control!(changed);
    Ok(())
}
