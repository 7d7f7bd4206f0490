"""Code that runs before the first cell: the host's prelude and the user's modules."""

from .base import library, load


def run_prelude(runner, request):
    """Runs it on the user's variables; returns notices of failures."""
    notices = []
    prelude = request.get("prelude")
    if prelude:
        _run(runner, "<prelude>", prelude, "the prelude", notices)
    for module in request.get("modules") or ():
        name, path = module["name"], module["path"]
        try:
            with open(path, "rb") as file:
                source = library("importlib.util").decode_source(file.read())
        except (OSError, UnicodeError, SyntaxError) as error:
            notices.append("module %s was not loaded: %s" % (name, error))
            continue
        _run(runner, path, source, "module %s" % name, notices)
    runner.namespace.hide_names()
    return notices


def _run(runner, filename, source, title, notices):
    runner.compiler.keep(source, filename)
    try:
        exec(compile(source, filename, "exec", dont_inherit=True), runner.namespace.variables)
    except BaseException as error:
        fields = load("errors").error_fields(error)
        where = ""
        if isinstance(error, SyntaxError):
            where = ", line %s" % error.lineno
        else:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_code.co_filename == filename:
                    where = ", line %d" % trace.tb_lineno
                trace = trace.tb_next
        raised = "%s: %s" % (fields["name"], fields["message"]) if fields["message"] else fields["name"]
        notices.append("%s failed (%s%s): %s" % (title, filename, where, raised))
