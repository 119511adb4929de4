# SPDX-License-Identifier: MIT
# fish completion for sonde; `sonde complete` says what there is.

function __sonde_complete
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    set -l next (math (count $before) + 2)
    set -l all (commandline -o)
    set -l after $all[$next..-1]
    for found in ($before[1] complete (math (count $before) - 1) \
            $before[2..-1] $word $after 2>/dev/null)
        switch $found
            case @file
                __fish_complete_path $word
            case @dir
                __fish_complete_directories $word
            case '@program*'
                set -l skipped (math (string replace '@program ' '' $found) + 1)
                __fish_complete_subcommand --fcs-skip=$skipped
            case '*'
                echo $found
        end
    end
end

complete -c sonde -f -a '(__sonde_complete)'
