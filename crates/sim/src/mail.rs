//! Messages of clients that wait in a queue. A packet there has no room for one, and names its place here.

use crate::message::Message;

/// Messages by place.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    messages: Vec<Message>,
    /// Places of messages that were taken.
    free: Vec<u32>,
}

impl Mail {
    /// Keeps a message; gives its place.
    pub fn put(&mut self, message: Message) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.messages[place as usize] = message;
                place
            }
            None => {
                self.messages.push(message);
                self.messages.len() as u32 - 1
            }
        }
    }

    /// The message at a place, where it stays.
    pub fn look(&self, place: u32) -> &Message {
        &self.messages[place as usize]
    }

    /// The message at a place, which another one may have next.
    pub fn take(&mut self, place: u32) -> Message {
        self.free.push(place);
        self.messages[place as usize]
    }
}
