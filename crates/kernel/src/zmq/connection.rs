//! The connection file: the addresses of a kernel's five sockets and the key that signs its messages; and the private folder in
//! which both stay for as long as the kernel lives.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::jupyter::lane::Channel;
use crate::jupyter::message::random_hex;

const SCHEME: &str = "hmac-sha256";

/// A socket path must fit into 108 bytes with the NUL behind it, on some systems into 104.
const LONGEST_SOCKET_PATH: usize = 103;

/// The content of a connection file, field by field as Jupyter writes it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ConnectionFile {
    #[serde(default = "tcp")]
    transport: String,
    ip: String,
    shell_port: u16,
    iopub_port: u16,
    stdin_port: u16,
    control_port: u16,
    hb_port: u16,
    #[serde(default)]
    pub(super) key: String,
    #[serde(default = "scheme")]
    signature_scheme: String,
    #[serde(default)]
    pub(super) kernel_name: String,
    #[serde(default, skip_serializing)]
    curve_publickey: Option<String>,
}

fn tcp() -> String {
    "tcp".into()
}

fn scheme() -> String {
    SCHEME.into()
}

/// Where a socket is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    File(PathBuf),
    Port(String, u16),
}

impl Place {
    /// The same place as some kernels write it, which join a folder and a number as if they were a host and a port.
    pub(super) fn other_spelling(&self) -> Option<Place> {
        match self {
            Place::File(path) => {
                let (prefix, number) = path.to_str()?.rsplit_once('-')?;
                Some(Place::File(format!("{prefix}:{number}").into()))
            }
            Place::Port(..) => None,
        }
    }
}

impl ConnectionFile {
    /// Reads the file of a kernel that runs already; says which kind we cannot talk to.
    pub(super) fn read(file: &Path) -> Result<ConnectionFile> {
        let text = fs::read(file)
            .map_err(|source| Error::Io { what: format!("{} cannot be read", file.display()), source })?;
        Self::parse(&text).map_err(|refusal| match refusal {
            Refusal::NotOne(why) => Error::Unsupported {
                message: format!("{} is not a connection file: {why}", file.display()),
                hint: Some(
                    "a running kernel prints its path; `jupyter --runtime-dir` says where they are".into(),
                ),
            },
            Refusal::Encrypted => Error::Unsupported {
                message: format!("the kernel of {} is encrypted with CURVE", file.display()),
                hint: Some("start it without encryption, or join it through its Jupyter server".into()),
            },
            Refusal::Scheme(scheme) => Error::Unsupported {
                message: format!(
                    "{} asks for signatures by {scheme}; only {SCHEME} is known",
                    file.display()
                ),
                hint: None,
            },
            Refusal::Transport(transport) => Error::Unsupported {
                message: format!(
                    "{} asks for transport {transport}; only tcp and ipc are known",
                    file.display()
                ),
                hint: None,
            },
        })
    }

    fn parse(text: &[u8]) -> std::result::Result<ConnectionFile, Refusal> {
        let connection: ConnectionFile =
            serde_json::from_slice(text).map_err(|error| Refusal::NotOne(error.to_string()))?;
        if connection.curve_publickey.as_deref().is_some_and(|key| !key.is_empty()) {
            return Err(Refusal::Encrypted);
        }
        if !connection.key.is_empty() && connection.signature_scheme != SCHEME {
            return Err(Refusal::Scheme(connection.signature_scheme));
        }
        match connection.transport.as_str() {
            "tcp" | "ipc" => Ok(connection),
            _ => Err(Refusal::Transport(connection.transport)),
        }
    }

