import { readFileSync } from 'node:fs';
import { escapedLines } from 'nest-handlers/log';

/** A line for people, on standard error. As with `print`, nothing in it is obeyed by a terminal, whoever wrote it. */
export function tell(message: string): void {
  process.stderr.write(escapedLines(`nest-dq: ${message}\n`));
}

/** What was asked for, on standard output: text or JSON. False: its reader is slow. */
export function print(text: string): boolean {
  return process.stdout.write(escapedLines(text));
}

/** Of the installed package. */
export function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** The signals that ask a process to end. */
export const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Resolves when this process is asked to end. From its call on, the signals by themselves do not end it. */
export function askedToEnd(signals: readonly NodeJS.Signals[] = ENDING): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of signals) process.on(signal, () => resolve());
  });
}
