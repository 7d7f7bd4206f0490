//! The help of each command.

use insta::assert_snapshot;

use crate::desk::Desk;

const COMMANDS: &[&[&str]] = &[
    &[],
    &["run"],
    &["exec"],
    &["sessions"],
    &["sessions", "list"],
    &["sessions", "interrupt"],
    &["sessions", "restart"],
    &["sessions", "stop"],
    &["artifact"],
    &["artifact", "list"],
    &["artifact", "read"],
    &["open"],
    &["chat"],
    &["repl"],
    &["view"],
    &["mcp"],
    &["history"],
    &["undo"],
    &["kernels"],
    &["editor"],
    &["gateway"],
    &["context"],
    &["prompt"],
    &["serve"],
    &["status"],
    &["revoke"],
    &["stop"],
    &["settings"],
    &["trust"],
    &["doctor"],
    &["read"],
    &["write"],
    &["edit"],
    &["new"],
    &["cell"],
    &["cell", "edit"],
    &["cell", "insert"],
    &["cell", "delete"],
    &["cell", "move"],
    &["cell", "retype"],
    &["cell", "clear"],
    &["cell", "batch"],
    &["diff"],
    &["merge"],
    &["git-setup"],
    &["completions"],
];

#[test]
fn every_command_has_help_with_examples_that_fits_a_terminal() {
    let desk = Desk::new();
    for command in COMMANDS {
        for flag in ["-h", "--help"] {
            let help = desk.run(&[command, &[flag][..]].concat()).ok();
            assert_eq!(help.matches("Examples:").count(), 1, "{command:?} {flag}");
            for line in help.lines() {
                assert!(line.chars().count() < 80, "{command:?} {flag}: {line}");
            }
        }
        let help = desk.run(&[&["help"], *command].concat()).ok();
        assert_eq!(help, desk.run(&[command, &["--help"][..]].concat()).ok());
    }
}

