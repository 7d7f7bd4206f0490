# Lists the variables of a kernel as JSON. Runs hidden, leaves no trace, and calls no code of the user. A value
# of an unknown type is described by its type alone.
def _cellist_variables(namespace, names, most, width):
    import datetime
    import decimal
    import fractions
    import itertools
    import json
    import pathlib
    import reprlib
    import sys
    import time
    import types

    MOST_COLUMNS = 30
    MOST_ROWS = 5
    MOST_ITEMS = 10
    # Statistics read every value: past this size or time they are left out.
    MOST_VALUES = 5000000
    deadline = time.monotonic() + 1.0

    # Read through `type` itself: a metaclass may run its own code.
    type_name = type.__dict__["__name__"].__get__
    type_module = type.__dict__["__module__"].__get__

    def is_a(value, kinds):
        # `isinstance` would ask the value for `__class__`.
        return issubclass(type(value), kinds)

    scalars = {
        bool,
        int,
        float,
        complex,
        type(None),
        type(Ellipsis),
        range,
        slice,
        datetime.date,
        datetime.datetime,
        datetime.time,
        datetime.timedelta,
        decimal.Decimal,
        fractions.Fraction,
        pathlib.PosixPath,
        pathlib.WindowsPath,
    }
    containers = {str, bytes, bytearray, list, tuple, dict, set, frozenset}

    class Short(reprlib.Repr):
        def repr1(self, value, level):
            kind = type(value)
            if kind in containers:
                return super().repr1(value, level)
            return self.repr_instance(value, level)

        def repr_instance(self, value, level):
            kind = type(value)
            if kind is int:
                return self.repr_int(value, level)
            if kind in scalars or library_of(kind) in ("pandas", "numpy") and type_name(kind) in plain:
                text = repr(value)
                return text if len(text) <= self.maxother else text[: self.maxother - 3] + "..."
            return "<%s>" % type_name(kind)

        # Unsorted: sorting would call the comparison code of the values.
        def repr_dict(self, value, level):
            return self.some("{", value.items(), "}", len(value), self.maxdict, level, pair=True)

        def repr_set(self, value, level):
            return self.some("{", value, "}", len(value), self.maxset, level) if value else "set()"

        def repr_frozenset(self, value, level):
            inner = self.some("{", value, "}", len(value), self.maxset, level) if value else ""
            return "frozenset(%s)" % inner

        def repr_bytearray(self, value, level):
            return "bytearray(%s)" % self.repr1(bytes(value[: self.maxother]), level)

        def repr_bytes(self, value, level):
            text = repr(value[: self.maxother])
            return text if len(text) <= self.maxother else text[: self.maxother - 3] + "..."

        def some(self, left, values, right, length, bound, level, pair=False):
            if level <= 0 and length:
                return left + "..." + right
            shown = []
            for value in itertools.islice(values, bound):
                if pair:
                    shown.append(
                        "%s: %s" % (self.repr1(value[0], level - 1), self.repr1(value[1], level - 1))
                    )
                else:
                    shown.append(self.repr1(value, level - 1))
            if length > bound:
                shown.append("...")
            return left + ", ".join(shown) + right

    plain = {
        "Timestamp",
        "Timedelta",
        "NaTType",
        "NAType",
        "Period",
        "Interval",
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool_",
        "bool",
        "str_",
        "bytes_",
        "datetime64",
        "timedelta64",
        "complex64",
        "complex128",
    }
    short = Short()
    short.maxstring = short.maxother = short.maxlong = width
    short.maxlevel = 3
    narrow = Short()
    narrow.maxstring = narrow.maxother = narrow.maxlong = 40
    narrow.maxlevel = 2

    def library_of(kind):
        module = type_module(kind)
        return module.split(".")[0] if type(module) is str else ""

    def get(value, name):
        try:
            return getattr(value, name)
        except Exception:
            return None

    def exact(name):
        # As Python writes a name, so that a blank at either end shows.
        text = short.repr(name) if type(name) in containers or type(name) in scalars else narrow.repr(name)
        return text

    def has_time():
        return time.monotonic() < deadline

    def numbers(row, values):
        """Adds how many values are missing, and the least and greatest, of an array of numpy."""
        numpy = sys.modules["numpy"]
        kind = values.dtype.kind
        if values.size == 0 or kind not in "biufmMc":
            return
        if values.size > MOST_VALUES or not has_time():
            row["left_out"] = True
            return
        if kind in "fc":
            row["missing"] = int(numpy.isnan(values).sum())
        elif kind in "mM":
            row["missing"] = int(numpy.isnat(values).sum())
        if kind in "biuf" or kind in "mM":
            if row.get("missing", 0) < values.size:
                least, most_ = numpy.fmin.reduce(values, axis=None), numpy.fmax.reduce(values, axis=None)
                row["range"] = [bare(least), bare(most_)]

    def bare(value):
        # As Python or the library writes it, without the name of its type.
        if library_of(type(value)) == "numpy" and value.dtype.kind not in "mM":
            value = value.item()
        return narrow.repr(value) if type(value) in (bool, int, float, complex) else str(value)[:40]

    def about_column(row, series):
        """The same of a column of pandas."""
        pandas = sys.modules["pandas"]
        dtype = series.dtype
        if library_of(type(dtype)) == "numpy" and dtype.kind in "biufmMc":
            numbers(row, series.to_numpy())
        elif library_of(type(dtype)) in ("numpy", "pandas"):
            if len(series) > MOST_VALUES or not has_time():
                row["left_out"] = True
                return
            row["missing"] = int(pandas.isna(series).sum())
            if (
                row["missing"] < len(series)
                and getattr(dtype, "kind", "O") in "iufM"
                and not getattr(dtype, "ordered", None)
            ):
                row["range"] = [bare(series.min()), bare(series.max())]

    def dtype_of(dtype):
        # A type of columns may be the user's own.
        kind = type(dtype)
        return str(dtype)[:40] if library_of(kind) in libraries else "<%s>" % type_name(kind)

    def about_frame(row, frame):
        columns, heads = [], []
        for at, name in enumerate(list(frame.columns)[:MOST_COLUMNS]):
            series = frame.iloc[:, at]
            column = {"name": exact(name), "dtype": dtype_of(series.dtype)}
            about_column(column, series)
            columns.append(column)
            head = series.iloc[:MOST_ROWS]
            is_known = library_of(type(series.dtype)) in libraries
            heads.append([narrow.repr(value) for value in head.tolist()] if is_known else ["?"] * len(head))
        row["details"] = {"columns": columns, "head": list(zip(*heads))}

    def about_polars(row, frame):
        columns, head = [], frame.head(MOST_ROWS)
        series = frame.get_columns() if hasattr(frame, "get_columns") else [frame]
        for one in series[:MOST_COLUMNS]:
            column = {"name": exact(one.name), "dtype": str(one.dtype)[:40]}
            if has_time() and len(one) <= MOST_VALUES and column["dtype"] != "Object":
                column["missing"] = int(one.null_count())
                if one.dtype.is_numeric() or one.dtype.is_temporal():
                    if column["missing"] < len(one):
                        column["range"] = [bare(one.min()), bare(one.max())]
            columns.append(column)
        heads = head.get_columns() if hasattr(head, "get_columns") else [head]
        values = [[narrow.repr(value) for value in one.to_list()] for one in heads[:MOST_COLUMNS]]
        row["details"] = {"columns": columns, "head": list(zip(*values))}

    def describe(row, value, library, kind):
        """Describes a variable that was asked for by name."""
        name = type_name(kind)
        if library == "pandas" and name == "DataFrame":
            about_frame(row, value)
        elif library == "pandas" and name in ("Series", "DatetimeIndex", "RangeIndex", "Index"):
            column = {}
            about_column(column, value)
            first = value.iloc[:MOST_ITEMS] if name == "Series" else value[:MOST_ITEMS]
            items = [narrow.repr(item) for item in first.tolist()]
            row["details"] = dict(column, items=items, more=max(0, len(value) - len(items)))
        elif library == "polars" and name in ("DataFrame", "Series"):
            about_polars(row, value)
        elif library == "numpy" and name == "ndarray":
            column = {}
            numbers(column, value)
            items = [narrow.repr(item) for item in value.flat[:MOST_ITEMS].tolist()]
            row["details"] = dict(column, items=items, more=max(0, value.size - len(items)))
            row.pop("preview", None)
        elif kind in (list, tuple, set, frozenset, dict) and len(value) > 0:
            if kind is dict:
                first = itertools.islice(value.items(), MOST_ITEMS)
                items = ["%s: %s" % (short.repr(key), short.repr(item)) for key, item in first]
            else:
                items = [short.repr(item) for item in itertools.islice(value, MOST_ITEMS)]
            row["details"] = {"items": items, "more": max(0, len(value) - len(items)), "lines": True}
            row.pop("preview", None)

    libraries = (
        "numpy",
        "pandas",
        "polars",
        "torch",
        "tensorflow",
        "jax",
        "jaxlib",
        "xarray",
        "scipy",
        "cupy",
        "pyarrow",
        "dask",
    )
    lengths = {list.__len__, tuple.__len__, dict.__len__, set.__len__, frozenset.__len__, str.__len__}

    def about(name, value, is_named):
        kind = type(value)
        row = {"name": name, "type": type_name(kind)}
        library = library_of(kind)
        if library in libraries:
            shape = get(value, "shape")
            if is_a(shape, (tuple, list)) or type_name(type(shape)) in ("Size", "TensorShape"):
                row["shape"] = [size if type(size) is int else None for size in list(shape)[:8]]
            dtype = get(value, "dtype")
            if dtype is not None:
                row["dtype"] = dtype_of(dtype)
            # A lazy frame would have to work out its schema.
            columns = get(value, "columns") if row["type"] != "LazyFrame" else None
            if is_named:
                try:
                    describe(row, value, library, kind)
                except Exception as error:
                    row["details"] = {"failed": type_name(type(error))}
            if (
                columns is not None
                and library in ("pandas", "polars", "dask")
                and "columns" not in row.get("details", {})
            ):
                columns = list(columns)
                dtypes = get(value, "dtypes")
                dtypes = list(dtypes) if dtypes is not None else []
                shown = [
                    "%s %s" % (exact(column), dtype_of(dtypes[at])[:20] if at < len(dtypes) else "")
                    for at, column in enumerate(columns[:MOST_COLUMNS])
                ]
                row["columns"] = [text.strip() for text in shown]
            if columns is not None:
                row["more_columns"] = max(0, len(columns) - MOST_COLUMNS)
            elif (
                library == "numpy"
                and not is_named
                and row.get("shape") is not None
                and get(value, "size") is not None
                and value.size <= 8
            ):
                row["preview"] = (
                    repr(value.tolist())[:width] if value.dtype.kind != "O" else short.repr(value.tolist())
                )
            return row
        if kind in containers:
            row["length"] = len(value)
            row["preview"] = short.repr(value)
            if is_named:
                describe(row, value, library, kind)
        elif kind in scalars:
            row["preview"] = short.repr(value)
        elif (
            issubclass(kind, (list, tuple, dict, set, frozenset, str))
            and type.__getattribute__(kind, "__len__") in lengths
        ):
            row["length"] = len(value)
        return row

    wanted = None if names is None else set(names)
    hidden = {"In", "Out", "exit", "quit", "get_ipython", "open"}
    told = {"variables": [], "functions": [], "classes": [], "modules": [], "more": 0, "missing": []}
    for name, value in list(namespace.items()):
        if type(name) is not str:
            continue
        if wanted is not None:
            if name not in wanted:
                continue
        elif name.startswith("_") or name in hidden:
            continue
        if wanted is None and is_a(value, types.ModuleType):
            told["modules"].append(name)
        elif wanted is None and is_a(value, (types.FunctionType, types.BuiltinFunctionType)):
            told["functions"].append(name)
        elif wanted is None and is_a(value, type):
            told["classes"].append(name)
        elif len(told["variables"]) >= most:
            told["more"] += 1
        else:
            try:
                told["variables"].append(about(name, value, wanted is not None))
            except Exception as error:
                told["variables"].append(
                    {"name": name, "type": type_name(type(value)), "preview": "<%s>" % type_name(type(error))}
                )
    if wanted is not None:
        told["missing"] = sorted(wanted - {name for name in namespace if type(name) is str})
    print("cellist-variables " + json.dumps(told), flush=True)
