# bash completion of git-locks, called as `git-locks` or as `git locks`.
#
# bash-completion finds it by itself as `git-locks` in
# ~/.local/share/bash-completion/completions; elsewhere, read it from ~/.bashrc:
#
#     eval "$(git-locks completions bash)"
#
# For `git locks` it needs git's own completion. What is offered, the program itself says; what it
# says is never run, and is quoted before it gets to the command line.

# __git_locks_offer CUR CMD…: offers what CMD says for the word CUR.
__git_locks_offer ()
{
	local cur=$1 offer kind value about word head='' quote=1 breaks=${COMP_WORDBREAKS//[^:=]/}
	shift
	COMPREPLY=()
	offer=$("$@" 2>/dev/null) || return 0
	# Only what follows the last of its word breaks is replaced by readline.
	if [[ -n $breaks && $cur != [\"\']* ]]; then
		head=${cur%"${cur##*[$breaks]}"}
	fi
	kind=${offer%%$'\n'*}
	if [[ $kind == command ]]; then
		__git_locks_command
		return 0
	fi
	if [[ $kind == directories ]] && compopt -o filenames +o nospace 2>/dev/null; then
		quote=
		while IFS= read -r value; do
			[[ -z $value ]] || COMPREPLY+=("$value")
		done <<< "$(compgen -d -- "${cur#"$head"}")"
	fi
	while IFS=$'\t' read -r value about; do
		[[ -n $value ]] || continue
		word=$value
		if [[ -n $quote ]]; then
			printf -v word %q "$value"
			# Inside quotes, only what needs none is offered.
			[[ $cur != [\"\']* || $word == "$value" ]] || continue
		fi
		[[ $word == "$head"* ]] || continue
		word=${word#"$head"}
		[[ -z $quote || $word == *= ]] || word+=' '
		COMPREPLY+=("$word")
	done <<< "${offer#"$kind"}"
}

# Completes the command that follows two dashes.
__git_locks_command ()
{
	local i
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -- ]] && break
	done
	((i++))
	if declare -F _command_offset >/dev/null; then
		_command_offset "$i"
	elif ((i == COMP_CWORD)); then
		local value
		while IFS= read -r value; do
			[[ -z $value ]] || COMPREPLY+=("$value ")
		done <<< "$(compgen -c -- "${COMP_WORDS[i]}")"
	fi
}

# Called by git's completion, with its words, cword and cur.
_git_locks ()
{
	local at=${__git_cmd_idx:-1}
	while ((at < cword)) && [[ ${words[at]} != locks ]]; do
		((at++))
	done
	__git_locks_offer "$cur" __git locks complete --quoted -- \
		"${words[@]:at+1:cword-at-1}" "$cur"
}

__git_locks_main ()
{
	local cur words=() cword=0 i
	if declare -F _get_comp_words_by_ref >/dev/null; then
		_get_comp_words_by_ref -n =: cur words cword
	else
		# Without help, a word is put together again from the pieces at `=` and `:`.
		for ((i = 0; i <= COMP_CWORD; i++)); do
			if ((cword > 1)) && [[ ${COMP_WORDS[i]} == [=:]* || ${COMP_WORDS[i-1]} == *[=:] ]]; then
				words[cword-1]+=${COMP_WORDS[i]}
			else
				words[cword++]=${COMP_WORDS[i]}
			fi
		done
		((cword--))
		cur=${words[cword]}
	fi
	__git_locks_offer "$cur" git-locks complete --quoted -- "${words[@]:1:cword-1}" "$cur"
}

complete -o bashdefault -o default -o nospace -F __git_locks_main git-locks 2>/dev/null ||
	complete -o default -o nospace -F __git_locks_main git-locks
