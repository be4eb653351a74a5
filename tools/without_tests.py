"""How the package is built: a study's test stands beside the study, and nobody who installs the package needs it."""

from setuptools.command.build_py import build_py


class WithoutTests(build_py):
    def find_package_modules(self, package, package_dir):
        modules = super().find_package_modules(package, package_dir)
        return [(package, name, path) for package, name, path in modules if not name.startswith("test_")]
