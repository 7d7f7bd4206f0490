//! Notices about unusual but readable notebooks.

use cellist_notebook::{Cell, Notebook};

pub(super) fn oddities(notebook: &Notebook) -> Vec<String> {
    let mut oddities = Vec::new();
    let version = notebook.version();
    if version.minor > 5 {
        oddities.push(format!("nbformat 4.{} is read as 4.5 and kept as it is", version.minor));
    }
    for (id, indexes) in notebook.shared_ids() {
        oddities.push(format!("cells {} have the same id `{id}`: name them by index", listed(&indexes)));
    }
    let those = |is_odd: &dyn Fn(&Cell) -> bool| -> Vec<usize> {
        let cells = notebook.cells().iter().enumerate();
        cells.filter(|(_, cell)| is_odd(cell)).map(|(index, _)| index).collect()
    };
    let nameless = those(&|cell| version.has_ids() && cell.stored_id().is_none());
    if !nameless.is_empty() {
        oddities.push(format!("{} no id: name {} by index", has(&nameless), it(&nameless)));
    }
    let halved = those(&Cell::has_lone_surrogate);
    if !halved.is_empty() {
        oddities.push(format!("{} half a surrogate pair, shown as U+FFFD", has(&halved)));
    }
    oddities
}

fn has(indexes: &[usize]) -> String {
    match indexes {
        [index] => format!("cell {index} has"),
        _ => format!("cells {} have", listed(indexes)),
    }
}

fn it(indexes: &[usize]) -> &'static str {
    if indexes.len() == 1 { "it" } else { "them" }
}

/// `3`, `3 and 5`, `3, 5 and 9`; of many, only the first.
fn listed(indexes: &[usize]) -> String {
    const NAMED: usize = 8;
    let words: Vec<String> = indexes.iter().map(usize::to_string).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many if many.len() > NAMED => {
            format!("{} and {} more", many[..NAMED].join(", "), many.len() - NAMED)
        }
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
