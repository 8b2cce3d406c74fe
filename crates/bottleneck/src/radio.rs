//! Links that are radios. Packets leave the queue together when the radio may send, and arrive together and in order when
//! the data of a transmission is received.

mod contention;
#[cfg(test)]
mod testing;
mod wifi;

pub(crate) use wifi::Wifi;
