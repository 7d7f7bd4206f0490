"""A module."""
import functools


def deco(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        # a comment

        return function(*args, **kwargs)  # trailing comment

    return wrapper


@deco
def fail(x, *, key=None):
    """Docs.

    More docs.
    And more.
    And more.
    And more.
    """
    if x:
        a = 1; b = 2
        return x / 0  # the comment of the last line


class Thing:
    limit = 3

    def method(self, value):
        total = [
            item
            for item in value
            if item / self.limit
        ]
        for item in total:

            # a comment before
            with open("/dev/null") as file:
                result = self.other(
                    item,
                    file,
                )
        return result

    def other(self, item, file):
        try:
            return {}[item]
        except KeyError as error:
            raise ValueError("wrapped") from error

    @property
    def prop(self): return 1 / 0


def hidden():
    __tracebackhide__ = True
    fail(1)


def gen(n):
    for i in range(n):
        yield 1 / (n - i - 2)


def recurse(n):
    return recurse(n - 1) + 1


def ping(n):
    return pong(n)


def pong(n):
    return ping(n + 1)


lam = lambda x: (
    x,
    1 / 0,
)


def nested():
    def inner(values):
        return sorted(values, key=lambda v: 1 / v)
    x = '''
a string
  with lines
    of
  different
     indentation
  and length
'''
    return inner([0, 1])


async def coro():
    await sub()


async def sub():
    raise OSError(2, "nothing", "file")
