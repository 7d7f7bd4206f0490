//! Prompts for a model: built-in and user files, each with a header that names its modes.

mod file;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::mode::Mode;
use crate::offer::ToolOffer;
use crate::tool::ToolName;

use file::PromptFile;
pub use file::{BadPrompt, PromptFlaw};

/// The folder of the user's prompts, in the state folder.
pub const FOLDER: &str = "prompts";

/// The built-in files.
const OURS: [(&str, &str); 2] = [
    ("notebook-mode-agent.md", include_str!("../prompts/notebook-mode-agent.md")),
    ("notebook-mode-readonly.md", include_str!("../prompts/notebook-mode-readonly.md")),
];

/// The placeholder for the list of tools in a built-in file.
const TOOLS: &str = "{tools}";

/// All prompt files, in order.
#[derive(Clone, Debug)]
pub struct Prompts(Vec<PromptFile>);

/// A file that is part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromptSource {
    /// The file name.
    pub name: String,
    /// The path; `None` for a built-in file.
    pub path: Option<PathBuf>,
    /// The description in the header.
    pub description: String,
    /// The sort key in the header.
    pub order: i64,
}

impl Prompts {
    /// Loads the built-in files.
    pub fn ours() -> Prompts {
        let files = OURS.map(|(name, text)| {
            let mut file = PromptFile::parse(name, None, text).expect("a test reads each of them");
            file.body = file.body.replace(TOOLS, &tool_lines(file.modes[0]));
            file
        });
        Prompts(files.into()).sorted()
    }

    /// Loads the built-in files and those of a folder. A user file replaces the built-in file of
    /// the same name. A missing folder has no files.
    pub fn with_folder(folder: &Path) -> Result<Prompts, BadPrompt> {
        Ok(Prompts::ours().over(file::in_folder(folder)?))
    }

    /// Adds files, such as those of a project. A file replaces one of the same name.
    pub fn with_files(self, paths: &[PathBuf]) -> Result<Prompts, BadPrompt> {
        let files = paths.iter().map(|path| file::read(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.over(files))
    }

    /// Returns the prompt of a mode, and the files that it is made of.
    pub fn for_mode(&self, mode: Mode) -> (String, Vec<PromptSource>) {
        let chosen: Vec<&PromptFile> = self.0.iter().filter(|file| file.modes.contains(&mode)).collect();
        let text = chosen.iter().map(|file| file.body.trim()).collect::<Vec<_>>().join("\n\n");
        let used = |file: &&PromptFile| PromptSource {
            name: file.name.clone(),
            path: file.path.clone(),
            description: file.description.clone(),
            order: file.order,
        };
        (text, chosen.iter().map(used).collect())
    }

    fn over(mut self, others: Vec<PromptFile>) -> Prompts {
        for file in others {
            self.0.retain(|known| known.name != file.name);
            self.0.push(file);
        }
        self.sorted()
    }

    fn sorted(mut self) -> Prompts {
        self.0.sort_by(|one, other| (one.order, &one.name).cmp(&(other.order, &other.name)));
        self
    }
}

/// Lists the notebook tools of a mode, one line each.
fn tool_lines(mode: Mode) -> String {
    let line = |tool: ToolName| format!("- `{tool}`: {}", tool.in_mode(mode).facts.prompt);
    ToolOffer::new(mode, true).notebook_tools().into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_has_a_built_in_file() {
        let names = |mode| {
            let (_, used) = Prompts::ours().for_mode(mode);
            used.into_iter().map(|file| (file.name, file.order)).collect::<Vec<_>>()
        };
        let readonly = vec![("notebook-mode-readonly.md".to_owned(), 80)];
        assert_eq!(names(Mode::Ask), readonly);
        assert_eq!(names(Mode::Edit), readonly);
        assert_eq!(names(Mode::Agent), [("notebook-mode-agent.md".to_owned(), 80)]);
    }

    #[test]
    fn a_prompt_names_the_tools_for_notebooks_of_its_mode_and_no_other_tool() {
        for mode in Mode::ALL {
            let (text, _) = Prompts::ours().for_mode(mode);
            let mut named: Vec<ToolName> = text.split('`').filter_map(ToolName::from_name).collect();
            named.dedup();
            assert_eq!(named, in_reading_order(mode), "{mode}");
        }
    }

    fn in_reading_order(mode: Mode) -> Vec<ToolName> {
        ToolOffer::new(mode, true).notebook_tools()
    }

    #[test]
    fn a_user_file_replaces_or_joins_the_built_in_ones() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("notebook-mode-agent.md", "---\ndescription: mine\nmode: agent\norder: 80\n---\nMine.\n");
        write("first.md", "---\ndescription: manners\nmode: [ask, agent]\norder: 5\n---\nBe kind.\n");
        write("notes.txt", "not a prompt");
        let prompts = Prompts::with_folder(folder.path()).unwrap();
        let (text, used) = prompts.for_mode(Mode::Agent);
        assert_eq!(text, "Be kind.\n\nMine.");
        assert_eq!(used[0].path, Some(folder.path().join("first.md")));
        let (text, used) = prompts.for_mode(Mode::Ask);
        assert!(text.starts_with("Be kind.\n\n# Looking"));
        assert_eq!(used[1].path, None);
        assert!(Prompts::with_folder(&folder.path().join("none")).is_ok());
    }
}
