# make install PREFIX=/usr/local [DESTDIR=…]: the program, its manual pages and its completions.
#
# BINARY names a program that is built already.

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
INSTALL ?= install

BUILT := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)/release/git-locks
BINARY ?= $(BUILT)

bindir = $(DESTDIR)$(PREFIX)/bin
mandir = $(DESTDIR)$(PREFIX)/share/man/man1
bashdir = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zshdir = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
fishdir = $(DESTDIR)$(PREFIX)/share/fish/vendor_conf.d

PAGES := $(wildcard man/*.1)
SOURCES := Cargo.toml Cargo.lock $(shell find src man/prose completions -type f) doc/config.md doc/output.md

all: $(BINARY)

$(BUILT): $(SOURCES)
	$(CARGO) build --locked --release
	@touch $@

install: $(BINARY)
	$(INSTALL) -d "$(bindir)" "$(mandir)" "$(bashdir)" "$(zshdir)" "$(fishdir)"
	$(INSTALL) -m 755 "$(BINARY)" "$(bindir)/git-locks"
	$(INSTALL) -m 644 $(PAGES) "$(mandir)"
	$(INSTALL) -m 644 completions/git-locks.bash "$(bashdir)/git-locks"
	$(INSTALL) -m 644 completions/_git-locks "$(zshdir)/_git-locks"
	$(INSTALL) -m 644 completions/git-locks.fish "$(fishdir)/git-locks.fish"

uninstall:
	rm -f "$(bindir)/git-locks" $(patsubst man/%,"$(mandir)/%",$(PAGES)) \
		"$(bashdir)/git-locks" "$(zshdir)/_git-locks" "$(fishdir)/git-locks.fish"

.PHONY: all install uninstall
