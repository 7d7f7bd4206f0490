//! The notebooks of the tasks, equal for both sides.

use std::path::Path;

use serde_json::{Value, json};

/// Ten parts of three cells each.
const PARTS: usize = 10;

/// Writes all notebooks into a folder.
pub(super) fn make(folder: &Path) {
    let mut analysis = Vec::new();
    for part in 0..PARTS {
        analysis.push(prose(&format!(
            "## Part {part}\n\nWhat follows looks at quantity {part}, with the usual caution."
        )));
        analysis.push(code(&format!(
            "# load part {part}\nvalues_{part} = [n * {} for n in range(100)]\ntotal_{part} = sum(values_{part})\nprint('part', {part}, total_{part})",
            part + 1
        )));
        analysis.push(code(&format!(
            "def scale_{part}(factor):\n    return [value * factor for value in values_{part}]\n\nscaled_{part} = scale_{part}(2)\nlen(scaled_{part})"
        )));
    }
    let all = [
        ("analysis", analysis.clone()),
        ("all", analysis),
        ("training", vec![prose("# Training"), trained()]),
        ("empty", vec![prose("# Scratch")]),
        ("plot", vec![prose("# Plots")]),
        (
            "broken",
            vec![
                prose("# Prices"),
                code("prices = {'apple': 3, 'pear': 4}"),
                code("total = sum(prices.value())\ntotal"),
            ],
        ),
        (
            "table",
            vec![
                code("import numpy as np\nimport pandas as pd"),
                code(
                    "count = np.arange(1000)\nframe = pd.DataFrame({'city': [f'city {n}' for n in count], 'people': count * 1000, 'area': count / 7})",
                ),
                code("frame"),
            ],
        ),
        (
            "long",
            vec![
                code("import time"),
                code(
                    "kept = 42\nfor step in range(600):\n    print('step', step, flush=True)\n    time.sleep(1)",
                ),
            ],
        ),
        (
            "trace",
            vec![
                code("import json"),
                code(
                    "def read(text):\n    return json.loads(text)\n\ndef deep(n, text):\n    if n == 0:\n        return read(text)\n    return deep(n - 1, text)\n\ndeep(40, '{\"a\": oops}')",
                ),
            ],
        ),
    ];
    for (name, mut cells) in all {
        for (index, cell) in cells.iter_mut().enumerate() {
            // As long as Jupyter's ids.
            cell["id"] = format!("{:08x}", 0x9e37_79b9_u32.wrapping_mul(index as u32 + 1)).into();
        }
        let kernel = json!({ "display_name": "Python 3", "language": "python", "name": "python3" });
        let notebook = json!({
            "cells": cells, "metadata": { "kernelspec": kernel, "language_info": { "name": "python" } },
            "nbformat": 4, "nbformat_minor": 5,
        });
        let path = folder.join(format!("{name}.ipynb"));
        std::fs::write(path, notebook.to_string()).expect("the notebook can be written");
    }
}

fn prose(text: &str) -> Value {
    json!({ "cell_type": "markdown", "metadata": {}, "source": text })
}

fn code(text: &str) -> Value {
    json!({ "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": text })
}

/// A cell with a saved output of 5,000 lines, of which one matters.
fn trained() -> Value {
    let line = |step: usize| match step {
        3217 => "step 3217: loss nan, gradient overflow in layer 7\n".to_owned(),
        _ => {
            format!("step {step}: loss {:.4}, rate 0.001, batch {}\n", 1000.0 / (step + 1) as f64, step % 64)
        }
    };
    let mut cell = code("train()");
    let text: String = (0..5000).map(line).collect();
    cell["outputs"] = json!([{ "output_type": "stream", "name": "stdout", "text": text }]);
    cell
}
