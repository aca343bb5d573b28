import type { DeadLetter } from '../api/dead-letter.js';
import { limitsOf, type Usage } from '../ledger/limits/limits.js';
import type { TubeLimits } from '../api/limit-options.js';
import type { Trace } from '../ledger/requests.js';
import type {
  CopyView,
  DueSince,
  ExplanationDetails,
  ExplanationReason,
  RunningProcess,
  UsedLimit,
} from './explanation.js';
import type { FinishedJob } from './finished-view.js';
import type { TubeView } from './tube-view.js';

/** The facts from which the reason is derived. */
export interface Facts {
  /** Ledger time in ms. */
  readonly now: number;
  /** Why the ledger doesn't answer. */
  readonly ledgerAway?: string;
  /** The ledger's trace of this very job. */
  readonly trace?: Trace;
  /** Whether the ledger knows another job of its key. */
  readonly replaced: boolean;
  readonly letter?: DeadLetter;
  /** How this job ended, if that is kept. */
  readonly finished?: FinishedJob | undefined;
  /** Ledger time in ms; absent if unknown. */
  readonly due?: number;
  readonly copies: readonly CopyView[];
  /** The process that runs it. */
  readonly process?: RunningProcess | undefined;
  /** Absent if the tube has no limits, or the ledger didn't answer. */
  readonly limits?: LimitFacts | undefined;
  /** Absent if no process announced that it consumes the tube. */
  readonly slots?: SlotFacts | undefined;
  readonly tube: Pick<TubeView, 'tube' | 'watching' | 'consumers' | 'due' | 'running' | 'paused'>;
}

/** The slots of the job's tube in all processes. */
export interface SlotFacts {
  readonly slots: number;
  readonly running: number;
  /** Start of the oldest run that has taken longer than a second, as ledger time in ms. */
  readonly oldestSince?: number | undefined;
}

/** The limits of the job's tube, and what counts against them. */
export interface LimitFacts {
  readonly limits: TubeLimits;
  /** Group of the job. */
  readonly group?: string | undefined;
  readonly usage: Usage;
}

/** Returns the first case that applies. */
export function reasonOf(facts: Facts): ExplanationReason {
  const ofDueJob = () => byPause(facts) ?? byLease(facts) ?? byLimit(facts) ?? byTube(facts);
  return byLedger(facts) ?? byCopies(facts) ?? byTime(facts) ?? ofDueJob();
}

function byLedger({
  ledgerAway,
  trace,
  replaced,
  letter,
  finished,
  now,
  process,
}: Facts): ExplanationReason | undefined {
  if (ledgerAway !== undefined) return { because: 'ledger-away', details: { error: ledgerAway } };
  if (letter && (trace === undefined || trace.state === 'dead')) {
    const { diedAt, why, attempt, error } = letter;
    const told = error && { error: `${error.name}: ${error.message}` };
    return { because: 'dead', details: { death: { at: diedAt, why, attempt, ...told } } };
  }
  if (replaced) return { because: 'replaced', details: {} };
  if (!trace) return finished && { because: 'done', details: detailsOf(finished) };
  const { state, fence, attempt } = trace;
  const startedAt = fence > 0 ? new Date(fence / 1_000) : undefined;
  switch (state) {
    case 'done':
      return { because: 'done', details: detailsOf(finished, startedAt) };
    case 'revoked':
      return { because: 'revoked', details: {} };
    case 'expired':
      return { because: 'expired', details: {} };
    case 'dead':
      return { because: 'dead', details: {} };
    case 'running': {
      const began = startedAt && { startedAt, runningFor: Math.floor(now - startedAt.getTime()) };
      return { because: 'running', details: { attempt, ...began, ...(process && { process }) } };
    }
    default:
      return undefined;
  }
}

function detailsOf(finished: FinishedJob | undefined, startedAt?: Date): ExplanationDetails['done'] {
  const began = startedAt && { startedAt };
  if (!finished) return { ...began };
  const { endedAt, took, process, attempt } = finished;
  return { ...began, finished: { endedAt, took, process, attempt } };
}

