//! Controls the runs that an agent started in a turn and no longer waits for.

use super::Toolbox;

impl Toolbox {
    /// Returns whether a run of the turn is still running.
    pub fn is_turn_running(&self, turn: &str) -> bool {
        !self.executions.of_turn(turn).is_empty()
    }

    /// Hands over the runs of a turn: they go on without their calls and without the limits of a
    /// waiting caller.
    pub fn hand_over_turn(&self, turn: &str) {
        self.executions.of_turn(turn).iter().for_each(|execution| execution.hand_over());
    }

    /// Interrupts the runs of a turn. Returns whether there were any.
    pub fn interrupt_turn(&self, turn: &str) -> bool {
        let running = self.executions.of_turn(turn);
        running.iter().for_each(|execution| execution.canceller.cancel());
        !running.is_empty()
    }

    /// Waits until all runs of a turn have ended.
    pub async fn wait_for_turn(&self, turn: &str) {
        for execution in self.executions.of_turn(turn) {
            execution.end().await;
        }
    }
}
