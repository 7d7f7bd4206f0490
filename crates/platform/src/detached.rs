//! A process that outlives the one that starts it and has nothing of it: a session of its own, the folder `/`, the
//! environment it is given, and no descriptor but the standard ones.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use process_wrap::tokio::{CommandWrap, CommandWrapper, ProcessSession};
use tokio::process::Command;

use crate::fault::{self, Site};

/// The arguments. Nothing else of ours reaches it.
#[derive(Debug)]
pub struct Detached {
    /// The program, by its path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Standard input.
    pub stdin: Stdio,
    /// Standard output.
    pub stdout: Stdio,
    /// Standard error.
    pub stderr: Stdio,
}

impl Detached {
    /// Starts it. Dropping the child leaves it alone; a process that lives on waits for it, so that it is reaped.
    pub fn spawn(self) -> io::Result<Child> {
        let Detached { program, arguments, environment, stdin, stdout, stderr } = self;
        // Each time anew: a descriptor closed here would otherwise stay open while the child lives.
        close_fds::set_fds_cloexec(3, &[]);
        let mut command = Command::new(&program);
        command
            .args(arguments)
            .env_clear()
            .envs(environment)
            .current_dir("/")
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr);
        ProcessSession.pre_spawn(&mut command, &CommandWrap::from(Command::new(&program)))?;
        fault::process(Site::DetachedProcess, &mut command.into_std())
    }
}
