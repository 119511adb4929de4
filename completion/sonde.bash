# SPDX-License-Identifier: MIT
# bash completion for sonde; `sonde complete` says what there is.

_sonde_files() { # compgen's option, the word
	local typed=$2
	[[ $2 == -*=* ]] && typed=${2#*=}
	compopt -o filenames 2>/dev/null
	while IFS= read -r found; do
		COMPREPLY+=("${2%"$typed"}$found")
	done < <(compgen "$1" -- "$typed")
}

_sonde() {
	local line=${COMP_LINE:0:COMP_POINT} words=() places=()
	local i rest word found

	# Bash parts words at : and =, too: put together what no blank parts.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		rest=${line#"${line%%[![:blank:]]*}"}
		((i < COMP_CWORD)) || word=$rest
		if ((i)) && [[ $rest == "$line" ]]; then
			words[-1]+=$word
		else
			words+=("$word")
			places+=("$i")
		fi
		line=${rest#"$word"}
	done
	word=${words[-1]}
	COMPREPLY=()
	while IFS=$'\t' read -r found _; do
		case $found in
		@file) _sonde_files -f "$word" ;;
		@dir) _sonde_files -d "$word" ;;
		@program*)
			i=$((${found#@program } + 1))
			if declare -F _command_offset >/dev/null; then
				_command_offset "${places[i]}"
				return
			fi
			((${#words[@]} - 1 > i)) || _sonde_files -c "$word"
			_sonde_files -f "$word"
			;;
		*) COMPREPLY+=("$found") ;;
		esac
	done < <("$1" complete $((${#words[@]} - 2)) "${words[@]:1}" \
		"${COMP_WORDS[@]:COMP_CWORD+1}" 2>/dev/null)
	# What stands before the last : or = is no part of the word for bash.
	rest=${word%"${word##*["${COMP_WORDBREAKS//[!:=]/}"]}"}
	[[ $COMP_WORDBREAKS == *[:=]* ]] || rest=
	COMPREPLY=("${COMPREPLY[@]#"$rest"}")
}

complete -F _sonde sonde
