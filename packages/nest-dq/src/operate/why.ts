import type { DeadLetter } from '../api/dead-letter.js';
import { show } from '../errors.js';
import { limitsOf, type TubeLimits, type Usage } from '../ledger/limits.js';
import type { Trace } from '../ledger/requests.js';
import { spelled } from '../time/duration.js';
import type { ExplanationCase, CopyView, RunningProcess } from './explanation.js';
import type { TubeView } from './tube-view.js';

/** What the sentence about a job is made from. */
export interface Facts {
  /** Ledger time, ms. */
  readonly now: number;
  /** Why the ledger does not answer. */
  readonly ledgerAway?: string;
  /** What the ledger knows of this very job. */
  readonly trace?: Trace;
  /** The ledger knows another job of its key. */
  readonly replaced: boolean;
  readonly letter?: DeadLetter;
  /** Ledger time, ms; absent if nothing tells it. */
  readonly due?: number;
  readonly copies: readonly CopyView[];
  /** Who runs it. */
  readonly process?: RunningProcess | undefined;
  /** Absent: the tube has no limits, or the ledger did not tell. */
  readonly limits?: LimitFacts | undefined;
  readonly tube: Pick<TubeView, 'tube' | 'watching' | 'due' | 'running' | 'paused'>;
}

/** The limits of the job's tube, and what counts against them. */
export interface LimitFacts {
  readonly limits: TubeLimits;
  /** Of the job. */
  readonly group?: string | undefined;
  readonly usage: Usage;
}

const DEATHS: Readonly<Record<DeadLetter['why'], (letter: DeadLetter) => string>> = {
  attempts: ({ attempt }) => `its attempts are used up (${attempt})`,
  discarded: () => 'its handler discarded it',
  invalid: () => 'its payload cannot be read',
  stale: () => 'a copy came back so late that nobody knows any more whether it ran',
};

/** The first case that holds. */
export function why(facts: Facts): { readonly because: ExplanationCase; readonly why: string } {
  const ofDueJob = () => byPause(facts) ?? byLease(facts) ?? byLimit(facts) ?? byTube(facts);
  const [because, sentence] = byLedger(facts) ?? byCopies(facts) ?? byTime(facts) ?? ofDueJob();
  return { because, why: sentence };
}

type Case = readonly [because: ExplanationCase, sentence: string];

function byLedger({ ledgerAway, trace, replaced, letter, now, process }: Facts): Case | undefined {
  if (ledgerAway !== undefined)
    return ['ledger-away', `The ledger does not answer, so no job runs: ${ledgerAway}.`];
  if (letter && (trace === undefined || trace.state === 'dead')) {
    const { diedAt, error } = letter;
    const told = error ? `: ${error.name}: ${error.message}` : '';
    return ['dead', `It is dead since ${at(diedAt.getTime())}, as ${DEATHS[letter.why](letter)}${told}.`];
  }
  if (replaced) return ['replaced', 'A newer job of its key has replaced it.'];
  const began = trace && trace.fence > 0 ? at(trace.fence / 1_000) : undefined;
  switch (trace?.state) {
    case 'done':
      return ['done', began === undefined ? 'It is done.' : `It is done: its last run began at ${began}.`];
    case 'revoked':
      return ['revoked', 'It was revoked, so it does not start any more.'];
    case 'dead':
      return ['dead', 'It is dead, and its letter is gone.'];
    case 'running': {
      const since = trace.fence > 0 ? `, since ${began} (${spelled(now - trace.fence / 1_000)})` : '';
      const where = process ? `, in the process ${process.pid} on ${process.host}` : '';
      return ['running', `It runs${since}: attempt ${trace.attempt}${where}.`];
    }
    default:
      return undefined;
  }
}

/** Of a job that waits, as far as is known: whether it can run at all. */
function byCopies({ trace, copies }: Facts): Case | undefined {
  if (copies.length === 0) {
    if (trace) return undefined;
    return ['unknown', 'Nothing is known of it: there is no such job, or it ended long ago.'];
  }
  const out = copies.filter(({ state }) => state === 'away' || state === 'unknown');
  if (copies.some(({ state }) => state !== 'away' && state !== 'unknown' && state !== 'missing'))
    return undefined;
  if (out.length > 0) {
    const nodes = [...new Set(out.map(({ node }) => node))].join(', ');
    return ['nodes-away', `It can run once a node is back that may have a copy of it: ${nodes}.`];
  }
  const known = trace ? 'the ledger waits for it' : 'the ledger does not know it';
  const fate = trace ? 'it is lost' : 'it ended long ago, or it is lost';
  return ['no-copy', `No node has a copy of it any more, and ${known}: ${fate}.`];
}

