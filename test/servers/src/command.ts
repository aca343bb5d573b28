import { setMaxListeners } from 'node:events';

export interface Command<Flags> {
  readonly usage: string;
  /** Throws an Error for the user. */
  readonly readFlags: () => Flags;
  /** Gives the exit status. */
  readonly run: (flags: Flags) => Promise<number> | number;
}

/** Runs a command of this workspace. Gives the exit status: 2 for wrong arguments, 0 after `--help`, or what `run` gives. */
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

/** Gives what `run` does, or 130 if SIGINT or SIGTERM, which abort its signal, made it reject. `ended` tells the user. */
export async function untilSignal(
  ended: string,
  run: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const ending = new AbortController();
  setMaxListeners(0, ending.signal); // every wait listens to it, and hundreds may wait at once
  // Once: a second Ctrl-C ends it at once; no server or consumer outlives this process.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
  try {
    return await run(ending.signal);
  } catch (error) {
    if (!ending.signal.aborted) throw error;
    process.stderr.write(`\n${ended}\n`);
    return 130;
  }
}
