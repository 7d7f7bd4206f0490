//! The protocol as its page describes it, spoken by another host: one in Python, which can be killed.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use testkit::Scratch;

use super::bed::bare_python;
use crate::traces::{in_group, until_gone};

/// Starts a runner and says hello; `ask` sends a request, `hear` waits for a frame by name.
const HOST: &str = "
import json, os, subprocess, sys, time
requests, to_runner = os.pipe()
from_runner, frames = os.pipe()
boot = 'import sys; sys.path.insert(0, sys.argv[1]); import cellist_runner; cellist_runner.main(%d, %d)' % (requests, frames)
child = subprocess.Popen(
    [sys.executable, '-B', '-c', boot, sys.argv[1]],
    pass_fds=(requests, frames), start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL)
os.close(requests)
os.close(frames)
lines = os.fdopen(from_runner)
def ask(**request):
    os.write(to_runner, json.dumps(request).encode() + b'\\n')
def hear(name):
    while True:
        frame = json.loads(lines.readline())
        if frame['frame'] == name:
            return frame
ask(request='start', token='TOKEN')
hello = hear('hello')
assert hello['protocol'] == 1 and hello['mark'] == 1 and hello['pid'] == child.pid, hello
";

/// A host that is a script, on an interpreter.
pub(super) fn host(scratch: &Scratch, python: PathBuf, script: &str) -> Child {
    let path = scratch.write("host.py", format!("{HOST}{script}"));
    Command::new(python)
        .arg(path)
        .arg(testkit::repo_root().join("crates/kernel/runner"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn requests_are_answered_as_the_page_says() {
    let scratch = Scratch::new();
    let script = "
ask(request='ping', id=1)
reply = hear('reply')
assert reply == {'frame': 'reply', 'reply_to': 1, 'running': None}, reply
ask(request='nonsense', id=2)
assert hear('reply')['error'] == \"there is no request 'nonsense'\"
ask(request='execute', execution=7, code='print(1)\\n2')
assert hear('started')['execution_count'] == 1
result = hear('result')
assert result['data'] == {'text/plain': '2'} and result['mark'] == 3, result
done = hear('done')
assert done == {'mark': 3, 'execution': 7, 'status': 'ok', 'execution_count': 1, 'cancelled': False, 'frame': 'done'}, done
ask(request='execute', execution=8, code='import time\\ndisplay(1)\\ntime.sleep(600)')
hear('display')
ask(request='interrupt', id=3, execution=7)
assert hear('reply')['running'] is False
ask(request='ping', id=4)
assert hear('reply')['running'] == 8
ask(request='interrupt', id=5, execution=8)
assert hear('reply')['running'] is True
assert hear('done')['cancelled'] is True
ask(request='exit')
assert child.wait() == 0
text = child.stdout.read()
assert text.startswith(b'\\0TOKENf1;\\0TOKENf2;1\\n\\0TOKENf3;\\0TOKENf4;'), text
";
    assert!(host(&scratch, bare_python(), script).wait().unwrap().success());
}

#[test]
fn a_runner_ends_with_its_host_even_when_that_is_killed() {
    let scratch = Scratch::new();
    let script = "
ask(request='execute', execution=1, code='import subprocess, time\\nsubprocess.Popen([\"sleep\", \"600\"])\\ndisplay(1)\\ntime.sleep(600)')
hear('display')
print(child.pid, flush=True)
time.sleep(600)
";
    let mut host = host(&scratch, bare_python(), script);
    let mut line = String::new();
    BufReader::new(host.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let group: u32 = line.trim().parse().unwrap();
    assert_eq!(in_group(group).len(), 2);
    host.kill().unwrap();
    host.wait().unwrap();
    until_gone(group);
}
