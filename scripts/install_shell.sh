#!/usr/bin/env bash
# Puts what shells complete and the manual pages where the user's shells and man look, and says where.
# Usage: scripts/install_shell.sh [PINION], by default the command that `cargo install` has put in place.
set -eu
pinion=${1:-${CARGO_INSTALL_ROOT:-${CARGO_HOME:-$HOME/.cargo}}/bin/pinion}
[ -x "$pinion" ] || pinion=$(command -v pinion) || {
    echo "$0: no command pinion is installed; give its path: $0 PATH" >&2
    exit 2
}
case ${XDG_DATA_HOME:-} in
/*) data=$XDG_DATA_HOME ;;
*) data=$HOME/.local/share ;; # what is no absolute path does not count (XDG Base Directory)
esac

# put SHELL FILE: its completions, whole or not at all.
put() {
    mkdir -p "$(dirname "$2")"
    "$pinion" completions "$1" >"$2.new"
    mv "$2.new" "$2"
    echo "$1: $2"
}

put bash "$data/bash-completion/completions/pinion"
put zsh "$data/zsh/site-functions/_pinion"
put fish "$data/fish/vendor_completions.d/pinion.fish"
"$pinion" man --out "$data/man/man1" >/dev/null
echo "man: $data/man/man1/pinion.1 and a page for each command"
cat <<EOF
bash (with the package bash-completion) and fish find theirs in a new shell.
zsh needs, before compinit in ~/.zshrc:  fpath=($data/zsh/site-functions \$fpath)
EOF
case ":$(manpath -q 2>/dev/null || true):" in
*:"$data/man":*) ;;
*) echo "man needs, in the shell's start file:    export MANPATH=$data/man:" ;;
esac
