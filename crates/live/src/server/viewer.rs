//! A viewer: a WebSocket that receives the states of a session, and sends it commands.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::Limits;
use crate::protocol::{Command, Fault, Over};
use crate::session::{Order, Session, Standing, to_json};

/// Answers that may wait for a viewer.
const ANSWERS: usize = 128;
/// How long it may be silent, in patiences. It is asked whether it is there once in each.
const SILENT: u32 = 3;

/// Serves a viewer until it goes, or the session is over.
pub(super) async fn watch(mut socket: WebSocket, session: &Session, limits: &Limits) {
    let mut standing = session.standing();
    let mut states = session.states();
    let (answer, mut answers) = mpsc::channel(ANSWERS);
    let mut allowance = Allowance::new(limits.commands);
    let mut ping = interval_at(Instant::now() + limits.patience, limits.patience);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard = Instant::now();
    standing.mark_changed();
    loop {
        // In this order: a state belongs to the settings that were sent before it.
        let message = tokio::select! {
            biased;
            changed = standing.changed() => {
                let stands = match changed {
                    Ok(()) => standing.borrow_and_update().clone(),
                    Err(_) => Standing::Over(None),
                };
                match stands {
                    Standing::Starting => continue,
                    Standing::On { settings, .. } => text(&settings),
                    Standing::Over(fault) => {
                        farewell(socket, fault, limits.patience).await;
                        return;
                    }
                }
            }
            Some(said) = answers.recv() => text(&said),
            received = socket.recv() => {
                heard = Instant::now();
                let refused = match received {
                    Some(Ok(Message::Text(command))) if allowance.take(heard) => {
                        command_of(&command, session, &answer).err()
                    }
                    Some(Ok(Message::Text(command))) => {
                        let id = Command::read(&command).ok().and_then(|command| command.id());
                        let message = format!("more than {} commands per second", limits.commands);
                        Some(Fault::new("message", message).to(id))
                    }
                    Some(Ok(Message::Binary(_))) => {
                        Some(Fault::new("message", "expected a text, which is JSON"))
                    }
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => None,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                };
                match refused {
                    Some(fault) => text(&to_json(&fault)),
                    None => continue,
                }
            }
            state = states.recv() => match state {
                Ok(state) => text(&state),
                // It was slow, and missed some.
                Err(broadcast::error::RecvError::Lagged(_)) => continue,
                Err(broadcast::error::RecvError::Closed) => return,
            },
            _ = ping.tick() => {
                if heard.elapsed() > limits.patience * SILENT {
                    return;
                }
                Message::Ping(Default::default())
            }
        };
        // A viewer that does not read is cut off; the others never waited for it.
        match timeout(limits.patience, socket.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

fn text(message: &Arc<str>) -> Message {
    Message::text(&**message)
}

/// Hands a command to the session.
fn command_of(text: &str, session: &Session, answer: &mpsc::Sender<Arc<str>>) -> Result<(), Fault> {
    let command = Command::read(text)?;
    session.order(Order { command, answer: answer.clone() })
}

/// The last messages.
async fn farewell(mut socket: WebSocket, fault: Option<Fault>, patience: Duration) {
    let last = async {
        if let Some(fault) = fault {
            socket.send(text(&to_json(&fault))).await?;
        }
        socket.send(text(&to_json(&Over {}))).await?;
        let close = CloseFrame { code: 1000, reason: "the session is over".into() };
        socket.send(Message::Close(Some(close))).await
    };
    // Whether they arrive or not.
    let _ = timeout(patience, last).await;
}

/// The rate limit on a viewer's commands: a number per second, and twice as many at once.
struct Allowance {
    per_second: f64,
    left: f64,
    counted: Instant,
}

impl Allowance {
    fn new(per_second: f64) -> Allowance {
        Allowance { per_second, left: 2.0 * per_second, counted: Instant::now() }
    }

    fn take(&mut self, now: Instant) -> bool {
        let passed = now.duration_since(self.counted).as_secs_f64();
        self.counted = now;
        self.left = (self.left + passed * self.per_second).min(2.0 * self.per_second);
        let granted = self.left >= 1.0;
        self.left -= if granted { 1.0 } else { 0.0 };
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_allowed_in_bursts_and_then_at_their_rate() {
        let mut allowance = Allowance::new(50.0);
        let start = allowance.counted;
        let granted = |allowance: &mut Allowance, at: Instant| {
            (0..1000).filter(|_| allowance.take(at)).count()
        };
        assert_eq!(granted(&mut allowance, start), 100);
        assert_eq!(granted(&mut allowance, start + Duration::from_secs(1)), 50);
        assert_eq!(granted(&mut allowance, start + Duration::from_secs(100)), 100);
    }
}