    pub(super) fn place(&self, channel: Channel) -> Place {
        let port = match channel {
            Channel::Shell => self.shell_port,
            Channel::Iopub => self.iopub_port,
            Channel::Stdin => self.stdin_port,
            Channel::Control => self.control_port,
            Channel::Heartbeat => self.hb_port,
        };
        match self.transport.as_str() {
            "ipc" => Place::File(format!("{}-{port}", self.ip).into()),
            // A kernel that listens everywhere is reached here.
            _ if ["0.0.0.0", "*", "localhost"].contains(&self.ip.as_str()) => {
                Place::Port("127.0.0.1".into(), port)
            }
            _ => Place::Port(self.ip.clone(), port),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    NotOne(String),
    Encrypted,
    Scheme(String),
    Transport(String),
}

/// The addresses that a kernel listens on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Files that only we can reach.
    Files,
    /// Local ports: every kernel knows them.
    Ports,
}

/// A private folder with the connection file of one kernel process; removed with all in it when dropped.
pub(super) struct Private {
    pub(super) connection: ConnectionFile,
    pub(super) file: PathBuf,
    folders: Vec<PathBuf>,
    guard: Guard,
}

impl Private {
    /// Makes the folder under `runtime_dir` and writes the file. Sockets that are to be files stay in it where
    /// their paths are short enough, else in a private folder below `/tmp`, else they are local ports.
    pub(super) fn create(
        runtime_dir: &Path,
        sockets: Sockets,
        kernel_name: &str,
        guard: &Guard,
    ) -> Result<Private> {
        let failed = |source| Error::Io { what: format!("{} cannot be used", runtime_dir.display()), source };
        DirBuilder::new().recursive(true).mode(0o700).create(runtime_dir).map_err(failed)?;
        let mut folders = vec![private_folder(runtime_dir, guard).map_err(failed)?];
        let prefix = match (sockets, socket_prefix(&folders[0])) {
            (Sockets::Ports, _) => None,
            (Sockets::Files, Some(prefix)) => Some(prefix),
            (Sockets::Files, None) => {
                let short = private_folder(Path::new("/tmp"), guard).ok();
                let prefix = short.as_deref().and_then(socket_prefix);
                folders.extend(short);
                prefix
            }
        };
        let file = folders[0].join("connection.json");
        let mut private =
            Private { connection: ConnectionFile::none(kernel_name), file, folders, guard: guard.clone() };
        private.connection.key = random_hex(32).map_err(failed)?;
        match prefix {
            Some(prefix) => private.connection.use_files(prefix),
            None => private.connection.use_free_ports().map_err(failed)?,
        }
        private.write().map_err(failed)?;
        Ok(private)
    }

    /// Where signs for the kernel are left: a file of this name, a dash and a number.
    pub(super) fn heard(&self) -> PathBuf {
        self.folders[0].join("heard")
    }

    fn write(&self) -> io::Result<()> {
        let json = serde_json::to_vec_pretty(&self.connection)?;
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.file)?.write_all(&json)
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        for folder in &self.folders {
            let _ = fs::remove_dir_all(folder);
            self.guard.remove_path(folder);
        }
    }
}

impl ConnectionFile {
    fn none(kernel_name: &str) -> ConnectionFile {
        ConnectionFile {
            transport: tcp(),
            ip: "127.0.0.1".into(),
            shell_port: 0,
            iopub_port: 0,
            stdin_port: 0,
            control_port: 0,
            hb_port: 0,
            key: String::new(),
            signature_scheme: scheme(),
            kernel_name: kernel_name.to_owned(),
            curve_publickey: None,
        }
    }

    fn use_files(&mut self, prefix: String) {
        self.transport = "ipc".into();
        self.ip = prefix;
        self.set_ports([1, 2, 3, 4, 5]);
    }

    fn use_free_ports(&mut self) -> io::Result<()> {
        // All are held until all are known, so that no two are the same.
        let held: Vec<TcpListener> =
            (0..5).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<io::Result<_>>()?;
        let mut ports = [0; 5];
        for (port, listener) in ports.iter_mut().zip(&held) {
            *port = listener.local_addr()?.port();
        }
        self.set_ports(ports);
        Ok(())
    }

    fn set_ports(&mut self, [shell, iopub, stdin, control, heartbeat]: [u16; 5]) {
        self.shell_port = shell;
        self.iopub_port = iopub;
        self.stdin_port = stdin;
        self.control_port = control;
        self.hb_port = heartbeat;
    }
}