function byTime({ now, due, trace }: Facts): Case | undefined {
  if (due === undefined || due <= now) return undefined;
  const when = `${at(due)}, in ${spelled(due - now)}`;
  if (!trace || trace.attempt === 0) return ['not-due', `It is due at ${when}.`];
  return ['retrying', `It waits for its next attempt, after ${trace.attempt}, which is due at ${when}.`];
}

/** Of a job that is due: nothing else lets it run before the pause ends. */
function byPause(facts: Facts): Case | undefined {
  const { tube, paused } = facts.tube;
  if (!paused) return undefined;
  const { since, until } = paused;
  const end = until ? at(until.getTime()) : 'somebody resumes it';
  return [
    'paused',
    `${dueSince(facts)}, but the tube ${tube} is paused since ${at(since.getTime())} until ${end}.`,
  ];
}

function byLease({ now, trace }: Facts): Case | undefined {
  if (trace?.left) {
    const ended = at(trace.leaseEnd);
    return [
      'left',
      `The process that ran it was not heard of since its lease ended at ${ended}: it runs again when a copy comes back.`,
    ];
  }
  if (trace && trace.holdEnd > now) {
    return ['held', 'It waits for the end of a run of the job that it replaced.'];
  }
  return undefined;
}

function byLimit(facts: Facts): Case | undefined {
  const { now, tube, limits: use } = facts;
  if (!use) return undefined;
  const { limits, group, usage } = use;
  const { rate, per = 0, concurrency = Infinity, perGroup = Infinity } = limits;
  const limited = (what: string): Case => [
    'limited',
    `${dueSince(facts)}, but the tube ${tube.tube} is limited to ${what}.`,
  ];
  if (usage.running >= concurrency)
    return limited(`${runs(concurrency)} at the same time, and has ${usage.running}`);
  if (group !== undefined && usage.inGroup >= perGroup)
    return limited(
      `${runs(perGroup)} of a group at the same time, and its group ${show(group)} has ${usage.inGroup}`,
    );
  if (rate === undefined) return undefined;
  const { interval = 0, burst = 1 } = limitsOf(limits);
  const next = (usage.turn - (burst - 1) * interval) / 1_000;
  if (next <= now) return undefined;
  return limited(
    `${runs(rate)} in ${spelled(per)}: the next may begin at ${at(next)}, in ${spelled(next - now)}`,
  );
}

/** Of a job that is due. */
function byTube(facts: Facts): Case {
  const { copies, tube } = facts;
  const since = dueSince(facts);
  const has = (state: CopyView['state']) => copies.some((copy) => copy.state === state);
  if (tube.watching === 0)
    return ['not-consumed', `${since}, but no process consumes the tube ${tube.tube}.`];
  if (has('reserved')) return ['taken', `${since}, and a process holds it until it has a free slot.`];
  if (has('ready')) {
    const { due: waiting, running } = tube;
    const others = waiting === undefined ? '' : `: of its tube about ${waiting} are due, and ${running} run`;
    return ['queued', `${since}, and waits for a process to take it${others}.`];
  }
  const soonest = Math.min(...copies.map(({ readyIn = Infinity }) => readyIn));
  if (has('delayed')) return ['coming', `${since}, and its next copy comes back in ${spelled(soonest)}.`];
  if (has('buried'))
    return ['buried', `${since}, but its copies are buried, and stay so until they are kicked.`];
  return ['unknown', `${since}, and nothing is known of its copies.`];
}

function dueSince({ now, due }: Facts): string {
  return due === undefined ? 'It is due' : `It is due since ${at(due)} (${spelled(now - due)})`;
}

function runs(count: number): string {
  return count === 1 ? '1 run' : `${count} runs`;
}

function at(time: number): string {
  return new Date(time).toISOString();
}
