# fish completion of git-locks, called as `git-locks` or as `git locks`.
#
# fish reads it when it starts, from ~/.config/fish/conf.d:
#
#     git-locks completions fish > ~/.config/fish/conf.d/git-locks.fish
#
# Not from its completions, of which it reads git's alone when git is to be completed. What is
# offered, the program itself says.

function __git_locks_offer
    set -l before (commandline -opc)
    set -l cur (commandline -ct)
    set -l at 1
    set -l where
    if string match -qr '(^|/)git$' -- $before[1]
        # Past git's own options; `git -C DIR locks` looks from DIR.
        set at 2
        while set -q before[$at]
            switch $before[$at]
                case -C
                    set -a where $before[$at..(math $at + 1)]
                    set at (math $at + 2)
                case -c --git-dir --work-tree --namespace
                    set at (math $at + 2)
                case '-*'
                    set at (math $at + 1)
                case '*'
                    break
            end
        end
    end
    set -e before[1..$at]
    set -l offer (command git-locks $where complete -- $before "$cur" 2>/dev/null)
    or return
    set -l kind $offer[1]
    set -e offer[1]
    switch "$kind"
        case command
            set -l dashes (contains -i -- -- $before)
            set -e before[1..$dashes]
            complete -C (string join ' ' -- (string escape -- $before) "$cur")
        case directories
            __fish_complete_directories "$cur"
    end
    set -q offer[1]
    and printf '%s\n' $offer
end

# Whether git is to complete what follows `git locks`, or a command of its own.
function __git_locks_of_git
    functions -q __fish_git_using_command
    and __fish_git_using_command locks >/dev/null
end
function __git_locks_may_come
    functions -q __fish_git_needs_command
    and __fish_git_needs_command >/dev/null
end

complete -c git-locks -f -a '(__git_locks_offer)'
complete -c git -f -n __git_locks_of_git -a '(__git_locks_offer)'
complete -c git -f -n __git_locks_may_come -a locks -d 'Take turns in a repository'
