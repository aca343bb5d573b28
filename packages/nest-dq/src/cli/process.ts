import { tellAs } from 'nest-handlers/cli';

/** A line for people, on standard error. */
export function tell(message: string): void {
  tellAs('nest-dq', message);
}

/** The signals that ask a process to end. */
export const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Resolves when this process is asked to end. From its call on, the signals by themselves do not end it. */
export function askedToEnd(signals: readonly NodeJS.Signals[] = ENDING): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of signals) process.on(signal, () => resolve());
  });
}
