// Compares what went in with what came out: a pure function over the demo's own log.
import { percentile } from 'test-servers';

/** What the demo saw, in the order in which it saw it. Times are milliseconds since 1970. */
export type Entry =
  /** `job` was given to the queue, to run at `due`. */
  | { readonly what: 'asked'; readonly job: number; readonly due: number }
  | { readonly what: 'started'; readonly job: number; readonly at: number }
  /** A run failed; the next one is due at `retryAt`. */
  | { readonly what: 'failed'; readonly job: number; readonly retryAt: number }
  | { readonly what: 'succeeded'; readonly job: number }
  /** A revoke was answered. */
  | { readonly what: 'answered'; readonly job: number; readonly answer: string };

export interface Tally {
  readonly scheduled: number;
  /** Jobs that succeeded. */
  readonly ran: number;
  /** Jobs that did not, and whose revoke was answered `revoked`. */
  readonly revoked: number;
  /** Jobs that did not, and whose revoke was answered `unknown`: it came too late to say. */
  readonly unsure: number;
  /** Runs after a failed one. */
  readonly retried: number;
  /** Jobs that are none of these; before the demo ends: that are still to come. */
  readonly lost: number;
  /** Runs before their time. */
  readonly early: number;
  /** Runs beside another one of the job, or after one that succeeded. */
  readonly duplicates: number;
  /** Runs that began after the answer `revoked`. */
  readonly ranAfterRevoke: number;
  /** From due to start of all runs, in ms. */
  readonly lateness: { readonly p50: number; readonly p99: number; readonly max: number };
}

interface Job {
  due: number;
  runs: number;
  running: boolean;
  succeeded: boolean;
  answer?: string;
}

/** Throws when the log speaks of a job that was never asked for. */
export function tally(log: readonly Entry[]): Tally {
  const jobs = new Map<number, Job>();
  const lateness: number[] = [];
  let [retried, early, duplicates, ranAfterRevoke] = [0, 0, 0, 0];

  for (const entry of log) {
    if (entry.what === 'asked') {
      jobs.set(entry.job, { due: entry.due, runs: 0, running: false, succeeded: false });
      continue;
    }
    const job = jobs.get(entry.job);
    if (!job) throw new Error(`job ${entry.job} ${entry.what}, but was never asked for`);
    switch (entry.what) {
      case 'started':
        if (job.answer === 'revoked') ranAfterRevoke++;
        else if (job.succeeded || job.running) duplicates++;
        else if (job.runs > 0) retried++;
        if (entry.at < job.due) early++;
        lateness.push(Math.max(0, entry.at - job.due));
        job.runs++;
        job.running = true;
        break;
      case 'failed':
        job.running = false;
        job.due = entry.retryAt;
        break;
      case 'succeeded':
        job.running = false;
        job.succeeded = true;
        break;
      case 'answered':
        job.answer = entry.answer;
        break;
    }
  }

  const fates = [...jobs.values()].map(fateOf);
  const count = (fate: string) => fates.filter((each) => each === fate).length;
  return {
    scheduled: fates.length,
    ran: count('ran'),
    revoked: count('revoked'),
    unsure: count('unsure'),
    retried,
    lost: count('lost'),
    early,
    duplicates,
    ranAfterRevoke,
    lateness: {
      p50: percentile(lateness, 0.5) || 0,
      p99: percentile(lateness, 0.99) || 0,
      max: percentile(lateness, 1) || 0,
    },
  };
}

/** Whether every promise was kept. How late jobs run depends on the machine, so it is shown but not judged. */
export function isClean({ lost, early, duplicates, ranAfterRevoke }: Tally): boolean {
  return lost + early + duplicates + ranAfterRevoke === 0;
}

function fateOf({ succeeded, answer }: Job): 'ran' | 'revoked' | 'unsure' | 'lost' {
  if (succeeded) return 'ran';
  if (answer === 'revoked') return 'revoked';
  return answer === 'unknown' ? 'unsure' : 'lost';
}
