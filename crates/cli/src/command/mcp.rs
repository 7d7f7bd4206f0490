//! `cellist mcp`: the tools for agents, over the Model Context Protocol.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use cellist_serve::mcp::{
    CellistSource, HttpAccess, McpServer, ServiceLocation, listen, prompts, serve_stdio,
};
use cellist_session::execution::Cancel;
use cellist_settings::{Home, Resolved};
use cellist_tools::prompt::Prompts;
use cellist_tools::redaction::Redaction;
use cellist_tools::{Caller, Mode, ToolSet};
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::command::exec::working_folder;
use crate::editor::mode;
use crate::error::{CliError, Exit, FailureKind, reason};
use crate::host;
use crate::kernel::KernelFlags;
use crate::notebook_access::files;
use crate::output::{CommandOutput, print_to_stderr};
use crate::signals;

/// The variable with the token that clients over HTTP have to show.
const TOKEN: &str = "CELLIST_MCP_TOKEN";

/// Serve tools for agents over MCP, on standard input and output or over HTTP
///
/// Agents name notebooks by path, below the current folder and the folders in tools.roots. Code runs in the host,
/// which is started if necessary. Kernels and open notebooks are shared with people and other programs, and
/// outlive the agent. docs/agents.md has configurations for many clients.
///
/// In ask mode, agents only read. In edit mode, they also change files other than notebooks (with --tools all).
/// In agent mode, they can use all their tools. Only the tools available in the mode are listed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist mcp
  cellist mcp --mode ask --attach analysis.ipynb
  cellist mcp --http 127.0.0.1:8642")]
pub(crate) struct McpArgs {
    /// The agents' mode: ask, edit or agent
    #[arg(long, value_name = "MODE", default_value = "agent", value_parser = mode)]
    mode: Mode,
    /// The tools to offer
    #[arg(long, value_enum, value_name = "SET", default_value = "notebook")]
    tools: ToolSetFlag,
    /// A default notebook for tool calls that name none; may be repeated
    #[arg(long, value_name = "NB", num_args = 1..)]
    attach: Vec<PathBuf>,
    /// The agents' working folder [default: the current folder]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Work on a notebook only while it is attached and in the active editor
    #[arg(long)]
    require_active: bool,
    /// Serve over HTTP at a loopback address such as 127.0.0.1:8642, or at a port. Clients send the token in
    /// CELLIST_MCP_TOKEN; without it, a token is generated and printed
    #[arg(long, value_name = "ADDR", value_parser = address)]
    http: Option<SocketAddr>,
    /// Do not use the host: kernels end with the command
    #[arg(long)]
    standalone: bool,
    #[command(flatten)]
    flags: KernelFlags,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ToolSetFlag {
    /// Tools for notebooks and for running code
    Notebook,
    /// All tools, including a shell and tools for any file
    All,
}

pub(crate) fn serve_mcp(arguments: McpArgs) -> Result<CommandOutput, CliError> {
    let cwd = working_folder(arguments.cwd.as_deref())?;
    let settings = arguments.flags.settings(&cwd)?;
    let caller = arguments.caller(cwd, &settings)?;
    let (prompts, said) = prompts(&Home::from_env(), &settings.prompts);
    said.iter().for_each(|said| print_to_stderr(&format!("note: {said}")));
    let serving = async {
        let (reach, here) = if arguments.standalone {
            let service = host::service_here(&settings.settings).await;
            (ServiceLocation::Here(Box::new(service.clone())), Some(service))
        } else {
            (ServiceLocation::Host { host: host::user_host(), starter: host::starter()? }, None)
        };
        let serving = async {
            match arguments.http {
                Some(address) => over_http(address, CellistSource::for_many(caller, reach, &prompts)).await,
                None => on_streams(caller, reach, &prompts).await,
            }
        };
        let (canceller, mut cancel) = Cancel::channel();
        signals::cancel_on_signals(&canceller);
        let served = tokio::select! {
            served = serving => served.map(|()| Exit::Done),
            () = cancel.asked() => Ok(Exit::Interrupted),
        };
        if let Some(service) = here {
            service.close().await;
        }
        served
    };
    let exit = host::block_on(serving)?;
    Ok(CommandOutput::new("", Value::Object(Default::default())).with_exit(exit))
}

async fn on_streams(caller: Caller, reach: ServiceLocation, prompts: &Prompts) -> Result<(), CliError> {
    let gone = Arc::default();
    let product = CellistSource::for_one(caller, reach, prompts, Arc::clone(&gone));
    serve_stdio(McpServer(product), gone).await.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => CliError::new(FailureKind::System, Exit::NoKernel, error.to_string()),
        _ => CliError::input(FailureKind::Protocol, format!("the client does not speak MCP: {error}"))
            .with_hint("MCP clients start this command; see docs/agents.md"),
    })
}

