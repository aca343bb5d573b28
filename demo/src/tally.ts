// Compares the jobs that were added with the runs that there were: a pure function of the demo's own log.
import { percentile } from 'test-servers';

/** One thing that the demo did or saw. Times are milliseconds since 1970. */
export type Entry =
  /** `job` was added, and is due at `due`. */
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
  /** Jobs that did not succeed, and whose revoke was answered `revoked`. */
  readonly revoked: number;
  /** Jobs that did not succeed, and whose revoke was answered `unknown`, because it came too late. */
  readonly unsure: number;
  /** Runs after a failed one. */
  readonly retried: number;
  /** All other jobs. Before the end of the demo, they are jobs that still have to run. */
  readonly lost: number;
  /** Runs before their time. */
  readonly early: number;
  /** Runs that began during another run of the job, or after one that succeeded. */
  readonly duplicates: number;
  /** Runs that began after the answer `revoked`. */
  readonly ranAfterRevoke: number;
  /** Milliseconds from the due time to the start, of all runs. */
  readonly lateness: { readonly p50: number; readonly p99: number; readonly max: number };
}

interface Job {
  due: number;
  runs: number;
  running: boolean;
  succeeded: boolean;
  answer?: string;
}

/** Throws if the log names a job that was never added. */
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

/** Whether every promise held. The lateness does not count, because it depends on the machine. */
export function isClean({ lost, early, duplicates, ranAfterRevoke }: Tally): boolean {
  return lost + early + duplicates + ranAfterRevoke === 0;
}

function fateOf({ succeeded, answer }: Job): 'ran' | 'revoked' | 'unsure' | 'lost' {
  if (succeeded) return 'ran';
  if (answer === 'revoked') return 'revoked';
  return answer === 'unknown' ? 'unsure' : 'lost';
}
