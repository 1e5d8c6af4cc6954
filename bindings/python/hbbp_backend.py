"""Builds the package without other packages or a network: the build backend of pyproject.toml (PEP 517, PEP 660).

A wheel has the package alone, and looks for the library where it runs; or it has a library inside, by
`--config-settings library=PATH` of pip, or as a command:

usage: hbbp_backend.py [--library LIBHBBP.SO] DIRECTORY    writes a wheel into DIRECTORY
"""
import argparse
import base64
import hashlib
import io
import os
import pathlib
import re
import sysconfig
import tarfile
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parent
NAME = 'hbbp'
# Where an archive says no time, files are of 1980, so that equal sources make equal archives.
EPOCH = (1980, 1, 1, 0, 0, 0)
METADATA = """\
Metadata-Version: 2.1
Name: hbbp
Version: {version}
Summary: How often each basic block of a running program executes, and which instructions: libhbbp
License: Apache-2.0
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Software Development
Classifier: Typing :: Typed
Requires-Python: >=3.8
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Description-Content-Type: text/markdown

{readme}"""


def _version():
    # The package is not imported, since that may be for another Python than this one.
    text = (SOURCE / 'src' / NAME / '_abi.py').read_text(encoding='utf-8')
    return re.search(r"^HBBP_VERSION_STRING = '(.*)'$", text, re.MULTILINE).group(1)


def _soname():
    major = _version().partition('.')[0]
    return f'libhbbp.so.{major}'


def _metadata():
    readme = (SOURCE / 'README.md').read_text(encoding='utf-8')
    return METADATA.format(version=_version(), readme=readme)


def _tag(library):
    platform = sysconfig.get_platform().replace('-', '_').replace('.', '_') if library else 'any'
    return f'py3-none-{platform}'


def _package_files():
    return sorted(path for path in (SOURCE / 'src' / NAME).iterdir() if path.is_file())


def _dist_info():
    return f'{NAME}-{_version()}.dist-info'


def _description(library):
    """Returns {file name: content} of the directory with the metadata, except RECORD."""
    is_pure = 'false' if library else 'true'
    return {
        'METADATA': _metadata(),
        'WHEEL': f'Wheel-Version: 1.0\nGenerator: hbbp_backend\nRoot-Is-Purelib: {is_pure}\n'
                 f'Tag: {_tag(library)}\n',
    }


def _write_wheel(directory, files, library):
    """Writes {path: bytes} and the metadata into a wheel, and returns its name."""
    info = _dist_info()
    files = dict(files)
    for name, text in _description(library).items():
        files[f'{info}/{name}'] = text.encode()
    record = ''
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()
        record += f'{path},sha256={digest},{len(content)}\n'
    files[f'{info}/RECORD'] = (record + f'{info}/RECORD,,\n').encode()
    name = f'{NAME}-{_version()}-{_tag(library)}.whl'
    os.makedirs(directory, exist_ok=True)
    with zipfile.ZipFile(os.path.join(directory, name), 'w', zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if path == f'{NAME}/{_soname()}' else 0o100644) << 16
            archive.writestr(entry, content)
    return name


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    directory = pathlib.Path(metadata_directory) / _dist_info()
    directory.mkdir()
    for name, text in _description((config_settings or {}).get('library')).items():
        (directory / name).write_text(text, encoding='utf-8')
    return directory.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = (config_settings or {}).get('library')
    files = {f'{NAME}/{path.name}': path.read_bytes() for path in _package_files()}
    if library:
        path = pathlib.Path(library)
        if not path.is_file():
            raise SystemExit(f'hbbp_backend.py: {path.resolve()}: no such library; pip needs its full path')
        # The package looks next to itself first.
        files[f'{NAME}/{_soname()}'] = path.read_bytes()
    return _write_wheel(wheel_directory, files, library)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, {f'{NAME}.pth': f'{SOURCE / "src"}\n'.encode()}, None)


def build_sdist(sdist_directory, config_settings=None):
    base = f'{NAME}-{_version()}'
    files = {'PKG-INFO': _metadata().encode()}
    for path in [*_package_files(), SOURCE / 'README.md', SOURCE / 'pyproject.toml',
                 pathlib.Path(__file__).resolve()]:
        files[str(path.relative_to(SOURCE))] = path.read_bytes()
    os.makedirs(sdist_directory, exist_ok=True)
    name = f'{base}.tar.gz'
    with tarfile.open(os.path.join(sdist_directory, name), 'w:gz', format=tarfile.PAX_FORMAT) as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(f'{base}/{path}')
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--library')
    parser.add_argument('directory')
    arguments = parser.parse_args()
    print(build_wheel(arguments.directory, {'library': arguments.library}))


if __name__ == '__main__':
    main()