async fn over_http(address: SocketAddr, product: CellistSource) -> Result<(), CliError> {
    let failed = |error: std::io::Error| {
        let message = format!("cannot serve at {address}: {}", reason(&error));
        CliError::new(FailureKind::CannotListen, Exit::NoKernel, message)
            .with_hint("stop the program that uses it, or pass another port; 0 picks a free one")
    };
    let given = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
    let is_made = given.is_none();
    let token = match given {
        Some(token) => token,
        None => cellist_serve::random().map_err(failed)?,
    };
    let door = HttpAccess { token: Some(token.clone()) };
    let listening = listen(address, door, move || McpServer(product.another())).await.map_err(failed)?;
    print_to_stderr(&format!("MCP at {}", listening.url()));
    if is_made {
        print_to_stderr(&format!("Authorization: Bearer {token}"));
    }
    listening.run().await;
    Ok(())
}

impl McpArgs {
    /// Agents, as they are set up here.
    fn caller(&self, cwd: PathBuf, settings: &Resolved) -> Result<Caller, CliError> {
        let real = |path: &PathBuf| match files::check_look(path).map(|()| fs::canonicalize(path))? {
            Ok(real) if real.is_file() && real.extension().is_some_and(|ending| ending == "ipynb") => {
                Ok(real)
            }
            Ok(real) => {
                let what = if real.is_dir() { "is a folder" } else { "is not a notebook" };
                Err(CliError::input(FailureKind::NotANotebook, format!("{}: {what}", path.display()))
                    .with_hint("attach a file whose name ends in .ipynb"))
            }
            Err(error) => Err(CliError::unreadable(path, &error)
                .with_hint("check the path; agents can create notebooks with create_notebook")),
        };
        let mut environment = self.flags.environment();
        let (tool_mode, notices) = environment.tool_mode(&Home::from_env(), &cwd, &settings.settings);
        notices.iter().for_each(|notice| print_to_stderr(&format!("note: {notice}")));
        // Secrets stay in this process.
        let mut redaction = Redaction::default();
        redaction.withhold_from(&mut environment, &settings.settings);
        Ok(Caller {
            name: "agent".into(),
            session: String::new(),
            mode: self.mode,
            tools: match self.tools {
                ToolSetFlag::Notebook => ToolSet::Notebook,
                ToolSetFlag::All => ToolSet::All,
            },
            tool_mode,
            roots: settings.settings.tools.roots.iter().map(|root| cwd.join(root)).collect(),
            cwd,
            requires_active: self.require_active,
            is_shared: false,
            front: None,
            excluded: settings.settings.chat.exclude.clone(),
            allowed: settings.settings.tools.allow_writes.clone(),
            attached: self.attach.iter().map(real).collect::<Result<_, _>>()?,
            environment,
            redaction,
        })
    }
}

/// An address, or a port of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let named = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let named = named.as_deref().unwrap_or(text);
    let address: SocketAddr =
        named.parse().map_err(|_| "expected an address and port, such as 127.0.0.1:8642".to_owned())?;
    if !address.ip().is_loopback() {
        return Err("not a loopback address; use 127.0.0.1 and a tunnel".into());
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_this_machine() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(address(text).ok(), expected.map(|address| address.parse().unwrap()), "{text}");
        };
        check("127.0.0.1:8642", Some("127.0.0.1:8642"));
        check("8642", Some("127.0.0.1:8642"));
        check(":0", Some("127.0.0.1:0"));
        check("localhost:80", Some("127.0.0.1:80"));
        check("[::1]:80", Some("[::1]:80"));
        check("0.0.0.0:80", None);
        check("192.168.1.2:80", None);
        check("example.org:80", None);
        check("127.0.0.1", None);
    }
}
