//! Connections that are none of a viewer, and whose turn it is to go when there are too many.
//!
//! Whoever connects costs a place before having said anything, and may dribble for as long as a
//! request may take. So nobody waits for a place: who comes gets one, and the oldest of those that
//! have shown nothing yet goes, first of all of an address that has more than its share. Who has
//! shown a token, or on loopback a name of this server, has a place among others of the kind. An
//! honest request is known within moments, and then those who dribble cannot push it out.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::Request;
use tokio::sync::Notify;

/// What of all places for strangers one address may have.
const SHARE: usize = 4;

/// All of them.
#[derive(Debug)]
pub(super) struct Callers {
    /// Places for strangers, and as many for those that are known.
    places: usize,
    /// The oldest first.
    all: Mutex<Vec<Caller>>,
}

/// A connection.
#[derive(Debug)]
struct Caller {
    from: IpAddr,
    known: bool,
    close: Arc<Notify>,
}

/// The place of a connection, which is free when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    callers: Arc<Callers>,
    close: Arc<Notify>,
}

impl Callers {
    pub fn new(places: usize) -> Arc<Callers> {
        Arc::new(Callers { places, all: Mutex::new(Vec::new()) })
    }

    /// A place for a stranger.
    pub fn receive(self: &Arc<Callers>, from: IpAddr) -> Place {
        let close = Arc::new(Notify::new());
        let from = network(from);
        let mut all = self.lock();
        all.push(Caller { from, known: false, close: close.clone() });
        let own = (0..all.len()).filter(|at| !all[*at].known && all[*at].from == from);
        if own.clone().count() > (self.places / SHARE).max(1) {
            let oldest = own.min();
            show_out(&mut all, oldest);
        }
        self.make_room(&mut all, false);
        drop(all);
        Place { callers: self.clone(), close }
    }

    /// Of those that are known or are not, the oldest of the address that has most goes where there
    /// are too many.
    fn make_room(&self, all: &mut Vec<Caller>, known: bool) {
        let kind = || (0..all.len()).filter(|at| all[*at].known == known);
        if kind().count() > self.places {
            let of = |from: IpAddr| kind().filter(|at| all[*at].from == from).count();
            // Of several with as many the first.
            let oldest = kind().rev().max_by_key(|at| of(all[*at].from));
            show_out(all, oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Caller>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn show_out(all: &mut Vec<Caller>, at: Option<usize>) {
    if let Some(at) = at {
        all.remove(at).close.notify_one();
    }
}

/// Whose an address is: of IPv6 a network of 64 bits, as anybody has that many addresses.
fn network(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(ip) if !ip.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64))
        }
        ip => ip,
    }
}

impl Place {
    /// It belongs to somebody else now.
    pub async fn lost(&self) {
        self.close.notified().await;
    }

    /// Who has it has shown a token, or a name of this server.
    fn vouch(&self) {
        let mut all = self.callers.lock();
        let own = all.iter_mut().find(|caller| Arc::ptr_eq(&caller.close, &self.close));
        if let Some(caller) = own.filter(|caller| !caller.known) {
            caller.known = true;
            self.callers.make_room(&mut all, true);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.callers.lock().retain(|caller| !Arc::ptr_eq(&caller.close, &self.close));
    }
}

/// The connection of this request is no stranger's.
pub(super) fn vouch(request: &Request) {
    if let Some(place) = request.extensions().get::<Arc<Place>>() {
        place.vouch();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(n: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, n])
    }

    /// Whether each of them still has its place.
    fn stay(places: &[Place]) -> Vec<bool> {
        let all = places[0].callers.lock();
        let stays = |place: &Place| all.iter().any(|c| Arc::ptr_eq(&c.close, &place.close));
        places.iter().map(stays).collect()
    }

    #[test]
    fn one_address_has_its_share_and_then_pushes_out_its_own() {
        let callers = Callers::new(8);
        let mut places = vec![callers.receive(ip(1))];
        places.extend([2, 2, 2, 2].map(|n| callers.receive(ip(n))));
        assert_eq!(stay(&places), [true, false, false, true, true]);
        // An IPv6 network is one, whatever its addresses.
        let callers = Callers::new(8);
        let ips = (0..4).map(|n| IpAddr::from([0x2001, 0xdb8, 0, 0, n, 0, 0, n]));
        let places: Vec<_> = ips.map(|ip| callers.receive(ip)).collect();
        assert_eq!(stay(&places), [false, false, true, true]);
    }

    #[test]
    fn who_is_known_stays_whoever_comes() {
        let callers = Callers::new(8);
        let known = callers.receive(ip(1));
        known.vouch();
        let crowd: Vec<_> = (0..100).map(|n| callers.receive(ip(n))).collect();
        assert_eq!(stay(&[known]), [true]);
        assert_eq!(stay(&crowd).iter().filter(|stays| **stays).count(), 8);
        // Those that dribble have several places each, and lose them before others do.
        let callers = Callers::new(8);
        let few: Vec<_> = [1, 2, 3, 4].map(|n| callers.receive(ip(n))).into();
        let many: Vec<_> = (0..20).map(|n| callers.receive(ip(10 + n % 3))).collect();
        assert_eq!(stay(&few), [true; 4]);
        assert_eq!(stay(&many).iter().filter(|stays| **stays).count(), 4);
    }

    #[test]
    fn known_ones_have_as_many_places_and_a_place_is_free_when_it_is_left() {
        let callers = Callers::new(4);
        let places: Vec<_> = (0..6).map(|n| callers.receive(ip(n))).collect();
        places.iter().for_each(Place::vouch);
        assert_eq!(stay(&places).iter().filter(|stays| **stays).count(), 4);
        drop(places);
        assert!(callers.lock().is_empty());
    }
}
