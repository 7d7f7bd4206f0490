//! The notebooks of the benchmarks.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// A typical notebook of 52 MB: some hundred cells, most bytes in images, some in long streams.
pub(crate) fn large_notebook(path: &Path) {
    let mut cells = String::new();
    let mut noise = Noise(42);
    for index in 0..340 {
        let output = if index % 4 == 3 {
            let lines: Vec<String> = (0..1500)
                .map(|line| format!("      \"step {line:05} loss 0.{:08}\\n\"", noise.next() % 100_000_000))
                .collect();
            format!(
                "{{\n     \"name\": \"stdout\",\n     \"output_type\": \"stream\",\n     \"text\": [\n{}\n     ]\n    }}",
                lines.join(",\n")
            )
        } else {
            let picture = noise.base64(185_000);
            format!(
                "{{\n     \"data\": {{\n      \"image/png\": \"{picture}\",\n      \"text/plain\": [\n       \"<Figure size 640x480 with 1 Axes>\"\n      ]\n     }},\n     \"metadata\": {{}},\n     \"output_type\": \"display_data\"\n    }}"
            )
        };
        push_cell(
            &mut cells,
            index,
            &format!("fig_{index} = plot(data[{index}])\\n\",\n    \"fig_{index}.show()"),
            Some(&output),
        );
    }
    fs::write(path, notebook(&cells)).expect("the notebook can be written");
}

/// A notebook of 1,000 cells without outputs, every third one Markdown.
pub(crate) fn thousand_cells(path: &Path) {
    let mut cells = String::new();
    for index in 0..1000 {
        if index % 3 == 0 {
            let source = format!(
                "## Part {index}\\n\",\n    \"\\n\",\n    \"Some words on what is done here, and why."
            );
            push_cell(&mut cells, index, &source, None);
        } else {
            let source = format!(
                "def f_{index}(x):\\n\",\n    \"    \\\"\\\"\\\"Step {index}.\\\"\\\"\\\"\\n\",\n    \"    return x + {index}\\n\",\n    \"\\n\",\n    \"f_{index}(1)"
            );
            push_cell(&mut cells, index, &source, Some(""));
        }
    }
    fs::write(path, notebook(&cells)).expect("the notebook can be written");
}

/// A notebook of code cells with these sources.
pub(crate) fn code_cells<S: AsRef<str>>(path: &Path, sources: &[S]) {
    let mut cells = String::new();
    for (index, source) in sources.iter().enumerate() {
        let quoted = serde_json::to_string(source.as_ref()).expect("text is JSON");
        push_cell(&mut cells, index, &quoted[1..quoted.len() - 1], Some(""));
    }
    fs::write(path, notebook(&cells)).expect("the notebook can be written");
}

/// A notebook of one megabyte: 400 code cells, most bytes in streams.
pub(crate) fn one_megabyte(path: &Path) {
    let mut cells = String::new();
    let mut noise = Noise(7);
    for index in 0..400 {
        let lines: Vec<String> = (0..55)
            .map(|line| format!("      \"step {line:05} loss 0.{:08}\\n\"", noise.next() % 100_000_000))
            .collect();
        let output = format!(
            "{{\n     \"name\": \"stdout\",\n     \"output_type\": \"stream\",\n     \"text\": [\n{}\n     ]\n    }}",
            lines.join(",\n")
        );
        push_cell(
            &mut cells,
            index,
            &format!("y_{index} = f({index})\\n\",\n    \"print(y_{index})"),
            Some(&output),
        );
    }
    fs::write(path, notebook(&cells)).expect("the notebook can be written");
}

/// The outputs of all cells of a notebook.
pub(crate) fn outputs(path: &Path) -> Vec<Vec<serde_json::Value>> {
    let bytes = fs::read(path).expect("it was just written");
    let value: serde_json::Value = serde_json::from_slice(&bytes).expect("it is JSON");
    let cells = value["cells"].as_array().cloned().unwrap_or_default();
    cells.iter().map(|cell| cell["outputs"].as_array().cloned().unwrap_or_default()).collect()
}

/// A text that a notebook stores whole or as a list of lines.
pub(crate) fn joined(text: &serde_json::Value) -> String {
    match text {
        serde_json::Value::Array(lines) => lines.iter().filter_map(|line| line.as_str()).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

/// Appends a cell in Jupyter's layout. Code cells have an output, which may be empty.
fn push_cell(cells: &mut String, index: usize, source: &str, output: Option<&str>) {
    if !cells.is_empty() {
        cells.push_str(",\n");
    }
    let head = match output {
        None => "   \"cell_type\": \"markdown\",\n".to_owned(),
        Some(_) => format!("   \"cell_type\": \"code\",\n   \"execution_count\": {},\n", index + 1),
    };
    let outputs = match output {
        None => String::new(),
        Some("") => "   \"outputs\": [],\n".to_owned(),
        Some(output) => format!("   \"outputs\": [\n    {output}\n   ],\n"),
    };
    write!(cells, "  {{\n{head}   \"id\": \"cell-{index}\",\n   \"metadata\": {{}},\n{outputs}   \"source\": [\n    \"{source}\"\n   ]\n  }}")
        .expect("a String takes all that is written");
}

fn notebook(cells: &str) -> String {
    format!(
        "{{\n \"cells\": [\n{cells}\n ],\n \"metadata\": {{\n  \"kernelspec\": {{\n   \"display_name\": \"Python 3\",\n   \"language\": \"python\",\n   \"name\": \"python3\"\n  }},\n  \"language_info\": {{\n   \"name\": \"python\"\n  }}\n }},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}}\n"
    )
}

/// Reproducible pseudo-random numbers.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn base64(&mut self, length: usize) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        (0..length).map(|_| char::from(LETTERS[(self.next() % 64) as usize])).collect()
    }
}
