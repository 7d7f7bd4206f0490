//! Single gates: their figures, where they have any, and their problems.

use crate::failure::Failure;
use crate::gate::{self, GATES};
use crate::metadata::Metadata;

pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(unknown) = arguments.iter().find(|name| !GATES.iter().any(|gate| gate.name == **name)) {
        let names: Vec<&str> = GATES.iter().map(|gate| gate.name).collect();
        return Err(Failure::new(format!("no gate {unknown:?}")).hint(format!("gates: {}", names.join(", "))));
    }
    let metadata = Metadata::read()?;
    let mut failed = Vec::new();
    for gate in
        GATES.iter().filter(|gate| arguments.is_empty() || arguments.iter().any(|name| name == gate.name))
    {
        if gate.name == "voice" {
            print!("{}", gate::voice_figures()?);
        }
        if !gate.passes(&metadata)? {
            failed.push(gate.name);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::new(format!("failed: {}", failed.join(", ")))) }
}
