//! Signs of life: how it is noticed that a kernel has gone, our own child or another's.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::ZmqProcess;
use crate::event::Death;
use crate::jupyter::listener::ListenerCommand;
use crate::jupyter::pending::Pending;
use crate::kernel::State;
use crate::process::Process;
use crate::zmq::connection::Place;
use crate::zmq::lanes;
use crate::zmq::zmtp::{self, SocketType};

/// How often a kernel is asked for a sign of life, and how long it may take to give one.
pub(super) const BEAT: Duration = Duration::from_secs(5);

/// Beats in a row that a kernel which is not our child may miss.
const MISSED: u32 = 3;

/// How often, and how soon, to look whether a kernel that hung up is gone.
const LOOKS: usize = 20;
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Tells the state when the process dies, at once.
pub(super) fn watch_death(
    process: &Process,
    state: &Arc<watch::Sender<State>>,
    pending: &Arc<Pending>,
) -> JoinHandle<()> {
    let mut death = process.death();
    let (state, pending) = (state.clone(), pending.clone());
    tokio::spawn(async move {
        let death = match death.wait_for(Option::is_some).await {
            Ok(death) => death.clone().unwrap_or(Death::Unknown),
            Err(_) => return,
        };
        // A restart has said already that it is starting.
        state.send_if_modified(|state| match state {
            State::Idle | State::Busy(_) => {
                *state = State::Dead(death);
                true
            }
            State::Starting | State::Dead(_) => false,
        });
        pending.close();
    })
}

/// The only signs of life of a kernel that is not our child. One that is slow is not dead: it must be silent for
/// several beats, or hang up and take no new connection.
pub(super) fn watch_beats(
    place: Place,
    state: &Arc<watch::Sender<State>>,
    live: &ZmqProcess,
) -> JoinHandle<()> {
    let (state, pending, commands) =
        (state.clone(), live.client.pending.clone(), live.client.commands.clone());
    let lost = live.lost.clone();
    tokio::spawn(async move {
        let mut missed = 0;
        while missed < MISSED {
            tokio::select! {
                () = tokio::time::sleep(BEAT) => match tokio::time::timeout(BEAT, beat(&place)).await {
                    Ok(Some(())) => missed = 0,
                    Ok(None) | Err(_) => missed += 1,
                },
                () = lost.notified() => if has_hung_up(&place).await {
                    break;
                },
            }
        }
        state.send_replace(State::Dead(Death::Unknown));
        pending.close();
        let _ = commands.send(ListenerCommand::Gone(Death::Unknown)).await;
    })
}

/// Whether a kernel that closed one connection takes no other. One that dies closes its sockets one by one.
async fn has_hung_up(place: &Place) -> bool {
    for _ in 0..LOOKS {
        if !lanes::is_open(place).await {
            return true;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    false
}

pub(super) async fn beat(place: &Place) -> Option<()> {
    let (mut reader, mut writer) = zmtp::connect(place, SocketType::Request, "").await.ok()?;
    writer.send(&[Bytes::new(), Bytes::from_static(b"beat")]).await.ok()?;
    reader.next().await.ok().map(drop)
}
