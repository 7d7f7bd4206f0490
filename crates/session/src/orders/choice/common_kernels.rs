//! Common kernels of other languages, with their installation commands.

/// A kernel of another language.
pub(super) struct CommonKernel {
    prefix: &'static str,
    pub(super) language: &'static str,
    installation: &'static str,
}

/// `PY` stands for the interpreter.
const COMMON: &[CommonKernel] = &[
    CommonKernel {
        prefix: "ir",
        language: "R",
        installation: "R -e 'install.packages(\"IRkernel\"); IRkernel::installspec()'",
    },
    CommonKernel {
        prefix: "julia",
        language: "julia",
        installation: "julia -e 'using Pkg; Pkg.add(\"IJulia\")'",
    },
    CommonKernel {
        prefix: "bash",
        language: "bash",
        installation: "PY -m pip install bash_kernel && PY -m bash_kernel.install",
    },
    CommonKernel { prefix: "deno", language: "typescript", installation: "deno jupyter --install" },
    CommonKernel {
        prefix: "javascript",
        language: "javascript",
        installation: "npm install -g ijavascript && ijsinstall",
    },
    CommonKernel {
        prefix: "rust",
        language: "rust",
        installation: "cargo install evcxr_jupyter && evcxr_jupyter --install",
    },
    CommonKernel {
        prefix: "gophernotes",
        language: "go",
        installation: "go install github.com/janpfeifer/gonb@latest && gonb --install",
    },
    CommonKernel { prefix: "octave", language: "octave", installation: "PY -m pip install octave_kernel" },
    CommonKernel { prefix: "xcpp", language: "c++", installation: "conda install -c conda-forge xeus-cling" },
    CommonKernel {
        prefix: "sos",
        language: "sos",
        installation: "PY -m pip install sos-notebook && PY -m sos_notebook.install",
    },
    CommonKernel { prefix: "ruby", language: "ruby", installation: "gem install iruby && iruby register" },
    CommonKernel { prefix: "scala", language: "scala", installation: "coursier launch almond -- --install" },
];

/// Finds a common kernel by the name of its kernelspec.
pub(super) fn known_kernel(name: &str) -> Option<&'static CommonKernel> {
    let name = name.to_ascii_lowercase();
    COMMON.iter().find(|known| {
        name.strip_prefix(known.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    })
}

/// Explains how to install a missing kernel.
pub(super) fn installation(kernel: &str, language: Option<&str>, python: &str) -> String {
    let by_language = || {
        let language = language?;
        COMMON.iter().find(|known| known.language.eq_ignore_ascii_case(language))
    };
    match known_kernel(kernel).or_else(by_language) {
        Some(known) => format!("install it: {}", known.installation.replace("PY", python)),
        None => format!(
            "install a Jupyter kernel for {}; `cellist kernels` lists the installed ones",
            language.unwrap_or("it")
        ),
    }
}
