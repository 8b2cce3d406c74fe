//! Sets of tracers on a device: see tracers.bpf.c.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};

use libbpf_rs::{MapHandle, Object, OpenObject};

use crate::sockets::MAP;
use crate::tcx::{self, Place, Way};
use crate::{BpfError, object};

/// Sets of tracers for connections with a Prague that looks for a Classic queue actively, as they
/// leave a device, and their answers as they arrive there; until this is dropped or the process ends.
///
/// ECT(0) of these connections becomes ECT(1), as with [`Ect1::of_control`](crate::Ect1::of_control),
/// in whose place this is.
pub struct Tracers {
    /// The way out, and the way in.
    links: Option<[OwnedFd; 2]>,
}

impl Tracers {
    /// Attaches to the device of that index in the network namespace of the calling thread, for the
    /// Prague that is registered as `control` and shows its sockets in the map of the number
    /// `sockets` ([`Loaded::sockets`](crate::Loaded::sockets)). It takes Linux 6.6.
    pub fn attach(control: &str, sockets: u32, ifindex: u32) -> Result<Tracers, BpfError> {
        object::check_name(control)?;
        let mut open = object::open(object::TRACERS())?;
        object::for_control(&mut open, control);
        share(&mut open, sockets)
            .map_err(|error| object::refused(format!("to share map {sockets}"), &error))?;
        let object = load(open)?;
        let attach = |program: &str, way: Way, place: Place| {
            let program =
                object.progs().find(|p| p.name() == program).expect("tracers.bpf.c has it");
            tcx::attach(program.as_fd(), ifindex, way, place)
                .map_err(|error| object::refused(format!("to attach to device {ifindex}"), &error))
        };
        // A queue discipline goes by the codepoint that a packet leaves with; and others should see
        // acknowledgements as TCP does.
        let out = attach("leave", Way::Out, Place::First)?;
        let back = attach("arrive", Way::In, Place::First)?;
        Ok(Tracers { links: Some([out, back]) })
    }

    /// Loads the programs, and takes them back.
    pub(crate) fn try_load() -> Result<(), BpfError> {
        load(object::open(object::TRACERS())?).map(drop)
    }

    /// The links, the way out first. They are there for as long as their files.
    pub fn into_links(mut self) -> [OwnedFd; 2] {
        self.links.take().expect("they are taken once")
    }
}

fn load(open: OpenObject) -> Result<Object, BpfError> {
    object::load(open).map_err(|error| object::refused("to load tracers", &error))
}

/// Shares the map of a Prague's sockets with the programs.
fn share(open: &mut OpenObject, sockets: u32) -> Result<(), libbpf_rs::Error> {
    let shared = MapHandle::from_map_id(sockets)?;
    let mut map = open.maps_mut().find(|map| map.name() == MAP);
    map.as_mut().expect("tracers.bpf.c has it").reuse_fd(shared.as_fd())
}

impl Drop for Tracers {
    fn drop(&mut self) {
        for link in self.links.iter().flatten() {
            // The device may be gone, and its programs with it.
            let _ = tcx::detach(link.as_fd());
        }
    }
}

impl fmt::Debug for Tracers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tracers")
    }
}
