//! The launch order for a shell. Its commands get the variables that a kernel in the same folder would get.

use std::path::{Path, PathBuf};

use cellist_kernel::environment::{Filtered, filter, for_interpreter};
use cellist_kernel::order::{KernelSurroundings, Order, Way};
use cellist_platform::Variables;
use cellist_platform::aside::aside;
use cellist_settings::{Home, Settings};

use super::{CannotOrder, ClientEnvironment, FoundSoftware};

/// A launch order for a shell.
#[derive(Clone, Debug)]
pub struct ShellOrder {
    /// The order.
    pub order: Order,
    /// Settings of the working folder.
    pub settings: Settings,
    /// Whether a Python was found for the folder.
    pub has_python: bool,
}

/// Writes the order for a shell in a folder, on a separate thread. Starts nothing.
pub async fn shell(
    environment: &ClientEnvironment,
    home: &Home,
    cwd: PathBuf,
) -> Result<ShellOrder, CannotOrder> {
    let (environment, home) = (environment.clone(), home.clone());
    let looked = aside(move || {
        let resolved = environment.settings(&home, &cwd)?;
        let found = FoundSoftware::pythons(&environment, &home, vec![cwd.clone()]);
        let Filtered { mut variables, mut removed } =
            filter(&found.variables, &environment.passes(&resolved.settings));
        removed.extend(environment.withheld.iter().cloned());
        if let Some(interpreter) = found.interpreter() {
            variables = for_interpreter(variables, interpreter);
        }
        let program = program(&variables).ok_or(CannotOrder::NoShell)?;
        let order = Order {
            environment: variables.into_list(),
            around: KernelSurroundings { hidden_variables: removed, has_pip: false },
            inherits_bridge: resolved.settings.bridge.inherit,
            notices: resolved.notices,
            ..Order::new(Way::Shell { program }, cwd)
        };
        let has_python = environment.is_elsewhere() || found.interpreter().is_some();
        Ok(ShellOrder { order, settings: resolved.settings, has_python })
    });
    looked.await.map_err(|_| CannotOrder::Lost)?
}

/// Finds bash, or else sh.
fn program(variables: &Variables) -> Option<PathBuf> {
    let mut folders = variables.path_folders();
    folders.extend(["/bin", "/usr/bin"].map(PathBuf::from));
    let find = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|path| Path::is_file(path));
    find("bash").or_else(|| find("sh"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_shell_gets_the_variables_of_a_kernel_and_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let variables = [("PATH", "/nowhere"), ("OPENAI_API_KEY", "k"), ("OTHER", "o"), ("PI_MARK", "m")];
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let environment = ClientEnvironment { variables, ..ClientEnvironment::default() };
        let ShellOrder { order, has_python, .. } =
            shell(&environment, &home, folder.path().to_owned()).await.unwrap();
        assert!(!has_python && order.around.hidden_variables.contains("OPENAI_API_KEY"));
        let names: Vec<_> = order.environment.iter().map(|(name, _)| name.to_string_lossy()).collect();
        assert_eq!(names, ["PATH", "PI_MARK"]);
        assert!(matches!(order.way, Way::Shell { program } if program.is_file()));
    }
}
