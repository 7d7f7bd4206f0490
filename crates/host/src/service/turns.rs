//! The history of a notebook as a list of turns, newest first.

use cellist_live::Entry;

use crate::protocol::follow::TurnSummary;

/// Maximum number of turns.
const MOST: usize = 50;
/// Maximum number of changes of one turn.
const MOST_DEEDS: usize = 12;

/// Groups the entries of a history, oldest first, into turns.
pub(super) fn turns(entries: Vec<Entry>) -> Vec<TurnSummary> {
    let mut turns: Vec<TurnSummary> = Vec::new();
    for entry in entries.into_iter().rev() {
        let deeds = entry.deeds().into_iter();
        let is_undone = entry.undone_by.is_some();
        match turns.iter_mut().find(|turn| turn.turn == entry.turn) {
            Some(turn) => {
                // The changes of a turn are oldest first.
                turn.deeds = deeds.chain(std::mem::take(&mut turn.deeds)).collect();
                turn.is_undone &= is_undone;
            }
            None => turns.push(TurnSummary {
                turn: entry.turn.clone(),
                actor: entry.actor.clone(),
                until: entry.until,
                deeds: deeds.collect(),
                is_undone,
            }),
        }
    }
    turns.truncate(MOST);
    for turn in &mut turns {
        turn.deeds.dedup();
        let more = turn.deeds.len().saturating_sub(MOST_DEEDS);
        if more > 0 {
            turn.deeds.truncate(MOST_DEEDS);
            turn.deeds.push(format!("{more} more"));
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_of_a_turn_are_one_and_the_newest_turn_comes_first() {
        let entry = |number: u64, turn: &str, undone_by: Option<u64>| -> Entry {
            let edited = json!({ "act": "moved", "cell": format!("c{number}"), "from": null, "to": null });
            serde_json::from_value(json!({
                "number": number,
                "actor": { "id": "bot", "name": "bot", "kind": "agent" },
                "turn": turn,
                "at": number,
                "until": number,
                "undone_by": undone_by,
                "acts": [edited],
            }))
            .unwrap()
        };
        let all = turns(vec![entry(1, "t1", Some(3)), entry(2, "t2", None), entry(4, "t1", None)]);
        let told: Vec<_> = all.iter().map(|turn| (turn.turn.as_str(), turn.deeds.join(", "))).collect();
        assert_eq!(
            told,
            [("t1", "moved cell c1, moved cell c4".to_owned()), ("t2", "moved cell c2".to_owned())]
        );
        assert_eq!((all[0].until, all[0].is_undone), (4, false));
        let many = turns((0..200).map(|number| entry(number, &format!("t{number}"), None)).collect());
        assert_eq!((many.len(), many[0].turn.as_str()), (MOST, "t199"));
    }
}
