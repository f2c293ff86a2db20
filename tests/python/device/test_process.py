"""Tests that need their own process: imports, variables, and the order in which libraries load.

Fork and the process's end are in tests/robustness.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import entrepot, output_of


def run(code: str, **environment: str | None) -> str:
    """Standard output of a fresh interpreter, which must exit by itself with status 0."""
    variables = {
        **os.environ,
        **{name: value for name, value in environment.items() if value is not None},
    }
    for name, value in environment.items():
        if value is None:
            variables.pop(name, None)
    return output_of([sys.executable, "-c", code], env=variables, timeout=120).strip()


#: Prints the row of SYCL.
ROW = """
import entrepot._core as core
print(*(row for row in core.backends() if row[0] == 'sycl'))
"""


def run_with_plugin(folder: Path, source: str, code: str = ROW) -> str:
    """Runs the code with a plugin for SYCL that is compiled from this C source."""
    file, include = folder / "plugin.c", Path(__file__).parents[3] / "include"
    file.write_text(source)
    library = folder / "libentrepot_sycl9.so"
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{include}", "-o", library, file], check=True)
    return run(code, ENTREPOT_PLUGIN_PATH=str(folder))


LISTED = "print(','.join(str(device) for device in ep.devices()))"


class TestImport:
    def test_import_loads_no_backend_and_nothing_heavy(self):
        out = run("""
import sys
before = set(sys.modules)
import entrepot
heavy = {"numpy", "importlib.metadata", "rich", "ctypes", "typing", "argparse"}
heavy &= set(sys.modules) - before
maps = open("/proc/self/maps").read()
print(sorted(heavy), "libsycl" in maps, "libOpenCL" in maps, "libcuda" in maps)
""")
        assert out == "[] False False False"

    def test_variable_of_the_user_is_unchanged(self):
        code = "import os, entrepot; print(os.environ['OCL_ICD_FILENAMES'])"
        assert run(code, OCL_ICD_FILENAMES="/mine.so") == "/mine.so"

    def test_opencl_cpu_can_be_turned_off(self):
        code = "import os, entrepot; print(os.environ.get('OCL_ICD_FILENAMES'))"
        assert run(code, OCL_ICD_FILENAMES=None, ENTREPOT_OPENCL_CPU="0") == "None"

    def test_unknown_default_device_names_the_variable(self):
        code = "import entrepot as ep\ntry: ep.device()\nexcept ValueError as error: print(error)"
        assert run(code, ENTREPOT_DEVICE="metal").startswith(
            "ENTREPOT_DEVICE: 'metal' is no device selector"
        )

    def test_default_device_is_host_or_entrepot_device(self):
        code = "import entrepot as ep; print(ep.device())"
        assert run(code, ENTREPOT_DEVICE=None) == "host"
        assert run(code, ENTREPOT_DEVICE="HOST") == "host"


@pytest.mark.sycl
class TestFindingTheDevice:
    def test_opencl_is_found_without_variables(self):
        assert "opencl:cpu:0" in run(f"import entrepot as ep; {LISTED}", OCL_ICD_FILENAMES=None)

    @pytest.mark.dpctl
    @pytest.mark.parametrize(
        "imports", ["import dpctl, entrepot as ep", "import entrepot as ep, dpctl"]
    )
    def test_dpctl_finds_opencl_cpu_in_any_import_order(self, imports):
        out = run(f"{imports}; print(len(dpctl.get_devices())); {LISTED}", OCL_ICD_FILENAMES=None)
        assert out.splitlines() == ["1", "opencl:cpu:0,host"]

    @pytest.mark.dpctl
    @pytest.mark.parametrize("first", ["dpctl", "entrepot"])
    def test_sycl_runtime_is_loaded_once(self, first):
        out = run(
            f"""