/// A new folder that only we may look into.
fn private_folder(parent: &Path, guard: &Guard) -> io::Result<PathBuf> {
    // The guard works from another folder.
    let folder = parent.canonicalize()?.join(format!("k{}", random_hex(5)?));
    // Before it is there, so that none is left behind by an owner that is killed in between.
    guard.add_path(&folder);
    DirBuilder::new().mode(0o700).create(&folder).inspect_err(|_| guard.remove_path(&folder))?;
    Ok(folder)
}

/// The prefix of the sockets' paths, where they are short enough and can be written into JSON.
fn socket_prefix(folder: &Path) -> Option<String> {
    let prefix = folder.join("s");
    let longest = prefix.as_os_str().as_bytes().len() + "-5".len();
    (longest <= LONGEST_SOCKET_PATH).then(|| prefix.to_str().map(str::to_owned))?
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use testkit::Scratch;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_file_and_its_folder_are_private_and_go_away() {
        let scratch = Scratch::new();
        let private =
            Private::create(&scratch.path().join("run"), Sockets::Files, "python3", &Guard::none()).unwrap();
        assert_eq!(mode(&private.file), 0o600);
        assert_eq!(mode(private.file.parent().unwrap()), 0o700);
        assert_eq!(private.connection.key.len(), 64);
        let read = ConnectionFile::read(&private.file).unwrap();
        assert_eq!(read.kernel_name, "python3");
        let folder = private.folders[0].clone();
        assert_eq!(read.place(Channel::Iopub), Place::File(folder.join("s-2")));
        drop(private);
        assert!(!folder.exists());
    }

    #[test]
    fn sockets_move_to_a_short_place_when_the_folder_s_path_is_long() {
        let scratch = Scratch::new();
        let private =
            Private::create(&scratch.path().join("x".repeat(120)), Sockets::Files, "python3", &Guard::none())
                .unwrap();
        let Place::File(path) = private.connection.place(Channel::Shell) else { panic!("not a file") };
        assert!(path.starts_with("/tmp") && path.as_os_str().len() < 40);
        let folder = path.parent().unwrap().to_owned();
        assert_eq!(mode(&folder), 0o700);
        drop(private);
        assert!(!folder.exists());
    }

    #[test]
    fn free_ports_are_five_different_ones() {
        let mut connection = ConnectionFile::none("x");
        connection.use_free_ports().unwrap();
        let channels = [Channel::Shell, Channel::Iopub, Channel::Stdin, Channel::Control, Channel::Heartbeat];
        let ports: std::collections::BTreeSet<String> =
            channels.map(|channel| format!("{:?}", connection.place(channel))).into();
        assert_eq!(ports.len(), 5);
    }

    #[test]
    fn a_file_of_another_kind_is_refused_by_name() {
        let refusal = |change: &str| {
            let text = r#"{"ip":"127.0.0.1","transport":"tcp","shell_port":1,"iopub_port":2,"stdin_port":3,
                "control_port":4,"hb_port":5,"key":"k","signature_scheme":"hmac-sha256"}"#;
            let mut json: serde_json::Value = serde_json::from_str(text).unwrap();
            let change: serde_json::Map<String, serde_json::Value> = serde_json::from_str(change).unwrap();
            json.as_object_mut().unwrap().extend(change);
            ConnectionFile::parse(json.to_string().as_bytes()).err()
        };
        assert_eq!(refusal("{}"), None);
        assert_eq!(
            refusal(r#"{"curve_publickey":"rq:rM>","curve_secretkey":"x"}"#),
            Some(Refusal::Encrypted)
        );
        assert_eq!(refusal(r#"{"signature_scheme":"hmac-md5"}"#), Some(Refusal::Scheme("hmac-md5".into())));
        assert_eq!(refusal(r#"{"transport":"pgm"}"#), Some(Refusal::Transport("pgm".into())));
        assert!(matches!(refusal(r#"{"shell_port":"x"}"#), Some(Refusal::NotOne(_))));
    }

    #[test]
    fn a_socket_file_may_be_named_in_two_ways() {
        let file = |path: &str| Place::File(path.into());
        assert_eq!(file("/run/a-b/s-3").other_spelling(), Some(file("/run/a-b/s:3")));
        assert_eq!(Place::Port("::1".into(), 3).other_spelling(), None);
    }
}
