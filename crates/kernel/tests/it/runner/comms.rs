//! Comms: widgets and objects like them, opened from either side, with their frames as the protocol's page has them.

use testkit::Scratch;

use super::bed::{Bed, bare_python, full_python};
use super::protocol::host;

/// The Python that registers a target, and answers each message with its data and two buffers.
const TARGET: &str = r#"
code = '''
import comm
def opened(it, message):
    print('opened', message['content']['data'], bytes(message['buffers'][0]))
    it.on_msg(lambda message: it.send({'echo': message['content']['data']}, {'kept': 1}, [b'xy', memoryview(b'z')]))
    it.on_close(lambda message: print('closed'))
get_ipython().kernel.comm_manager.register_target('mine', opened)
comm.get_comm_manager() is get_ipython().kernel.comm_manager
'''
ask(request='execute', execution=1, code=code)
assert hear('result')['data'] == {'text/plain': 'True'}
hear('done')
"#;

#[test]
fn a_comm_that_a_front_end_opens_answers_with_buffers_until_it_is_closed() {
    for python in [bare_python(), full_python()] {
        let scratch = Scratch::new();
        let script = format!(
            "{TARGET}{}",
            r#"
def tell(execution, kind, buffers=(), **content):
    ask(request='comm', execution=execution, kind=kind, content=dict(content, comm_id='c'), buffers=buffers)
tell(2, 'comm_open', ['aGVsbG8='], target_name='mine', data={'a': 1})
started = hear('started')
assert started['execution'] == 2 and started['execution_count'] is None, started
done = hear('done')
assert done['execution'] == 2 and done['status'] == 'ok', done
ask(request='comm_info', id=3, target_name=None)
assert hear('reply')['comms'] == {'c': {'target_name': 'mine'}}
ask(request='comm_info', id=4, target_name='other')
assert hear('reply')['comms'] == {}
tell(5, 'comm_msg', data={'b': 2})
sent = hear('comm')
assert sent.pop('mark') > 0
assert sent == {'frame': 'comm', 'kind': 'comm_msg', 'content': {'comm_id': 'c', 'data': {'echo': {'b': 2}}},
    'metadata': {'kept': 1}, 'buffers': ['eHk=', 'eg==']}, sent
hear('done')
tell(6, 'comm_close', data={})
hear('done')
# Nobody has this one any more.
tell(7, 'comm_msg', data={})
assert hear('done')['status'] == 'ok'
ask(request='comm_info', id=8, target_name=None)
assert hear('reply')['comms'] == {}
ask(request='execute', execution=9, code='3')
assert hear('result')['execution_count'] == 2
hear('done')
ask(request='exit')
assert child.wait() == 0
text = child.stdout.read()
assert b"opened {'a': 1} b'hello'\n" in text and b'closed\n' in text, text
"#
        );
        assert!(host(&scratch, python, &script).wait().unwrap().success());
    }
}

#[test]
fn a_callback_that_fails_is_told_and_the_next_message_is_delivered() {
    for python in [bare_python(), full_python()] {
        let scratch = Scratch::new();
        let script = r#"
code = '''
def opened(it, message):
    def fail(message):
        display(message['content']['data'])
        1 / 0
    it.on_msg(fail)
get_ipython().kernel.comm_manager.register_target('mine', opened)
'''
ask(request='execute', execution=1, code=code)
hear('done')
ask(request='comm', execution=2, kind='comm_open', content={'comm_id': 'c', 'target_name': 'mine', 'data': {}})
assert hear('done')['status'] == 'ok'
for execution in (3, 4):
    ask(request='comm', execution=execution, kind='comm_msg', content={'comm_id': 'c', 'data': execution})
    assert hear('display')['data'] == {'text/plain': str(execution)}
    assert hear('done')['status'] == 'ok'
# A target that is missing closes the comm at once.
ask(request='comm', execution=5, kind='comm_open', content={'comm_id': 'd', 'target_name': 'nosuch', 'data': {}})
closed = hear('comm')
assert closed['kind'] == 'comm_close' and closed['content']['comm_id'] == 'd', closed
hear('done')
ask(request='exit')
child.wait()
"#;
        assert!(host(&scratch, python, script).wait().unwrap().success());
    }
}

