//! Connections that are none of a viewer, and whose turn it is to go when there are too many.
//!
//! Whoever connects costs a place before having said anything, and may dribble for as long as a
//! request may take. So the oldest of those that have shown nothing yet goes where places are rare,
//! of the address that has most: an honest request is known within moments. Those moments everybody
//! has, or a crowd that comes again and again would push out whoever comes between; who comes when
//! all places are that young waits for one. Who has shown a token, or on loopback a name of this
//! server, has a place among others of the kind.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use tokio::sync::Notify;
use tokio::time::Instant;

/// What of all places for strangers one address may have: a quarter, but on loopback, where all have
/// the same.
const SHARE: usize = 4;
/// The moments that everybody has.
const GRACE: Duration = Duration::from_millis(200);

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
    since: Instant,
    known: bool,
    close: Arc<Notify>,
}

/// The place of a connection, which is free when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    callers: Arc<Callers>,
    close: Arc<Notify>,
}

/// What a stranger is told.
#[derive(Debug)]
pub(super) enum Welcome {
    /// It has a place.
    Come(Place),
    /// One may be free then.
    Wait(Instant),
    /// Its address has all that it may have.
    Go,
}

impl Callers {
    pub fn new(places: usize) -> Arc<Callers> {
        Arc::new(Callers { places, all: Mutex::new(Vec::new()) })
    }

    /// A stranger comes.
    pub fn receive(self: &Arc<Callers>, from: IpAddr, now: Instant) -> Welcome {
        let from = network(from);
        let mut all = self.lock();
        let own = all.iter().filter(|caller| !caller.known && caller.from == from).count();
        if !from.is_loopback() && own >= (self.places / SHARE).max(1) {
            let oldest = all.iter().position(|caller| !caller.known && caller.from == from);
            if show_out(&mut all, oldest, now).is_err() {
                return Welcome::Go;
            }
        } else if let Err(then) = self.make_room(&mut all, false, now) {
            return Welcome::Wait(then);
        }
        let close = Arc::new(Notify::new());
        all.push(Caller { from, since: now, known: false, close: close.clone() });
        drop(all);
        Welcome::Come(Place { callers: self.clone(), close })
    }