import {first}, entrepot as ep, dpctl
ep.devices(), dpctl.get_devices()
print(len({{line.split()[-1] for line in open("/proc/self/maps") if "/libsycl.so" in line}}))
"""
        )
        assert out == "1"

    @pytest.mark.dpctl
    def test_device_list_made_too_early_is_reported(self):
        out = run(
            "import dpctl; dpctl.get_devices(); import entrepot as ep, entrepot._core as core\n"
            "print(dict((name, reason) for name, _, reason in core.backends())['sycl'])",
            OCL_ICD_FILENAMES=None,
        )
        assert "the platforms were listed and none found, probably before it was set" in out

    def test_missing_driver_file_is_named(self):
        out = run(
            "import entrepot._core as core; print(dict((name, reason) for name, _, reason in "
            "core.backends())['sycl'])",
            OCL_ICD_FILENAMES="/nonexistent.so",
        )
        assert "/nonexistent.so, which does not exist: set it to" in out

    def test_disabled_cpu_device_is_named(self):
        out = run(
            "import entrepot._core as core; print(dict((name, reason) for name, _, reason in "
            "core.backends())['sycl'])",
            OCL_ICD_FILENAMES=None,
            ENTREPOT_OPENCL_CPU="0",
        )
        assert "OCL_ICD_FILENAMES is not set" in out
        assert "libintelocl.so" in out

    def test_absent_plugin_is_reported_and_the_host_works(self, tmp_path):
        out = run(
            f"import entrepot as ep; {LISTED}\ntry: ep.device('opencl')\nexcept ep.DeviceError as "
            "error: print(error)",
            ENTREPOT_PLUGIN_PATH=str(tmp_path),
        )
        assert out.splitlines()[0] == "host"
        assert "libentrepot_sycl9.so is not there" in out

    def test_backend_that_cannot_list_devices_is_absent_with_reason(self, tmp_path):
        row = run_with_plugin(
            tmp_path,
            """
            #include <entrepot/device/backend.h>
            static const ep_loader *loader;
            static ep_status device_count(uint32_t *count) {
                loader->set_error("the driver is having a bad day");
                return EP_DEVICE_ERROR;
            }
            ep_status entrepot_backend(const ep_loader *given, const ep_backend **backend) {
                static ep_backend table = {
                    .size = sizeof(ep_backend), .version = EP_BACKEND_VERSION, .name = "sycl"};
                table.device_count = device_count;
                loader = given;
                *backend = &table;
                return EP_OK;
            }
            """,
        )
        assert row == "('sycl', False, 'the driver is having a bad day')"

    def test_plugin_without_table_is_refused(self, tmp_path):
        row = run_with_plugin(
            tmp_path,
            """
            #include <entrepot/device/backend.h>
            ep_status entrepot_backend(const ep_loader *loader, const ep_backend **backend) {
                return EP_OK;
            }
            """,
        )
        assert "libentrepot_sycl9.so returned no table of functions" in row

    def test_threads_run_while_backend_is_loaded(self, tmp_path):
        out = run_with_plugin(
            tmp_path,
            """
            #include <entrepot/device/backend.h>
            #include <stdio.h>
            #include <stdlib.h>
            #include <unistd.h>
            ep_status entrepot_backend(const ep_loader *loader, const ep_backend **backend) {
                fclose(fopen("loading", "w"));
                for (int turn = 0; turn < 500 && access("seen", F_OK) != 0; ++turn) usleep(10000);
                loader->set_error(access("seen", F_OK) == 0 ? "seen" : "no thread ran");
                return EP_DEVICE_ERROR;
            }
            """,
            f"""
import os, pathlib, threading, time
import entrepot as ep

def load():
    try:
        ep.device("opencl")
    except ep.DeviceError as error:
        print(error)

os.chdir({str(tmp_path)!r})
threads = [threading.Thread(target=load) for _ in range(2)]
for thread in threads:
    thread.start()
while not pathlib.Path("loading").exists():
    time.sleep(0.01)
pathlib.Path("seen").touch()
for thread in threads:
    thread.join()
""",
        )
        assert out.count("sycl: seen") == 2, out

    @pytest.mark.parametrize("name", ["libsycl.so.8", "libsycl.so.7"])
    def test_other_sycl_generation_is_refused(self, tmp_path, name):
        source = tmp_path / "other.c"
        source.write_text("int other_generation;\n")
        library = tmp_path / name
        subprocess.run(
            ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", library, source], check=True
        )
        out = run(
            f"import ctypes; ctypes.CDLL({str(library)!r}); import entrepot as ep\n"
            "try: ep.device('opencl')\nexcept ep.DeviceError as error: print(error)"
        )
        assert (
            f"another generation of the SYCL runtime is in this process, {name} ({library})" in out
        )
        assert "libsycl.so.9" in out

    def test_old_tbb_loaded_first_is_reported(self, tmp_path):
        source = tmp_path / "tbb.c"
        version = 'const char *TBB_runtime_version(void) { return "2021.8"; }\n'
        source.write_text("int TBB_runtime_interface_version(void) { return 12080; }\n" + version)
        library = tmp_path / "libtbb.so.12"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-Wl,-soname,libtbb.so.12", "-o", library, source],
            check=True,
        )
        out = run(
            f"import ctypes; ctypes.CDLL({str(library)!r}); import entrepot._core as core\n"
            "print(dict((name, reason) for name, _, reason in core.backends())['sycl'])"
        )
        assert f"oneTBB 2021.8 ({library}) was mapped first" in out

    def test_other_opencl_loader_loaded_first_is_reported(self, tmp_path):
        source = tmp_path / "opencl.c"
        source.write_text(
            "int clGetPlatformIDs(unsigned n, void *p, unsigned *found) { *found = 0; return "
            "-1001; }\n"
        )
        library = tmp_path / "libOpenCL.so.1"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-w", "-Wl,-soname,libOpenCL.so.1", "-o", library, source],
            check=True,
        )
        out = run(
            f"import ctypes; ctypes.CDLL({str(library)!r}); import entrepot._core as core\n"
            "print(dict((name, reason) for name, _, reason in core.backends())['sycl'])"
        )
        assert f"another OpenCL loader ({library}) was mapped first" in out
        assert "OCL_ICD_VENDORS=" in out


class TestCommand:
    def test_devices_are_listed_with_reasons(self):
        done = entrepot("devices", check=True)
        assert "what was loaded, or why not" in done.stdout
        for backend in ("sycl", "cuda", "hip", "host"):
            assert backend in done.stdout

    def test_rich_is_not_needed(self):
        out = run(
            "import sys; sys.modules['rich'] = None\nfrom entrepot.cli import "
            "main\nsys.exit(main(['devices']))"
        )
        assert "host" in out

    def test_unknown_command_is_refused(self):
        done = entrepot("nonsense")
        assert done.returncode == 2
        assert "nonsense" in done.stderr
