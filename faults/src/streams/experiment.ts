import { atMost, none, type AnyExperiment } from '../experiment.js';
import type { StreamFindings } from './checker.js';
import type { StreamLab } from './lab.js';

export interface StreamExperiment extends AnyExperiment {
  run(lab: StreamLab): Promise<StreamOutcome>;
}

export interface StreamOutcome {
  readonly found: StreamFindings;
  /** Milliseconds. The experiment's comment says what it measures. Absent: it measures no recovery. */
  readonly recovery?: number;
  /** The results of its own checks: each is an empty text, or says why the experiment did not pass. */
  readonly checks: readonly string[];
  /** For the reader of its row. @default none */
  readonly notes?: readonly string[];
}

/** The checks of every experiment. `lag`: the messages that were not committed when the consumers had ended. */
export function alwaysAsked(found: StreamFindings, asked: number, lag: number): string[] {
  return [
    none('lost', found.lost),
    none('ran before earlier messages of its key', found.outOfOrder),
    none('ran while another message of its key was running in the process', found.overlapping),
    none('stored before earlier messages of its key', found.misplaced),
    none('ran although nobody pushed it, or from another position', found.unknown),
    none('ran again without a cause', found.unexplained),
    atMost('pushes that were not stored', asked - found.messages, 0),
    atMost('messages not committed at the end', lag, 0),
  ];
}

/** How often messages ran again, by what was done. */
export function repeatsByCause({ repeats }: StreamFindings): string[] {
  const counts = new Map<string, number>();
  for (const { causes } of repeats) {
    const name = causes.length === 0 ? 'no cause' : causes.join(', ');
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  if (counts.size === 0) return [];
  return [`ran again: ${[...counts].map(([name, count]) => `${count} after ${name}`).join('; ')}`];
}
