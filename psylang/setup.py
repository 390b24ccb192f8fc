"""Leaves out of the wheel the tests and fixtures beside the code; pyproject.toml cannot say it."""

from setuptools import setup
from setuptools.command.build_py import build_py

NOT_SHIPPED = ("_test", "_fixture")


class Shipped(build_py):  # type: ignore[misc]
    """Copies the modules of a package that an installation needs."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        found = super().find_package_modules(package, package_dir)
        return [one for one in found if not one[1].endswith(NOT_SHIPPED)]


setup(cmdclass={"build_py": Shipped})
