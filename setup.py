"""Puts what a clone has beside the packages into the wheel, as `tidemill/shipped/`."""

from pathlib import Path
from shutil import copy2

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = (
    "jars.lock",
    "dags/pipelines.py",
    "dags/specs/*",
    "expectations/*.yml",
    "expectations/suites/*.json",
    "spark_jobs/data_sources/*.py",
    "spark_jobs/targets/*.py",
    "spark_jobs/transforms/*.*",
)


class BuildPackages(build_py):
    """Builds the packages, and outside of editable installs the shipped files with them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for target, source in self._shipped().items():
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            copy2(source, target)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), *self._shipped()]

    def get_output_mapping(self) -> dict[str, str]:
        return {**super().get_output_mapping(), **self._shipped()}

    def _shipped(self) -> dict[str, str]:
        """Target -> source."""
        if self.editable_mode:
            return {}
        folder = Path(self.build_lib) / "tidemill" / "shipped"
        sources = (path for pattern in SHIPPED for path in sorted(Path().glob(pattern)))
        return {str(folder / path): str(path) for path in sources if path.is_file()}


setup(cmdclass={"build_py": BuildPackages})
