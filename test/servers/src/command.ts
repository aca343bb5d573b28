import { setMaxListeners } from 'node:events';

export interface Command<Flags> {
  readonly usage: string;
  /** Throws an Error with a message for the user. */
  readonly readFlags: () => Flags;
  /** Returns the exit status. */
  readonly run: (flags: Flags) => Promise<number> | number;
}

/** Runs a command of this workspace. Resolves with the exit status: 2 for wrong arguments, 0 for `--help`, or that of `run`. */
export async function runCommand<Flags extends { readonly help: boolean }>({
  usage,
  readFlags,
  run,
}: Command<Flags>): Promise<number> {
  let flags: Flags;
  try {
    flags = readFlags();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  if (flags.help) {
    process.stdout.write(usage);
    return 0;
  }
  return run(flags);
}

/**
 * SIGINT and SIGTERM abort the signal of `run`. If `run` then rejects, prints `ended` and resolves with 130. Otherwise
 * resolves or rejects as `run` does.
 */
export async function untilSignal(
  ended: string,
  run: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const ending = new AbortController();
  setMaxListeners(0, ending.signal); // every wait adds a listener, and there may be hundreds at a time
  // `once`, so that a second Ctrl-C ends this process at once. No server or consumer outlives it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
  try {
    return await run(ending.signal);
  } catch (error) {
    if (!ending.signal.aborted) throw error;
    process.stderr.write(`\n${ended}\n`);
    return 130;
  }
}
