import type { Flag, Flags } from './arguments.js';
import type { Command } from './command.js';

/** Shells with completion. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** The part of a command that completion offers. */
type Offered = Pick<Command, 'name' | 'summary' | 'flags'> & {
  /** Words for its operand, if they are known. */
  readonly words?: readonly string[];
};

/** Returns the script that completes commands and flags of a program, for a shell to evaluate. */
export function completionFor(shell: Shell, program: string, commands: readonly Offered[]): string {
  if (shell === 'fish') return fish(program, commands);
  const script = bash(program, commands);
  if (shell === 'bash') return script;
  return `autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${script}`;
}

function bash(program: string, commands: readonly Offered[]): string {
  const name = `_${program.replaceAll(/\W/g, '_')}`;
  const cases = commands.map((command) => {
    const [first, second] = command.name.split(' ');
    const pattern = second === undefined ? `'${first} '*` : `'${command.name}'`;
    return `    ${pattern}) case "$prev" in${flagCases(command.flags)} *) words='${wordsOf(command).join(' ')}' ;; esac ;;`;
  });
  // A group comes after its commands: `dead list`, then `dead` with anything else.
  const groups = groupsOf(commands).map(
    ([first, seconds]) => `    '${first} '*) words='${seconds.join(' ')}' ;;`,
  );
  return `# Completion of ${program}: eval "$(${program} completion bash)"
${name}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" first= second= words=
  if [ "$COMP_CWORD" -gt 1 ]; then first="\${COMP_WORDS[1]}"; fi
  if [ "$COMP_CWORD" -gt 2 ]; then second="\${COMP_WORDS[2]}"; fi
  COMPREPLY=()
  case "$first $second" in
    ' ') words='${firstWords(commands).join(' ')}' ;;
${[...cases, ...groups].join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F ${name} ${program}
`;
}

/** Flags with a value: the words to choose from, files, or nothing that is known. */
function flagCases(flags: Flags): string {
  const named = (kind: (flag: Flag) => boolean) =>
    Object.entries(flags).flatMap(([name, flag]) =>
      flag.value !== undefined && kind(flag) ? [`--${name}`] : [],
    );
  const chosen = Object.entries(flags).flatMap(([name, { values }]) =>
    values ? [` --${name}) words='${values.join(' ')}' ;;`] : [],
  );
  const files = named(isFile);
  const others = named((flag) => !flag.values && !isFile(flag));
  return [
    ...chosen,
    ...(files.length > 0 ? [` ${files.join('|')}) COMPREPLY=($(compgen -f -- "$cur")); return ;;`] : []),
    ...(others.length > 0 ? [` ${others.join('|')}) ;;`] : []),
  ].join('');
}

function fish(program: string, commands: readonly Offered[]): string {
  const complete = (condition: string, rest: string) => `complete -c ${program} -n '${condition}' ${rest}`;
  const seen = (words: string) => `__fish_seen_subcommand_from ${words}`;
  const groups = new Map(groupsOf(commands));
  const lines = commands.flatMap((command) => {
    const { name, summary, flags, words = [] } = command;
    const [first = '', second] = name.split(' ');
    const isCommand = second === undefined ? seen(first) : `${seen(first)}; and ${seen(second)}`;
    const before =
      second === undefined
        ? '__fish_use_subcommand'
        : `${seen(first)}; and not ${seen(groups.get(first)!.join(' '))}`;
    return [
      complete(before, `-a ${second ?? first} -d ${quoted(summary)}`),
      ...(words.length > 0 ? [complete(isCommand, `-a '${words.join(' ')}'`)] : []),
      ...Object.entries(flags).map(([name, flag]) =>
        complete(isCommand, `-l ${name}${fishValues(flag)} -d ${quoted(flag.help)}`),
      ),
    ];
  });
  const first = [...groups.keys()].map((group) => complete('__fish_use_subcommand', `-a ${group}`));
  return [
    `# Completion of ${program}: ${program} completion fish | source`,
    `complete -c ${program} -f`,
    ...first,
    ...lines,
    '',
  ].join('\n');
}

function fishValues(flag: Flag): string {
  if (flag.values) return ` -x -a '${flag.values.join(' ')}'`;
  if (flag.value === undefined) return '';
  return isFile(flag) ? ' -r -F' : ' -x';
}

function isFile({ value }: Flag): boolean {
  return value === 'FILE' || value === 'FOLDER' || value === 'PATH';
}

function wordsOf({ flags, words = [] }: Offered): string[] {
  return [...words, ...Object.keys(flags).map((flag) => `--${flag}`)];
}

function firstWords(commands: readonly Offered[]): string[] {
  return [...new Set(commands.map(({ name }) => name.split(' ')[0]!))];
}

/** The first words that several commands share, each with the second words. */
function groupsOf(commands: readonly Offered[]): [first: string, seconds: string[]][] {
  const groups = new Map<string, string[]>();
  for (const { name } of commands) {
    const [first = '', second] = name.split(' ');
    if (second !== undefined) groups.set(first, [...(groups.get(first) ?? []), second]);
  }
  return [...groups];
}

function quoted(text: string): string {
  return `'${text.replaceAll('\n', ' ').replaceAll(/[\\']/g, '\\$&')}'`;
}
