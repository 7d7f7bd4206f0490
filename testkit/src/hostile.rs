//! A Jupyter kernel that completes the ZeroMQ greeting and then breaks the protocol.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// A kernelspec called `hostile`. Its process does nothing. This process serves the kernel's
/// sockets, so that an attack continues after the kernel is killed.
pub struct HostileKernel {
    folder: PathBuf,
}

impl HostileKernel {
    /// A kernel with its files in a folder.
    pub fn new(folder: &Path) -> HostileKernel {
        let spec = folder.join("kernels/hostile");
        fs::create_dir_all(&spec).expect("the folder can be written");
        let start = format!(
            "cp \"$0\" '{0}.new' && mv '{0}.new' '{0}'; exec sleep 1000",
            connection(folder).display()
        );
        let argv = ["sh", "-c", &start, "{connection_file}"];
        let spec_text = json!({ "argv": argv, "display_name": "Hostile", "language": "hostile" });
        fs::write(spec.join("kernel.json"), spec_text.to_string()).expect("the folder can be written");
        HostileKernel { folder: folder.to_owned() }
    }

    /// The value of `JUPYTER_PATH` for this kernel.
    pub fn jupyter_path(&self) -> &Path {
        &self.folder
    }

    /// Serves the sockets of the next kernel. Each connection is greeted and then passed to
    /// `attack`.
    pub fn serve(&self, attack: impl Fn(&mut UnixStream) + Clone + Send + 'static) {
        let file = connection(&self.folder);
        thread::spawn(move || {
            let text = loop {
                match fs::read(&file) {
                    Ok(text) => break text,
                    Err(_) => thread::sleep(Duration::from_millis(1)),
                }
            };
            fs::remove_file(&file).expect("it was there");
            let connection: Value = serde_json::from_slice(&text).expect("a connection file is JSON");
            let prefix = connection["ip"].as_str().expect("a connection has an address");
            for name in ["shell", "iopub", "stdin", "control", "hb"] {
                let socket = format!("{prefix}-{}", connection[format!("{name}_port")]);
                let listener = UnixListener::bind(socket).expect("no kernel is at this socket");
                let attack = attack.clone();
                thread::spawn(move || {
                    for stream in listener.incoming() {
                        let attack = attack.clone();
                        thread::spawn(move || {
                            let mut stream = stream.expect("a client connected");
                            // The client may disconnect at any moment.
                            if greet_as_zmq(&mut stream).is_ok() {
                                attack(&mut stream);
                            }
                        });
                    }
                });
            }
        });
    }
}

fn connection(folder: &Path) -> PathBuf {
    folder.join("connection.json")
}

/// Sends the greeting of a publishing ZeroMQ socket.
///
/// # Errors
///
/// If the client disconnects.
pub fn greet_as_zmq(stream: &mut (impl Read + Write)) -> io::Result<()> {
    let mut greeting = [0; 64];
    (greeting[0], greeting[9], greeting[10]) = (0xff, 0x7f, 3);
    greeting[12..16].copy_from_slice(b"NULL");
    stream.write_all(&greeting)?;
    stream.read_exact(&mut greeting)?;
    stream.write_all(b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03PUB")
}