/** Whether a job that waits, as far as known, can run at all. */
function byCopies({ trace, copies }: Facts): ExplanationReason | undefined {
  if (copies.length === 0) return trace ? undefined : { because: 'unknown', details: {} };
  const out = copies.filter(({ state }) => state === 'away' || state === 'unknown');
  if (copies.some(({ state }) => state !== 'away' && state !== 'unknown' && state !== 'missing'))
    return undefined;
  if (out.length > 0)
    return { because: 'nodes-away', details: { nodes: [...new Set(out.map(({ node }) => node))] } };
  return { because: 'no-copy', details: { awaited: trace !== undefined } };
}

function byTime({ now, due, trace }: Facts): ExplanationReason | undefined {
  if (due === undefined || due <= now) return undefined;
  const when = { dueAt: new Date(due), dueIn: Math.ceil(due - now) };
  if (!trace || trace.attempt === 0) return { because: 'not-due', details: when };
  return { because: 'retrying', details: { ...when, attempt: trace.attempt } };
}

/** For a due job: nothing else lets it run before the pause ends. */
function byPause(facts: Facts): ExplanationReason | undefined {
  const { tube, paused } = facts.tube;
  return paused && { because: 'paused', details: { ...dueSince(facts), tube, ...paused } };
}

/** Once a copy has come back, it waits like any other due job. */
function byLease({ now, trace, copies }: Facts): ExplanationReason | undefined {
  if (trace?.left && copies.every(({ state }) => state !== 'ready'))
    return { because: 'left', details: { leaseEndedAt: new Date(trace.leaseEnd) } };
  if (trace && trace.holdEnd > now) return { because: 'held', details: {} };
  return undefined;
}

function byLimit(facts: Facts): ExplanationReason | undefined {
  const limit = usedLimit(facts);
  return limit && { because: 'limited', details: { ...dueSince(facts), tube: facts.tube.tube, limit } };
}

function usedLimit({ now, limits: use }: Facts): UsedLimit | undefined {
  if (!use) return undefined;
  const { limits, group, usage } = use;
  const { rate, per = 0, concurrency = Infinity, perGroup = Infinity } = limits;
  if (usage.running >= concurrency) return { kind: 'concurrency', most: concurrency, running: usage.running };
  if (group !== undefined && usage.inGroup >= perGroup)
    return { kind: 'perGroup', most: perGroup, running: usage.inGroup, group };
  if (rate === undefined) return undefined;
  const { interval = 0, burst = 1 } = limitsOf(limits);
  const next = (usage.turn - (burst - 1) * interval) / 1_000;
  if (next <= now) return undefined;
  return { kind: 'rate', most: rate, per, nextAt: new Date(next), nextIn: Math.ceil(next - now) };
}

/** For a due job. */
function byTube(facts: Facts): ExplanationReason {
  const { copies, tube } = facts;
  const since = dueSince(facts);
  const has = (state: CopyView['state']) => copies.some((copy) => copy.state === state);
  const { watching, consumers = 0 } = tube;
  if (watching === 0 && consumers === 0)
    return { because: 'not-consumed', details: { ...since, tube: tube.tube } };
  const full = bySlots(facts);
  if (full && (has('reserved') || has('ready'))) return full;
  // Full processes watch no node.
  if (watching === 0 && !full)
    return { because: 'not-reserving', details: { ...since, tube: tube.tube, consumers } };
  if (has('reserved')) return { because: 'taken', details: since };
  if (has('ready')) {
    const { due, running } = tube;
    const isTold = due !== undefined && running !== undefined;
    return { because: 'queued', details: { ...since, ...(isTold && { others: { due, running } }) } };
  }
  const readyIn = Math.min(...copies.map((copy) => copy.readyIn ?? Infinity));
  if (has('delayed')) return { because: 'coming', details: { ...since, readyIn } };
  return { because: has('buried') ? 'buried' : 'unknown', details: since };
}

function bySlots(facts: Facts): ExplanationReason | undefined {
  const { slots = 0, running = 0, oldestSince } = facts.slots ?? {};
  if (slots === 0 || running < slots) return undefined;
  const oldestRun = oldestSince !== undefined && {
    oldestRun: {
      startedAt: new Date(oldestSince),
      runningFor: Math.max(0, Math.floor(facts.now - oldestSince)),
    },
  };
  return {
    because: 'slots-full',
    details: { ...dueSince(facts), tube: facts.tube.tube, slots, ...oldestRun },
  };
}

function dueSince({ now, due }: Facts): DueSince {
  return due === undefined ? {} : { dueAt: new Date(due), overdueFor: Math.floor(now - due) };
}
