# What there is in a kernel, told as JSON. Runs hidden, and leaves nothing behind. It calls no code of the user's: values of
# types that it does not know are told by their type alone.
def _cellist_variables(namespace, names, most, width):
    import json
    import reprlib
    import types

    class Short(reprlib.Repr):
        def repr_instance(self, value, level):
            return repr(value) if type(value) in known else "<%s>" % type(value).__name__

    import datetime
    import decimal
    import fractions
    import pathlib
    known = {
        bool, int, float, complex, type(None), type(Ellipsis), range, slice, datetime.date, datetime.datetime,
        datetime.time, datetime.timedelta, decimal.Decimal, fractions.Fraction, pathlib.PosixPath, pathlib.WindowsPath,
    }
    short = Short()
    short.maxstring = short.maxother = short.maxlong = width
    short.maxlevel = 3

    def get(value, name):
        try:
            return getattr(value, name)
        except Exception:
            return None

    def about(name, value):
        kind = type(value)
        row = {"name": name, "type": kind.__name__}
        module = (kind.__module__ or "").split(".")[0]
        if module in ("numpy", "pandas", "polars", "torch", "tensorflow", "jax", "jaxlib", "xarray", "scipy", "cupy", "pyarrow", "dask"):
            shape = get(value, "shape")
            if isinstance(shape, (tuple, list)) or type(shape).__name__ in ("Size", "TensorShape"):
                row["shape"] = [size if isinstance(size, int) else None for size in list(shape)[:8]]
            dtype = get(value, "dtype")
            if dtype is not None:
                row["dtype"] = str(dtype)[:60]
            columns = get(value, "columns")
            if columns is not None and module in ("pandas", "polars", "dask"):
                columns = list(columns)
                dtypes = get(value, "dtypes")
                dtypes = list(dtypes) if dtypes is not None else []
                shown = ["%s %s" % (str(column)[:40], str(dtypes[at])[:20] if at < len(dtypes) else "") for at, column in enumerate(columns[:30])]
                row["columns"] = [text.strip() for text in shown]
                row["more_columns"] = max(0, len(columns) - 30)
            elif module == "numpy" and row.get("shape") is not None and get(value, "size") is not None and value.size <= 8:
                row["preview"] = repr(value.tolist())[:width]
            return row
        if kind in (str, bytes, bytearray, list, tuple, dict, set, frozenset):
            row["length"] = len(value)
            row["preview"] = short.repr(value)
        elif kind in known:
            row["preview"] = short.repr(value)
        elif isinstance(value, (list, tuple, dict, set, frozenset, str)):
            row["length"] = len(value) if kind.__len__ in (list.__len__, tuple.__len__, dict.__len__, set.__len__, frozenset.__len__, str.__len__) else None
        return row

    wanted = None if names is None else set(names)
    hidden = {"In", "Out", "exit", "quit", "get_ipython", "open"}
    told = {"variables": [], "functions": [], "classes": [], "modules": [], "more": 0, "missing": []}
    for name, value in list(namespace.items()):
        if wanted is not None:
            if name not in wanted:
                continue
        elif name.startswith("_") or name in hidden:
            continue
        if wanted is None and isinstance(value, types.ModuleType):
            told["modules"].append(name)
        elif wanted is None and isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
            told["functions"].append(name)
        elif wanted is None and isinstance(value, type):
            told["classes"].append(name)
        elif len(told["variables"]) >= most:
            told["more"] += 1
        else:
            try:
                told["variables"].append(about(name, value))
            except Exception as error:
                told["variables"].append({"name": name, "type": type(value).__name__, "preview": "<%s>" % type(error).__name__})
    if wanted is not None:
        told["missing"] = sorted(wanted - set(namespace))
    print("cellist-variables " + json.dumps(told), flush=True)
