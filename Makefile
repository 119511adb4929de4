# SPDX-License-Identifier: MIT
#
# A short entry to the build, which is meson's. `make help` says what there is.

BUILD ?= build
MESON ?= meson

.PHONY: all demo demo-fleet check check-all check-vm check-kills papers deps install format \
	tidy clean help

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@command -v $(MESON) >/dev/null || \
		{ echo "meson is missing; 'make deps' installs it" >&2; exit 1; }
	$(MESON) setup $(BUILD)

deps:
	@tools/install-deps build

demo:
	@tools/install-deps demo
	@$(MAKE) --no-print-directory all >$(BUILD).log 2>&1 || \
		{ tail -n 20 $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
	@tools/demo $(BUILD)

demo-fleet:
	@tools/install-deps fleet
	@$(MAKE) --no-print-directory all >$(BUILD).log 2>&1 || \
		{ tail -n 20 $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
	@tools/demo-fleet $(BUILD)

check:
	@tools/install-deps check
	@tools/check

check-all:
	@tools/install-deps check
	@tools/check all

check-vm:
	@tools/install-deps vm
	@tools/check-vm

check-kills: all
	@tools/install-deps check
	@SONDE_BUILD=$(BUILD) tests/e2e/kills.py $(KILLS)

papers: all
	@bench/papers/run --build $(BUILD) $(PAPERS)

install: all
	$(MESON) install -C $(BUILD) --no-rebuild

format:
	@tools/c_files | xargs clang-format -i

tidy:
	@tools/check tidy

clean:
	rm -rf build build-*

help:
	@echo 'make          build into $(BUILD)/'
	@echo 'make demo     record two real programs and show what came out'
	@echo 'make demo-fleet  three machines on one: why was a request slow? As root'
	@echo 'make check    run the tests and checks, half an hour on two CPUs'
	@echo 'make check-all  those, and other builds: clang, sanitizers, fuzzing, models'
	@echo 'make check-vm record kernel events on other kernels, in virtual machines'
	@echo 'make check-kills kill everything a thousand times (KILLS="-n 50 front")'
	@echo 'make papers   the tables of papers, measured here (PAPERS="--quick lttng-1")'
	@echo 'make install  install (DESTDIR and meson options are obeyed)'
	@echo 'make deps     install what the build needs from Debian packages'
	@echo 'make format   let clang-format lay out the sources'
	@echo 'make tidy     run clang-tidy alone'
	@echo 'make clean    remove what was built'
	@echo
	@echo 'make demo and make check install what they lack, as make deps does.'