#[test]
fn a_comm_that_waits_behind_a_cell_can_be_cancelled_and_one_that_runs_interrupted() {
    let scratch = Scratch::new();
    let script = r#"
code = '''
import time
def opened(it, message):
    display('begun')
    time.sleep(600)
get_ipython().kernel.comm_manager.register_target('mine', opened)
'''
ask(request='execute', execution=1, code=code)
hear('done')
ask(request='comm', execution=2, kind='comm_open', content={'comm_id': 'c', 'target_name': 'mine', 'data': {}})
hear('display')
ask(request='interrupt', id=1, execution=2)
assert hear('reply')['running'] is True
done = hear('done')
assert done['status'] == 'error' and done['cancelled'] is True, done
ask(request='exit')
child.wait()
"#;
    assert!(host(&scratch, bare_python(), script).wait().unwrap().success());
}

#[test]
fn a_slider_is_moved_from_a_front_end_and_text_in_an_output_widget_is_framed_by_its_request() {
    let scratch = Scratch::new();
    let script = r#"
code = '''
import ipywidgets
slider = ipywidgets.IntSlider(3)
slider.observe(lambda change: display(change['new']), 'value')
slider
'''
ask(request='execute', execution=1, code=code)
opened = [hear('comm') for _ in range(3)]
assert [frame['kind'] for frame in opened] == ['comm_open'] * 3
assert all(frame['content']['target_name'] == 'jupyter.widget' for frame in opened)
assert all(frame['metadata'] == {'version': '2.1.0'} and frame['buffers'] == [] for frame in opened)
model = opened[2]['content']['comm_id']
assert opened[2]['content']['data']['state']['_model_name'] == 'IntSliderModel'
view = hear('result')['data']['application/vnd.jupyter.widget-view+json']
assert view['model_id'] == model, view
hear('done')
data = {'method': 'update', 'state': {'value': 7}, 'buffer_paths': []}
ask(request='comm', execution=2, kind='comm_msg', content={'comm_id': model, 'data': data})
assert hear('display')['data'] == {'text/plain': '7'}
hear('done')
ask(request='execute', execution=3, code='slider.value')
assert hear('result')['data'] == {'text/plain': '7'}
hear('done')
code = '''
out = ipywidgets.Output()
with out:
    print('inside')
    1 / 0
print('outside')
'''
ask(request='execute', execution=17, code=code)
names = []
while True:
    frame = json.loads(lines.readline())
    state = frame.get('content', {}).get('data', {}).get('state', {})
    if frame['frame'] == 'comm' and frame['kind'] == 'comm_msg' and 'msg_id' in state:
        names.append(state['msg_id'])
    elif frame['frame'] in ('error', 'done'):
        names.append(frame['frame'])
    if frame['frame'] == 'done':
        break
assert names == ['execution-17', 'error', '', 'done'], names
assert frame['status'] == 'ok', frame
ask(request='exit')
child.wait()
"#;
    assert!(host(&scratch, full_python(), script).wait().unwrap().success());
}

#[tokio::test]
async fn the_kernel_of_the_shell_knows_the_request_and_sends_messages() {
    for python in [bare_python(), full_python()] {
        let session = Bed::with(python).start().await;
        session
            .check(&[
                (
                    "kernel = get_ipython().kernel\nparent = kernel.get_parent()\nparent['header']['msg_id'] == kernel._parent_header['header']['msg_id'], get_ipython().get_parent() == parent",
                    "result text/plain=(True, True)",
                ),
                (
                    "kernel.send_response(kernel.iopub_socket, 'stream', {'name': 'stderr', 'text': 'said'})",
                    "stderr said",
                ),
                (
                    "kernel.send_response(kernel.iopub_socket, 'display_data', {'data': {'text/plain': 'shown'}})",
                    "display text/plain=shown",
                ),
                ("kernel.session.send(None, 'clear_output', {'wait': True})", "clear wait=true"),
                (
                    "import comm\nit = comm.create_comm(target_name='page', data={'a': 1})\nit.send({'b': 2})\nit.close()\nkernel.comm_manager.comms",
                    "result text/plain={}",
                ),
            ])
            .await;
        session.end().await;
    }
}
