//! Instructions for a model: files with a header that says for which mode they are, ours and the user's own.

mod file;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::mode::Mode;
use crate::offer::Offer;
use crate::tool::ToolName;

use file::PromptFile;
pub use file::{BadPrompt, Flaw};

/// The folder of the user's own files, within the state folder.
pub const FOLDER: &str = "prompts";

/// The files that come with the program.
const OURS: [(&str, &str); 2] = [
    ("notebook-mode-agent.md", include_str!("../prompts/notebook-mode-agent.md")),
    ("notebook-mode-readonly.md", include_str!("../prompts/notebook-mode-readonly.md")),
];

/// Stands for the list of tools in a file that comes with the program.
const TOOLS: &str = "{tools}";

/// All prompt files, in their order.
#[derive(Clone, Debug)]
pub struct Prompts(Vec<PromptFile>);

/// A file that a prompt was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Used {
    /// Its name.
    pub name: String,
    /// Where it is; nothing where it comes with the program.
    pub path: Option<PathBuf>,
    /// What it says of itself.
    pub description: String,
    /// Its place among the others.
    pub order: i64,
}

impl Prompts {
    /// Those that come with the program.
    pub fn ours() -> Prompts {
        let files = OURS.map(|(name, text)| {
            let mut file = PromptFile::parse(name, None, text).expect("a test reads each of them");
            file.body = file.body.replace(TOOLS, &tool_lines(file.modes[0]));
            file
        });
        Prompts(files.into()).sorted()
    }

    /// With the user's own: a file of the same name takes the place of ours. No such folder means none.
    pub fn with_folder(folder: &Path) -> Result<Prompts, BadPrompt> {
        Ok(Prompts::ours().over(file::in_folder(folder)?))
    }

    /// With others besides, such as those of a project: a file takes the place of one of the same name.
    pub fn with_files(self, paths: &[PathBuf]) -> Result<Prompts, BadPrompt> {
        let files = paths.iter().map(|path| file::read(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.over(files))
    }

    /// The instructions for a mode, and the files that they come from.
    pub fn for_mode(&self, mode: Mode) -> (String, Vec<Used>) {
        let chosen: Vec<&PromptFile> = self.0.iter().filter(|file| file.modes.contains(&mode)).collect();
        let text = chosen.iter().map(|file| file.body.trim()).collect::<Vec<_>>().join("\n\n");
        let used = |file: &&PromptFile| Used {
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

/// The tools for notebooks of a mode, a line each.
fn tool_lines(mode: Mode) -> String {
    let line = |tool: ToolName| format!("- `{tool}`: {}", tool.in_mode(mode).facts.prompt);
    Offer::new(mode, true).notebook_tools().into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_has_its_file() {
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
        Offer::new(mode, true).notebook_tools()
    }

    #[test]
    fn a_users_file_takes_the_place_of_ours_or_stands_beside_it() {
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
