//! A connection that receives all pushes of a world.

use std::sync::{Arc, Mutex};

use prost::Message;
use tokio::sync::Notify;
use tokio::time::timeout;
use wire::Packet;
use wire::quote::{PushQuote, PushTrades, SubscribeRequest};

use super::data::SECURITIES;
use crate::support::{Client, PATIENCE, Read};

/// Command and body.
pub(crate) type Push = (u8, Vec<u8>);

/// The pushes of a connection that is subscribed to all securities and to the clock. The push of
/// the clock is the last one of each step.
pub(crate) struct Pushes {
    taken: Arc<Mutex<Vec<Push>>>,
    more: Arc<Notify>,
    /// The subscriptions, and the first pushes.
    pub(crate) first: Vec<Push>,
}

impl Pushes {
    pub(crate) async fn open(mut client: Client) -> Pushes {
        for symbols in [SECURITIES.map(|(name, ..)| name).to_vec(), vec!["CLOCK.WORLD"]] {
            let symbol = symbols.into_iter().map(str::to_owned).collect();
            client.request(6, &SubscribeRequest { symbol, sub_type: vec![1, 4], is_first_push: true }).await;
        }
        let (taken, more) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
        let (to, notify) = (taken.clone(), more.clone());
        tokio::spawn(async move {
            loop {
                let push = match client.read_now().await {
                    Read::Packet(Packet::Push { command, body }) => (command, body.into_owned()),
                    // The list responses of the subscriptions.
                    Read::Packet(Packet::Response { command, body, .. }) => (command, body.into_owned()),
                    Read::Packet(Packet::Request { .. }) => continue,
                    // The server has stopped because the test has ended.
                    _ => return,
                };
                to.lock().unwrap().push(push);
                notify.notify_one();
            }
        });
        let mut pushes = Pushes { taken, more, first: Vec::new() };
        pushes.first = pushes.until(0).await;
        pushes
    }

    /// Returns the pushes up to the push of the clock in this step.
    pub(crate) async fn until(&self, step: i64) -> Vec<Push> {
        let is_last = |(command, body): &Push| {
            *command == 101
                && PushQuote::decode(&**body)
                    .is_ok_and(|quote| quote.symbol == "CLOCK.WORLD" && quote.volume == step)
        };
        let wait = async {
            let mut seen = 0;
            loop {
                let found = {
                    let mut taken = self.taken.lock().unwrap();
                    let end = taken[seen..].iter().position(is_last).map(|end| seen + end);
                    seen = taken.len();
                    end.map(|end| taken.drain(..=end).collect::<Vec<_>>())
                };
                match found {
                    Some(pushes) => return pushes,
                    None => self.more.notified().await,
                }
            }
        };
        timeout(PATIENCE, wait).await.expect("the clock of the step")
    }
}

/// Formats a push as text.
fn words((command, body): &Push) -> String {
    match command {
        101 => {
            let quote = PushQuote::decode(&**body).unwrap();
            format!(
                "101 {} {} {} x{} tag {}",
                quote.symbol, quote.timestamp, quote.last_done, quote.volume, quote.tag
            )
        }
        104 => {
            let trades = PushTrades::decode(&**body).unwrap();
            let prints: Vec<String> = trades
                .trade
                .iter()
                .map(|print| format!("{}x{}@{}", print.price, print.volume, print.timestamp))
                .collect();
            format!("104 {} {}", trades.symbol, prints.join(" "))
        }
        other => format!("{other} {body:?}"),
    }
}

pub(crate) fn all(pushes: &[Push]) -> String {
    pushes.iter().map(words).collect::<Vec<_>>().join("; ")
}
