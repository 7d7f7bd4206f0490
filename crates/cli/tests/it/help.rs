//! Help: what each command says of itself.

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
    Notebooks on the command line: run, read, change, compare and merge them, and
    lose nothing

    Usage: cellist [OPTIONS] <COMMAND>

    Commands:
      open         Open a notebook in the browser, beside agents that work in it
      run          Run a notebook's cells in order and save their outputs
      exec         Run a piece of code, on a new kernel or in a session
      repl         Type code and run it, in a session that others may use too
      view         Look at a notebook on the screen, as it is now
      chat         Talk with a model about a notebook
      sessions     List the sessions of the host, and interrupt or end them
      artifact     List and read artifacts: outputs in full, where a result was cut
      read         Print a notebook as cell-marked text, or any other file
      write        Make a notebook as a cell-marked text says
      edit         Replace one exact piece of a notebook's text
      new          Make an empty notebook
      cell         Change cells: edit, insert, delete, move, retype, clear, batch
      history      Show who did what to a notebook, the newest first
      undo         Take back the last change of a notebook, or a whole turn
      diff         Show what is different between two notebooks, cell by cell
      merge        Put two versions of a notebook together
      git-setup    Let git compare and merge notebooks by cells
      kernels      List what can run code: Pythons and Jupyter kernels
      editor       Report what is in front of a person, for agents to work on
      gateway      Show, start or stop the Jupyter gateway that is shared between
                   processes
      context      Show what an agent is told about a notebook
      prompt       Show the instructions that a model gets for a notebook
      mcp          Serve the tools for agents over MCP, on standard input and
                   output or over HTTP
      serve        Be the host, which keeps sessions for all terminals and programs
      status       Tell whether the host is running, and what it keeps
      revoke       End the access of a browser to the page
      stop         End the host, with all sessions that it keeps
      settings     List all settings, their values, and where each comes from
      trust        Trust what the .cellist of a folder holds
      doctor       Check all that running code depends on, and say what to do
      completions  Print a completion script for a shell
      man          Print a manual page, or write all of them to a folder
      help         Print this message or the help of the given subcommand(s)

    Options:
          --json     Print one JSON object, for errors too
      -h, --help     Print help (see more with '--help')
      -V, --version  Print version

    Examples:
      cellist open nb.ipynb          in the browser, beside agents
      cellist chat nb.ipynb          with a model, on the terminal
      cellist run nb.ipynb           its cells, with their outputs saved
      cellist exec 'print(6 * 7)'    code alone
      cellist read nb.ipynb          a notebook as text
      cellist read nb.ipynb > t; cellist write nb.ipynb t
      cellist cell insert nb.ipynb end --source 'print(1)'
      cellist diff old.ipynb new.ipynb

    State is kept in ~/.cellist, or where CELLIST_HOME says.
    CELLIST_AGENT=NAME marks changes as an agent's, for review and undo.
    ");
    assert_eq!(desk.run(&[]).exit, 2);
    assert_eq!(desk.run(&["--version"]).ok(), concat!("cellist ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn the_help_of_single_commands() {
    let desk = Desk::new();
    assert_snapshot!(desk.run(&["read", "--help"]).ok(), @r"
    Print a notebook as cell-marked text, or any other file

    Each cell begins with a marker line such as `# %% [code] cell:3`, which is
    followed by its source. `cellist write` takes this text back. What was read is
    remembered, so that a later change can be merged with what others did to the
    file meanwhile: --json shows the revision to name with --base.

    Usage: cellist read [OPTIONS] <PATH[:SELECTOR|#CELL]>

    Arguments:
      <PATH[:SELECTOR|#CELL]>
              A file or an artifact, and behind it what part is wanted: :LINES,
              :raw or #CELL

    Options:
          --outputs
              Show outputs below their cells, cut where they are long; `write` does
              not take this view

          --standalone
              Use the file, even if the host has the notebook open

          --json
              Print one JSON object, for errors too

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      cellist read nb.ipynb               all cells
      cellist read nb.ipynb:12-40         some lines of that text
      cellist read nb.ipynb:5-9,30-       several ranges, the last to the end
      cellist read nb.ipynb#1a2b3c4d      one cell, by id or index
      cellist read nb.ipynb:raw           the JSON of the file
      cellist read --outputs nb.ipynb     what the cells printed and showed, too
      cellist read artifact://4t7wq2zn    all that code printed; :100-200 works too
    ");
    assert_snapshot!(desk.run(&["write", "--help"]).ok(), @r"
    Make a notebook as a cell-marked text says

    The text is what `cellist read` prints. A marker that names a cell (`cell:3`)
    keeps that cell with all it has, and gives it the source below; a marker
    without a number makes a new cell; cells that are not named are deleted; the
    order is that of the text. Text that was not changed leaves the file as it is,
    byte for byte. A notebook that does not exist is made.

    With --base, text that was made from an older revision is merged with what
    happened to the file since. Without it, a file that changed since it was last
    read is left alone and the exit status is 4.

    Usage: cellist write [OPTIONS] <NB[:raw]> [FILE]

    Arguments:
      <NB[:raw]>
              The notebook; with :raw behind it, its JSON

      [FILE]
              The text; without it, or with -, standard input

    Options:
          --base <REV>
              The revision that the text was made from

          --standalone
              Use the file, even if the host has the notebook open

          --json
              Print one JSON object, for errors too

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      cellist read nb.ipynb > t && $EDITOR t && cellist write nb.ipynb t
      printf '# %%%% [code]\nprint(1)\n' | cellist write new.ipynb
      cellist write nb.ipynb:raw nb.json     # the JSON, which must be a notebook
    ");
    assert_snapshot!(desk.run(&["edit", "-h"]).ok(), @r#"
    Replace one exact piece of a notebook's text

    Usage: cellist edit [OPTIONS] <NB[:raw]>

    Arguments:
      <NB[:raw]>  The notebook; with :raw behind it, its JSON

    Options:
          --old <TEXT>       The piece to replace
          --new <TEXT>       What to put there
          --old-file <FILE>  A file with the piece to replace
          --new-file <FILE>  A file with what to put there
          --base <REV>       The revision that the edit was made for; a file that
                             changed since is merged with
          --standalone       Use the file, even if the host has the notebook open
          --json             Print one JSON object, for errors too
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
      insert  Put a new cell before the one at INDEX
      delete  Take cells out; indexes are those before any is gone
      move    Let a cell stand at INDEX afterwards
      retype  Change the type of a cell; what is no longer code loses its outputs
      clear   Take the outputs and execution counts off cells, or off all of them
      batch   Make several changes as one: all of them, or on an error none
      help    Print this message or the help of the given subcommand(s)

    Options:
          --json  Print one JSON object, for errors too
      -h, --help  Print help (see more with '--help')

    Examples:
      cellist cell insert nb.ipynb 0 --type markdown --source '# Title'
      cellist cell edit nb.ipynb 1a2b3c4d --file cell.py
      cellist cell delete nb.ipynb 3 -1              # the last cell, too
    ");
    assert_snapshot!(desk.run(&["cell", "insert", "-h"]).ok(), @r"
    Put a new cell before the one at INDEX

    Usage: cellist cell insert [OPTIONS] <NB> <INDEX>

    Arguments:
      <NB>     The notebook
      <INDEX>  Where: 0 to the number of cells, or `end`

    Options:
          --type <TYPE>    The type: code, markdown or raw [default: code]
          --source <TEXT>  The source, exactly
          --file <FILE>    A file with the source, or - for standard input, which
                           is read without --source and --file too; one newline at
                           the very end is dropped
          --base <REV>     The revision that the change was made for; a file that
                           changed since is merged with
          --standalone     Use the file, even if the host has the notebook open
          --json           Print one JSON object, for errors too
      -h, --help           Print help

    Examples:
      cellist cell insert nb.ipynb 0 --type markdown --source '# Title'
      cellist cell insert nb.ipynb end < cell.py
    ");
    assert_snapshot!(desk.run(&["cell", "batch", "--help"]).ok(), @r#"
    Make several changes as one: all of them, or on an error none

    Takes a JSON array of operations. An operation is an object with `action`
    (edit, insert, delete, move, retype, clear) and what that needs: `cell` (index
    or id), `index`, `type`, `source`. Indexes are those before the whole batch; a
    move names the index afterwards.

    Usage: cellist cell batch [OPTIONS] <NB> [FILE]

    Arguments:
      <NB>
              The notebook

      [FILE]
              The operations; without it, or with -, standard input

    Options:
          --base <REV>
              The revision that the change was made for; a file that changed since
              is merged with

          --standalone
              Use the file, even if the host has the notebook open

          --json
              Print one JSON object, for errors too

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
    Show what is different between two notebooks, cell by cell

    Usage: cellist diff [OPTIONS] <A> <B>

    Arguments:
      [A]  The older notebook; /dev/null stands for none
      [B]  The newer notebook; /dev/null stands for none

    Options:
          --color <WHEN>  When to colour [default: auto] [possible values: auto,
                          always, never]
          --json          Print one JSON object, for errors too
      -h, --help          Print help (see more with '--help')

    Examples:
      cellist diff before.ipynb after.ipynb
      cellist diff --json before.ipynb after.ipynb
      cellist git-setup     # and then: git diff, git log -p, git show
    ");
    assert_snapshot!(desk.run(&["merge", "--help"]).ok(), @r"
    Put two versions of a notebook together

    Changes of different cells both survive, and so do changes of different lines
    of one cell. Where both sides changed the same lines, nothing is written, both
    versions are shown and the exit status is 4; with --mark, the merged notebook
    holds both versions between conflict markers in the cell's source, and is still
    a valid notebook.

    Usage: cellist merge [OPTIONS] <BASE> <OURS> <THEIRS>

    Arguments:
      <BASE>
              What both began with

      <OURS>
              One version; its outputs and metadata win where both changed them

      <THEIRS>
              The other version

    Options:
      -o, --output <OUT>
              Where to write; without it, standard output

          --mark
              On a conflict, keep both versions between markers

          --driver
              Be git's merge driver: write to OURS, with markers on a conflict, and
              then exit with 1

          --json
              Print one JSON object, for errors too

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      cellist merge base.ipynb ours.ipynb theirs.ipynb -o merged.ipynb
      cellist merge --mark base.ipynb ours.ipynb theirs.ipynb > merged.ipynb
      cellist git-setup     # and then: git merge, git rebase, git stash pop
    ");
    assert_snapshot!(desk.run(&["git-setup", "--help"]).ok(), @r"
    Let git compare and merge notebooks by cells

    Afterwards `git diff` shows notebooks as `cellist diff` does, `git log -p` and
    `git show` show their text, and `git merge` merges them as `cellist merge`
    does: a conflict leaves markers in the source of the cell, in a notebook that
    still opens. Sets diff.cellist and merge.cellist in git's configuration and
    adds a line to .gitattributes; whoever has no cellist set up is not disturbed
    by that line. Doing it again changes nothing.

    Usage: cellist git-setup [OPTIONS]

    Options:
          --global
              For all repositories of this user

          --remove
              Take it back

          --json
              Print one JSON object, for errors too

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      cellist git-setup                              # in this repository
      cellist git-setup --global                     # for all of yours
      cellist git-setup --remove
    ");
}
