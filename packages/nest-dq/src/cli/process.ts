import { printNote } from 'nest-handlers/cli';

/** Prints a line for people on standard error. */
export function note(message: string): void {
  printNote('nest-dq', message);
}

/** The signals that ask a process to end. */
export const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Resolves when this process is asked to end. Once called, these signals no longer end the process on their own. */
export function askedToEnd(signals: readonly NodeJS.Signals[] = ENDING): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of signals) process.on(signal, () => resolve());
  });
}
