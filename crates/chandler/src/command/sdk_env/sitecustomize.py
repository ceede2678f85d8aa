"""Written by `chandler sdk-env --python-shim`; Python runs it at its start if its folder is in PYTHONPATH.

Some versions of the packages below take the addresses of the server from the environment only if the keys come from there, too. This
fills the addresses in where a program passes its keys to Config and no address. It does nothing else.
"""

import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ("longport", "longbridge")
ADDRESSES = ("http_url", "quote_ws_url", "trade_ws_url")
# Config(app_key, app_secret, access_token, http_url, …)
KEYS = 3


def addresses(package):
    """The addresses in the environment, or nothing if one of them is missing."""
    found = {}
    for name in ADDRESSES:
        for prefix in (package, *PACKAGES):
            value = os.environ.get(f"{prefix}_{name}".upper())
            if value:
                found[name] = value
                break
    return found if len(found) == len(ADDRESSES) else {}


def filled_in(native, package):
    """Config, with addresses where the program passes none."""

    class Meta(type):
        def __getattr__(cls, name):
            return getattr(native, name)

        def __instancecheck__(cls, instance):
            return isinstance(instance, native)

        def __subclasscheck__(cls, other):
            return other is cls or issubclass(other, native)

    class Config(metaclass=Meta):
        __doc__ = native.__doc__
        __module__ = native.__module__

        def __new__(cls, *args, **kwargs):
            args = list(args)
            passed = [*args[KEYS:KEYS + len(ADDRESSES)], *(kwargs.get(name) for name in ADDRESSES)]
            if not any(passed):
                for at, (name, address) in enumerate(addresses(package).items(), KEYS):
                    if at < len(args):
                        args[at] = address
                    else:
                        kwargs[name] = address
            return native(*args, **kwargs)

    return Config


class Loader:
    """The loader of a package, which replaces its Config once it is loaded."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def create_module(self, spec):
        return self.inner.create_module(spec)

    def exec_module(self, module):
        self.inner.exec_module(module)
        openapi = getattr(module, "openapi", None)
        native = getattr(openapi, "Config", None)
        # Where this is missing, keys are passed in another way, which heeds the environment.
        if isinstance(native, type) and hasattr(native, "from_env"):
            openapi.Config = filled_in(native, module.__name__)


class Finder:
    """Finds the packages as the other finders do."""

    def find_spec(self, name, path=None, target=None):
        if name not in PACKAGES:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = Loader(spec.loader)
                return spec
        return None


sys.meta_path.insert(0, Finder())

# Another sitecustomize, which this one hides, runs as it would without this one.
others = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
if spec is not None and spec.loader is not None:
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)
