import type { Arguments } from 'nest-handlers/cli';

/** The text of a flag, or of its variable: DQ_TLS_CA is that of `tls-ca`. An empty variable is as good as none. */
export function givenText(args: Arguments, flag: string, expected: string): string | undefined {
  const variable = process.env[variableOf(flag)];
  return args.text(flag, expected) ?? (variable === '' ? undefined : variable);
}

export function variableOf(flag: string): string {
  return `DQ_${flag.toUpperCase().replaceAll('-', '_')}`;
}
