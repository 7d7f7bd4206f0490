//! Kernels of other languages that many notebooks name: their languages, and how they are installed.

/// A kernel of another language: what it is called, and how it is installed.
pub(super) struct Known {
    prefix: &'static str,
    pub(super) language: &'static str,
    installation: &'static str,
}

/// `PY` stands for the interpreter.
const KNOWN: &[Known] = &[
    Known {
        prefix: "ir",
        language: "R",
        installation: "R -e 'install.packages(\"IRkernel\"); IRkernel::installspec()'",
    },
    Known { prefix: "julia", language: "julia", installation: "julia -e 'using Pkg; Pkg.add(\"IJulia\")'" },
    Known {
        prefix: "bash",
        language: "bash",
        installation: "PY -m pip install bash_kernel && PY -m bash_kernel.install",
    },
    Known { prefix: "deno", language: "typescript", installation: "deno jupyter --install" },
    Known {
        prefix: "javascript",
        language: "javascript",
        installation: "npm install -g ijavascript && ijsinstall",
    },
    Known {
        prefix: "rust",
        language: "rust",
        installation: "cargo install evcxr_jupyter && evcxr_jupyter --install",
    },
    Known {
        prefix: "gophernotes",
        language: "go",
        installation: "go install github.com/janpfeifer/gonb@latest && gonb --install",
    },
    Known { prefix: "octave", language: "octave", installation: "PY -m pip install octave_kernel" },
    Known { prefix: "xcpp", language: "c++", installation: "conda install -c conda-forge xeus-cling" },
    Known {
        prefix: "sos",
        language: "sos",
        installation: "PY -m pip install sos-notebook && PY -m sos_notebook.install",
    },
    Known { prefix: "ruby", language: "ruby", installation: "gem install iruby && iruby register" },
    Known { prefix: "scala", language: "scala", installation: "coursier launch almond -- --install" },
];

/// What is known of a kernel of that name.
pub(super) fn known_kernel(name: &str) -> Option<&'static Known> {
    let name = name.to_ascii_lowercase();
    KNOWN.iter().find(|known| {
        name.strip_prefix(known.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    })
}

/// How to get a kernel that is not there.
pub(super) fn installation(kernel: &str, language: Option<&str>, python: &str) -> String {
    let by_language = || {
        let language = language?;
        KNOWN.iter().find(|known| known.language.eq_ignore_ascii_case(language))
    };
    match known_kernel(kernel).or_else(by_language) {
        Some(known) => format!("install it: {}", known.installation.replace("PY", python)),
        None => format!(
            "install a Jupyter kernel for {}; `cellist kernels` lists what is there",
            language.unwrap_or("it")
        ),
    }
}
