import type { LabSettings, Workplace } from './workplace.js';

/** How an experiment ended, whatever it was about. */
export interface Ending {
  /** Duration in ms. */
  readonly took: number;
  readonly passed: boolean;
  /** Why it did not pass. */
  readonly why: readonly string[];
  /** For the reader of its row. */
  readonly notes: readonly string[];
  /** The folder of all logs, if they were kept. */
  readonly logs?: string;
}

export interface RunSettings extends Omit<LabSettings, 'name'> {
  /** Keeps the logs of experiments that passed, too. */
  readonly keep: boolean;
}

interface Checked {
  readonly checks: readonly string[];
  readonly notes?: readonly string[];
}

/**
 * Runs an experiment in its lab, and closes the lab. If it throws, the ending says so, and the outcome is that of `failed`.
 * Rejects only if the user ended it.
 */
export async function outcomeIn<O extends Checked>(
  lab: Workplace,
  keep: boolean,
  run: () => Promise<O>,
  failed: () => O,
): Promise<O & { readonly ending: Ending }> {
  const begun = performance.now();
  let passed = false;
  try {
    const outcome = await run().catch((error: unknown) => {
      lab.signal.throwIfAborted();
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { ...failed(), checks: [`the experiment failed with an error: ${text}`] };
    });
    const why = outcome.checks.filter((text) => text !== '');
    passed = why.length === 0;
    const took = Math.round(performance.now() - begun);
    const { notes = [] } = outcome;
    const logs = (keep || !passed) && { logs: lab.folder };
    return { ...outcome, ending: { took, passed, why, notes, ...logs } };
  } finally {
    await lab.close((keep || !passed) && !lab.signal.aborted);
  }
}