    /// Makes room for one that is known or is not, or says when: where there is none the oldest of the
    /// address that has most goes.
    fn make_room(&self, all: &mut Vec<Caller>, known: bool, now: Instant) -> Result<(), Instant> {
        let kind = || (0..all.len()).filter(|at| all[*at].known == known);
        if kind().count() < self.places {
            return Ok(());
        }
        let mut of: HashMap<IpAddr, usize> = HashMap::new();
        kind().for_each(|at| *of.entry(all[at].from).or_default() += 1);
        // Of several with as many the oldest.
        let oldest = kind().rev().max_by_key(|at| of[&all[*at].from]);
        show_out(all, oldest, now)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Caller>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One has to go, unless its moments are not over: then says when they are.
fn show_out(all: &mut Vec<Caller>, at: Option<usize>, now: Instant) -> Result<(), Instant> {
    let Some(at) = at else { return Err(now + GRACE) };
    let over = all[at].since + GRACE;
    if over > now {
        return Err(over);
    }
    all.remove(at).close.notify_one();
    Ok(())
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

    /// Who has it has shown a token, or a name of this server; where too many have just now, it stays
    /// among strangers.
    fn vouch(&self, now: Instant) {
        let mut all = self.callers.lock();
        let at = |all: &[Caller]| all.iter().position(|c| Arc::ptr_eq(&c.close, &self.close));
        if at(&all).is_some_and(|at| !all[at].known)
            && self.callers.make_room(&mut all, true, now).is_ok()
            && let Some(at) = at(&all)
        {
            all[at].known = true;
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
        place.vouch(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(n: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, n])
    }

    /// Strangers that come one after the other, each when the last one had its moments.
    struct Crowd {
        callers: Arc<Callers>,
        now: Instant,
    }

    impl Crowd {
        fn new(places: usize) -> Crowd {
            Crowd { callers: Callers::new(places), now: Instant::now() }
        }

        fn at_once(&self, from: IpAddr) -> Option<Place> {
            match self.callers.receive(from, self.now) {
                Welcome::Come(place) => Some(place),
                Welcome::Wait(_) | Welcome::Go => None,
            }
        }

        fn next(&mut self, from: IpAddr) -> Place {
            self.now += GRACE;
            self.at_once(from).expect("a place")
        }

        /// Whether each of them still has its place.
        fn stay(&self, places: &[Place]) -> Vec<bool> {
            let all = self.callers.lock();
            let stays = |place: &Place| all.iter().any(|c| Arc::ptr_eq(&c.close, &place.close));
            places.iter().map(stays).collect()
        }
    }

    #[test]
    fn one_address_has_its_share_and_then_pushes_out_its_own() {
        let mut crowd = Crowd::new(8);
        let places: Vec<_> = [1, 2, 2, 2, 2].map(|n| crowd.next(ip(n))).into();
        assert_eq!(crowd.stay(&places), [true, false, false, true, true]);
        // One at the same moment is sent away; of another address it comes in.
        assert!(matches!(crowd.callers.receive(ip(2), crowd.now), Welcome::Come(_)));
        let _young = [crowd.at_once(ip(3)), crowd.at_once(ip(3))].map(Option::unwrap);
        assert!(matches!(crowd.callers.receive(ip(3), crowd.now), Welcome::Go));
        // An IPv6 network is one, whatever its addresses.
        let mut crowd = Crowd::new(8);
        let ips = (0..4).map(|n| IpAddr::from([0x2001, 0xdb8, 0, 0, n, 0, 0, n]));
        let places: Vec<_> = ips.map(|ip| crowd.next(ip)).collect();
        assert_eq!(crowd.stay(&places), [false, false, true, true]);
    }

    #[test]
    fn who_is_known_stays_whoever_comes() {
        let mut crowd = Crowd::new(8);
        let known = crowd.next(ip(1));
        known.vouch(crowd.now);
        let places: Vec<_> = (0..100).map(|n| crowd.next(ip(n))).collect();
        assert_eq!(crowd.stay(&[known]), [true]);
        assert_eq!(crowd.stay(&places).iter().filter(|stays| **stays).count(), 8);
        // Those that dribble have several places each, and lose them before others do.
        let mut crowd = Crowd::new(8);
        let few: Vec<_> = [1, 2, 3, 4].map(|n| crowd.next(ip(n))).into();
        let many: Vec<_> = (0..20).map(|n| crowd.next(ip(10 + n % 3))).collect();
        assert_eq!(crowd.stay(&few), [true; 4]);
        assert_eq!(crowd.stay(&many).iter().filter(|stays| **stays).count(), 4);
    }

    #[test]
    fn everybody_has_some_moments_however_many_come() {
        let loopback = IpAddr::from([127, 0, 0, 1]);
        let mut crowd = Crowd::new(8);
        let places: Vec<_> = (0..8).map(|_| crowd.at_once(loopback).unwrap()).collect();
        let over = crowd.now + GRACE;
        assert!(
            matches!(crowd.callers.receive(loopback, crowd.now), Welcome::Wait(t) if t == over)
        );
        assert_eq!(crowd.stay(&places), [true; 8]);
        drop(crowd.next(loopback));
        assert_eq!(crowd.stay(&places).iter().filter(|stays| **stays).count(), 7);
    }

    #[test]
    fn known_ones_have_as_many_places_and_a_place_is_free_when_it_is_left() {
        let mut crowd = Crowd::new(4);
        let places: Vec<_> = (0..4).map(|n| crowd.at_once(ip(n)).unwrap()).collect();
        places.iter().for_each(|place| place.vouch(crowd.now));
        // No more than four are known; a fifth is a stranger, until the first had its moments.
        let fifth = crowd.at_once(ip(5)).unwrap();
        fifth.vouch(crowd.now);
        let known = |crowd: &Crowd| crowd.callers.lock().iter().filter(|c| c.known).count();
        assert_eq!((known(&crowd), crowd.stay(&places)), (4, vec![true; 4]));
        crowd.now += GRACE;
        fifth.vouch(crowd.now);
        assert_eq!((known(&crowd), crowd.stay(&places)), (4, vec![false, true, true, true]));
        drop((places, fifth));
        assert!(crowd.callers.lock().is_empty());
    }
}
