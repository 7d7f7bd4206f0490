//! What was begun in a turn of an agent and still runs, for whoever has to end it when the agent does not wait any more.

use super::Toolbox;

impl Toolbox {
    /// Whether something that was begun in a turn still runs.
    pub fn turn_runs_on(&self, turn: &str) -> bool {
        !self.executions.of_turn(turn).is_empty()
    }

    /// Lets what was begun in a turn go on without the calls that began it, and without the limits of one that is waited
    /// for.
    pub fn hand_over_turn(&self, turn: &str) {
        self.executions.of_turn(turn).iter().for_each(|execution| execution.hand_over());
    }

    /// Interrupts what was begun in a turn and still runs. Tells whether there was anything.
    pub fn interrupt_turn(&self, turn: &str) -> bool {
        let running = self.executions.of_turn(turn);
        running.iter().for_each(|execution| execution.canceller.cancel());
        !running.is_empty()
    }

    /// Waits until nothing that was begun in a turn runs any more.
    pub async fn turn_rests(&self, turn: &str) {
        for execution in self.executions.of_turn(turn) {
            execution.end().await;
        }
    }
}