#[test]
fn the_first_page_shows_what_there_is() {
    let desk = Desk::new();
    assert_snapshot!(desk.run(&["-h"]).ok(), @"
    Run, read, edit, diff and merge Jupyter notebooks, with live sessions shared by
    people and agents

    Usage: cellist [OPTIONS] <COMMAND>

    Commands:
      open         Open a notebook in the browser
      run          Run a notebook's cells in order and save their outputs
      exec         Run code on a new kernel or in a session
      repl         Start an interactive prompt in a session
      view         Show a notebook in the terminal and follow changes live
      chat         Chat with a model about a notebook
      sessions     List, interrupt, restart or stop the host's kernel sessions
      artifact     List and read artifacts: the full output of truncated results
      read         Print a notebook as cell-marked text, or any other file
      write        Write a notebook from cell-marked text
      edit         Replace one exact piece of a notebook's text
      new          Create an empty notebook
      cell         Change cells: edit, insert, delete, move, retype, clear, batch
      history      Show the recorded changes to a notebook and their authors,
                   newest first
      undo         Undo the last change to a notebook, or a whole turn
      diff         Show the differences between two notebooks, cell by cell
      merge        Merge two versions of a notebook (three-way, by cell)
      git-setup    Make git diff and merge notebooks by cell
      kernels      List the Pythons and Jupyter kernels that can run code
      editor       Tell agents which notebook is active in your editor
      gateway      Show, start or stop the shared Jupyter gateway
      context      Show the notebook context that agents receive
      prompt       Show the instructions that a model receives for a notebook
      mcp          Serve tools for agents over MCP, on standard input and output or
                   over HTTP
      serve        Run the host, which keeps sessions for all terminals and
                   programs
      status       Show whether the host is running, with its sessions and clients
      revoke       Sign a browser out of the page
      stop         Stop the host and all its sessions
      settings     List all settings, their values and their sources
      trust        Trust the .cellist folder of a project
      doctor       Check everything needed to run code, and suggest fixes
      completions  Print a shell completion script
      man          Print a manual page, or write all of them to a folder
      help         Print this message or the help of the given subcommand(s)

    Options:
          --json     Print one JSON object, also for errors
      -h, --help     Print help (see more with '--help')
      -V, --version  Print version

    Examples:
      cellist open nb.ipynb          open in the browser
      cellist chat nb.ipynb          chat with a model in the terminal
      cellist run nb.ipynb           run all cells and save their outputs
      cellist exec 'print(6 * 7)'    run a piece of code
      cellist read nb.ipynb          print as text
      cellist read nb.ipynb > t; cellist write nb.ipynb t
      cellist cell insert nb.ipynb end --source 'print(1)'
      cellist diff old.ipynb new.ipynb

    State is stored in ~/.cellist; set CELLIST_HOME to change that.
    Set CELLIST_AGENT=NAME to attribute changes to an agent, for review and undo.
    ");
    assert_eq!(desk.run(&[]).exit, 2);
    assert_eq!(desk.run(&["--version"]).ok(), concat!("cellist ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn the_help_of_single_commands() {
    let desk = Desk::new();
    assert_snapshot!(desk.run(&["read", "--help"]).ok(), @r"
    Print a notebook as cell-marked text, or any other file

    Each cell starts with a marker line such as `# %% [code] cell:3`, followed by
    its source. `cellist write` accepts this text. The revision that was read is
    remembered, so a later write can be merged with changes made in the meantime;
    --json prints the revision for --base.

    Usage: cellist read [OPTIONS] <PATH[:SELECTOR|#CELL]>

    Arguments:
      <PATH[:SELECTOR|#CELL]>
              A file or an artifact; append :LINES, :raw or #CELL to select a part

    Options:
          --outputs
              Show outputs below their cells, truncated if long; `write` rejects
              this text

          --standalone
              Use the file even if the notebook is open in the host

          --json
              Print one JSON object, also for errors

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      cellist read nb.ipynb               all cells
      cellist read nb.ipynb:12-40         a range of lines
      cellist read nb.ipynb:5-9,30-       several ranges; the last is open
      cellist read nb.ipynb#1a2b3c4d      one cell, by id or index
      cellist read nb.ipynb:raw           the JSON of the file
      cellist read --outputs nb.ipynb     cells with their outputs
      cellist read artifact://4t7wq2zn    an artifact; :100-200 selects lines
    ");
    assert_snapshot!(desk.run(&["write", "--help"]).ok(), @r"
    Write a notebook from cell-marked text

    The text has the format that `cellist read` prints. A marker with a number
    (`cell:3`) keeps that cell and gives it the source below. A marker without a
    number adds a cell. Cells without a marker are deleted. The order of the text
    becomes the order of the cells.

    Unchanged text leaves the file unchanged, byte for byte. A notebook that does
    not exist is created.

    With --base, text based on an older revision is merged with later changes to
    the file. Without it, a file that changed since it was last read is not
    written, and the exit status is 4.

    Usage: cellist write [OPTIONS] <NB[:raw]> [FILE]

    Arguments:
      <NB[:raw]>
              The notebook; append :raw for its JSON

      [FILE]
              A file with the text; by default, or with -, standard input

    Options:
          --base <REV>
              The revision that the text is based on

          --standalone
              Use the file even if the notebook is open in the host

          --json
              Print one JSON object, also for errors

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      cellist read nb.ipynb > t && $EDITOR t && cellist write nb.ipynb t
      printf '# %%%% [code]\nprint(1)\n' | cellist write new.ipynb
      cellist write nb.ipynb:raw nb.json     # replace the JSON
    ");
    assert_snapshot!(desk.run(&["edit", "-h"]).ok(), @r#"
    Replace one exact piece of a notebook's text

    Usage: cellist edit [OPTIONS] <NB[:raw]>

    Arguments:
      <NB[:raw]>  The notebook; append :raw for its JSON

    Options:
          --old <TEXT>       The piece to replace
          --new <TEXT>       The replacement
          --old-file <FILE>  Read the piece to replace from a file
          --new-file <FILE>  Read the replacement from a file
          --base <REV>       The revision that the edit is based on; later changes
                             are merged
          --standalone       Use the file even if the notebook is open in the host
          --json             Print one JSON object, also for errors
      -h, --help             Print help (see more with '--help')

    Examples:
      cellist edit nb.ipynb --old 'x = 1' --new 'x = 2'
      cellist edit nb.ipynb --old-file before.txt --new-file after.txt
      cellist edit nb.ipynb:raw --old '"python3"' --new '"python3.13"'  # the JSON
    "#);
    assert_snapshot!(desk.run(&["cell", "-h"]).ok(), @r"
    Change cells: edit, insert, delete, move, retype, clear, batch

    Usage: cellist cell [OPTIONS] <COMMAND>

    Commands:
      edit    Replace the source of a cell; its type, metadata, attachments and
              outputs stay
      insert  Insert a new cell before the one at INDEX
      delete  Delete cells; indexes refer to the notebook before the deletion
      move    Move a cell to INDEX
      retype  Change the type of a cell; a code cell that becomes another type
              loses its outputs
      clear   Clear the outputs and execution counts of cells, by default of all
      batch   Apply several operations at once; if one fails, none is applied
      help    Print this message or the help of the given subcommand(s)

    Options:
          --json  Print one JSON object, also for errors
      -h, --help  Print help (see more with '--help')

    Examples:
      cellist cell insert nb.ipynb 0 --type markdown --source '# Title'
      cellist cell edit nb.ipynb 1a2b3c4d --file cell.py
      cellist cell delete nb.ipynb 3 -1              # cell 3 and the last cell
    ");
    assert_snapshot!(desk.run(&["cell", "insert", "-h"]).ok(), @r"
    Insert a new cell before the one at INDEX

    Usage: cellist cell insert [OPTIONS] <NB> <INDEX>

    Arguments:
      <NB>     The notebook
      <INDEX>  The index of the new cell, or `end`

    Options:
          --type <TYPE>    The cell type: code, markdown or raw [default: code]
          --source <TEXT>  The source, verbatim
          --file <FILE>    A file with the source, or - for standard input (the
                           default); one final newline is dropped
          --base <REV>     The revision that the change is based on; later changes
                           are merged
          --standalone     Use the file even if the notebook is open in the host
          --json           Print one JSON object, also for errors
      -h, --help           Print help

    Examples:
      cellist cell insert nb.ipynb 0 --type markdown --source '# Title'
      cellist cell insert nb.ipynb end < cell.py
    ");
    assert_snapshot!(desk.run(&["cell", "batch", "--help"]).ok(), @r#"
    Apply several operations at once; if one fails, none is applied

    Takes a JSON array of operations. An operation is an object with `action`
    (edit, insert, delete, move, retype, clear) and the fields of that action:
    `cell` (index or id), `index`, `type`, `source`. Indexes refer to the notebook
    before the batch; the target index of a move refers to the notebook after it.

    Usage: cellist cell batch [OPTIONS] <NB> [FILE]

    Arguments:
      <NB>
              The notebook

      [FILE]
              A file with the operations; by default, or with -, standard input

    Options:
          --base <REV>
              The revision that the change is based on; later changes are merged

          --standalone
              Use the file even if the notebook is open in the host

          --json
              Print one JSON object, also for errors

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      cellist cell batch nb.ipynb operations.json
      echo '[{"action": "edit", "cell": 0, "source": "x = 1"},
             {"action": "insert", "index": 1, "type": "markdown", "source": "y:"},
             {"action": "delete", "cell": "1a2b3c4d"}]' | cellist cell batch
             nb.ipynb
    "#);
    assert_snapshot!(desk.run(&["diff", "-h"]).ok(), @r"
    Show the differences between two notebooks, cell by cell

    Usage: cellist diff [OPTIONS] <A> <B>

    Arguments:
      [A]  The older notebook; /dev/null for an empty one
      [B]  The newer notebook; /dev/null for an empty one

    Options:
          --color <WHEN>  When to use colour [default: auto] [possible values:
                          auto, always, never]
          --json          Print one JSON object, also for errors
      -h, --help          Print help (see more with '--help')

    Examples:
      cellist diff before.ipynb after.ipynb
      cellist diff --json before.ipynb after.ipynb
      cellist git-setup     # and then: git diff, git log -p, git show
    ");
    assert_snapshot!(desk.run(&["merge", "--help"]).ok(), @r"
    Merge two versions of a notebook (three-way, by cell)

    Changes to different cells, and to different lines of one cell, are both kept.
    If both sides changed the same lines, both versions are shown, nothing is
    written, and the exit status is 4. With --mark, the merged notebook contains
    both versions between conflict markers in the cell's source and remains a valid
    notebook.

    Usage: cellist merge [OPTIONS] <BASE> <OURS> <THEIRS>

    Arguments:
      <BASE>
              The common ancestor

      <OURS>
              One version; its outputs and metadata win if both sides changed them

      <THEIRS>
              The other version

    Options:
      -o, --output <OUT>
              Write to this file instead of standard output

          --mark
              On a conflict, write both versions between markers

          --driver
              Act as git's merge driver: write to OURS; on a conflict, write
              markers and exit with 1

          --json
              Print one JSON object, also for errors

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      cellist merge base.ipynb ours.ipynb theirs.ipynb -o merged.ipynb
      cellist merge --mark base.ipynb ours.ipynb theirs.ipynb > merged.ipynb
      cellist git-setup     # and then: git merge, git rebase, git stash pop
    ");
    assert_snapshot!(desk.run(&["git-setup", "--help"]).ok(), @r"
    Make git diff and merge notebooks by cell

    Afterwards `git diff` shows notebooks like `cellist diff`, `git log -p` and
    `git show` show their text, and `git merge` merges them like `cellist merge`. A
    conflict leaves markers in the source of the cell, and the notebook still
    opens.

    Sets diff.cellist and merge.cellist in git's configuration and adds a line to
    .gitattributes. The line has no effect for collaborators without cellist.
    Running the command again changes nothing.

    Usage: cellist git-setup [OPTIONS]

    Options:
          --global
              Apply to all your repositories

          --remove
              Remove the configuration

          --json
              Print one JSON object, also for errors

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      cellist git-setup                              # in this repository
      cellist git-setup --global                     # in all your repositories
      cellist git-setup --remove
    ");
}
