import { printNote } from 'nest-handlers/cli';

/** Writes a line for people to standard error. */
export function note(message: string): void {
  printNote('nest-dq', message);
}

/** The signals that ask a process to end. */
export const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Resolves when this process is asked to end. After this call, the signals no longer end the process by themselves. */
export function askedToEnd(signals: readonly NodeJS.Signals[] = ENDING): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of signals) process.on(signal, () => resolve());
  });
}
