//! Admission of connections, and which one is closed when there are too many.
//!
//! A connection takes a place before it has sent anything, and may send its request as slowly as
//! requests are allowed to. When all places are taken, the oldest connection that has not identified
//! itself is closed, of the address that has most of them: an honest request identifies itself within
//! milliseconds. Every connection keeps its place for a grace period, so that a crowd which reconnects
//! at once cannot push out those who come between; a newcomer waits until the oldest grace period
//! ends. A connection that has shown the token, or on loopback a valid `Host`, is verified, and has a
//! place among the verified ones.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use tokio::sync::Notify;
use tokio::time::Instant;

/// One address may have a quarter of all unverified places; loopback, where all clients share one
/// address, is exempt.
const SHARE: usize = 4;
/// The grace period.
const GRACE: Duration = Duration::from_millis(200);

/// All of them.
#[derive(Debug)]
pub(super) struct Callers {
    /// Places for unverified connections, and as many for verified ones.
    places: usize,
    /// The oldest first.
    all: Mutex<Vec<Caller>>,
}

/// A connection.
#[derive(Debug)]
struct Caller {
    from: IpAddr,
    since: Instant,
    verified: bool,
    close: Arc<Notify>,
}

/// The place of a connection, which is free when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    callers: Arc<Callers>,
    close: Arc<Notify>,
}

/// Whether an unverified connection is admitted.
#[derive(Debug)]
pub(super) enum Admission {
    /// It has a place.
    Granted(Place),
    /// A place may be free at this time.
    Wait(Instant),
    /// Its address has its share of places.
    Refused,
}

impl Callers {
    pub fn new(places: usize) -> Arc<Callers> {
        Arc::new(Callers { places, all: Mutex::new(Vec::new()) })
    }

    /// Admits a connection, if there is a place.
    pub fn receive(self: &Arc<Callers>, from: IpAddr, now: Instant) -> Admission {
        let from = network(from);
        let mut all = self.lock();
        let own = all.iter().filter(|caller| !caller.verified && caller.from == from).count();
        if !from.is_loopback() && own >= (self.places / SHARE).max(1) {
            let oldest = all.iter().position(|caller| !caller.verified && caller.from == from);
            if evict(&mut all, oldest, now).is_err() {
                return Admission::Refused;
            }
        } else if let Err(then) = self.make_room(&mut all, false, now) {
            return Admission::Wait(then);
        }
        let close = Arc::new(Notify::new());
        all.push(Caller { from, since: now, verified: false, close: close.clone() });
        drop(all);
        Admission::Granted(Place { callers: self.clone(), close })
    }

    /// Makes room for a verified or an unverified connection by closing the oldest one of the address
    /// that has most. If all are in their grace period, returns the time at which the first of
    /// these ends.
    fn make_room(
        &self,
        all: &mut Vec<Caller>,
        verified: bool,
        now: Instant,
    ) -> Result<(), Instant> {
        let kind = || (0..all.len()).filter(|at| all[*at].verified == verified);
        if kind().count() < self.places {
            return Ok(());
        }
        let mut of: HashMap<IpAddr, usize> = HashMap::new();
        kind().for_each(|at| *of.entry(all[at].from).or_default() += 1);
        // Of several with as many the oldest.
        let oldest = kind().rev().max_by_key(|at| of[&all[*at].from]);
        evict(all, oldest, now)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Caller>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes a connection, or gives the end of its grace period.
fn evict(all: &mut Vec<Caller>, at: Option<usize>, now: Instant) -> Result<(), Instant> {
    let Some(at) = at else { return Err(now + GRACE) };
    let over = all[at].since + GRACE;
    if over > now {
        return Err(over);
    }
    all.remove(at).close.notify_one();
    Ok(())
}

/// The unit that limits apply to: an IPv4 address, or a /64 of IPv6, as every client has that many
/// addresses.
fn network(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(ip) if !ip.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64))
        }
        ip => ip,
    }
}

impl Place {
    /// Resolves when the place was given to another connection.
    pub async fn lost(&self) {
        self.close.notified().await;
    }

    /// Marks the connection as verified: it has shown the token or a valid `Host`. If there are too many
    /// verified ones in their grace period it stays unverified.
    fn vouch(&self, now: Instant) {
        let mut all = self.callers.lock();
        let at = |all: &[Caller]| all.iter().position(|c| Arc::ptr_eq(&c.close, &self.close));
        if at(&all).is_some_and(|at| !all[at].verified)
            && self.callers.make_room(&mut all, true, now).is_ok()
        {
            if let Some(at) = at(&all) {
                all[at].verified = true;
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.callers.lock().retain(|caller| !Arc::ptr_eq(&caller.close, &self.close));
    }
}

/// Marks the connection of this request as verified.
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

    /// Unverified connections one after the other, each after the grace period of the last.
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
                Admission::Granted(place) => Some(place),
                Admission::Wait(_) | Admission::Refused => None,
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
        assert!(matches!(crowd.callers.receive(ip(2), crowd.now), Admission::Granted(_)));
        let _young = [crowd.at_once(ip(3)), crowd.at_once(ip(3))].map(Option::unwrap);
        assert!(matches!(crowd.callers.receive(ip(3), crowd.now), Admission::Refused));
        // An IPv6 network counts as one, with any of its addresses.
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
            matches!(crowd.callers.receive(loopback, crowd.now), Admission::Wait(t) if t == over)
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
        let known = |crowd: &Crowd| crowd.callers.lock().iter().filter(|c| c.verified).count();
        assert_eq!((known(&crowd), crowd.stay(&places)), (4, vec![true; 4]));
        crowd.now += GRACE;
        fifth.vouch(crowd.now);
        assert_eq!((known(&crowd), crowd.stay(&places)), (4, vec![false, true, true, true]));
        drop((places, fifth));
        assert!(crowd.callers.lock().is_empty());
    }
}
