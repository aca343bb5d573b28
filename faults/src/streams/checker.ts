// Compares what was pushed with what the handlers did. It knows only the outside log, and what was done to the processes.
import { merged, type Cause } from './causes.js';
import type { Run, StreamHistory } from './history.js';
import type { Push } from './log.js';

/** A run of a message that had been run before, and that is not the one retry of a failed run. */
export interface Repeat {
  readonly run: Run;
  /** The run of the message that began before this one. */
  readonly before: Run;
  /** Names of the causes, or none: nothing that was done explains it. */
  readonly causes: readonly string[];
}

export interface StreamFindings {
  /** The number of messages whose push was answered `stored`. */
  readonly messages: number;
  /** Numbers of the stored messages that no run handled. */
  readonly lost: readonly number[];
  /**
   * Runs that started before each message of their key with a smaller number had been handled once, wherever. So the first
   * handlings of a key ascend, and a repeat goes back only to what was handled.
   */
  readonly outOfOrder: readonly Run[];
  /** Runs that started in a process while it ran another message of the same key. */
  readonly overlapping: readonly Run[];
  /** Messages whose place in the log is before that of one of their key that was pushed earlier. */
  readonly misplaced: readonly Push[];
  /** Runs of messages that nobody pushed, whose push certainly failed, or at another place than that of the answer. */
  readonly unknown: readonly Run[];
  readonly repeats: readonly Repeat[];
  readonly unexplained: readonly Repeat[];
  /** Milliseconds from the answer to a push until the first run of the message. NaN: no run. */
  readonly worstDelay: number;
}

export interface CheckOptions {
  /** Events that can make messages run again. */
  readonly causes: readonly Cause[];
  /** Milliseconds after which a message that is handled, like all before it in its partition, is surely committed. */
  readonly committedWithin: number;
  /** Messages behind one that failed need not wait for it. @default false */
  readonly overtaken?: boolean;
}

/** Milliseconds. So much later than the broker, a member may know of a new assignment. */
const TOLD_LATE = 2_000;

export function check(history: StreamHistory, options: CheckOptions): StreamFindings {
  const runs = history.allRuns();
  const stored = [...history.pushes.values()].filter(({ answer }) => answer === 'stored');
  const firsts = firstTimes(runs);
  const failed = new Set(runs.filter(({ end }) => end?.how === 'fail').map(({ message }) => message));
  const inOrder = ({ message }: Pick<Push, 'message'>) => !options.overtaken || !failed.has(message);
  const ordered = runs.filter(inOrder);
  const repeats = repeatsIn(runs, stored, firsts.handled, options);
  const delays = stored.map(({ message, at }) => Math.max(0, (firsts.started.get(message) ?? at) - at));
  return {
    messages: stored.length,
    lost: stored.filter(({ message }) => !history.isHandled(message)).map(({ message }) => message),
    outOfOrder: outOfOrder(ordered, stored.filter(inOrder), firsts.handled),
    overlapping: overlapping(ordered),
    misplaced: misplaced(stored),
    unknown: runs.filter((run) => isUnknown(run, history.pushes.get(run.message))),
    repeats,
    unexplained: repeats.filter(({ causes }) => causes.length === 0),
    worstDelay: runs.length === 0 ? NaN : delays.reduce((a, b) => Math.max(a, b), 0),
  };
}

/** By message: when a run of it first started, and when one first ended well. */
function firstTimes(runs: readonly Run[]) {
  const started = new Map<number, number>();
  const handled = new Map<number, number>();
  for (const { message, at, end } of runs) {
    if (!started.has(message)) started.set(message, at);
    if (end?.how === 'done') handled.set(message, Math.min(end.at, handled.get(message) ?? Infinity));
  }
  return { started, handled };
}

function outOfOrder(
  runs: readonly Run[],
  stored: readonly Push[],
  handled: ReadonlyMap<number, number>,
): Run[] {
  /** By message: when the last one before it of its key was first handled. */
  const ready = new Map<number, number>();
  for (const ofKey of byKey(stored).values()) {
    let before = -Infinity;
    for (const { message } of ofKey) {
      ready.set(message, before);
      before = Math.max(before, handled.get(message) ?? Infinity);
    }
  }
  return runs.filter(({ message, at }) => at < (ready.get(message) ?? -Infinity));
}

function overlapping(runs: readonly Run[]): Run[] {
  const last = new Map<string, Run>();
  return runs.filter((run) => {
    const name = `${run.process} ${run.key}`;
    const before = last.get(name);
    last.set(name, run);
    return before !== undefined && (before.end?.at ?? Infinity) > run.at;
  });
}

function misplaced(stored: readonly Push[]): Push[] {
  return [...byKey(stored).values()].flatMap((ofKey) =>
    ofKey.filter(({ partition, offset }, i) => {
      const before = ofKey[i - 1];
      return before !== undefined && (before.partition !== partition || before.offset! >= offset!);
    }),
  );
}

function isUnknown({ partition, offset }: Run, push: Push | undefined): boolean {
  if (!push || push.answer === 'refused') return true;
  return push.answer === 'stored' && (push.partition !== partition || push.offset !== offset);
}

/** In the order of their numbers. */
function byKey(stored: readonly Push[]): Map<string, Push[]> {
  const found = new Map<string, Push[]>();
  for (const push of stored.toSorted((a, b) => a.number - b.number)) {
    const ofKey = found.get(push.key);
    if (ofKey) ofKey.push(push);
    else found.set(push.key, [push]);
  }
  return found;
}

function repeatsIn(
  runs: readonly Run[],
  stored: readonly Push[],
  handled: ReadonlyMap<number, number>,
  { causes, committedWithin }: CheckOptions,
): Repeat[] {
  const times = merged(causes, committedWithin).map((cause) => ({
    ...cause,
    committed: watermarks(stored, handled, cause.from - committedWithin),
  }));
  const before = new Map<number, Run[]>();
  const repeats: Repeat[] = [];
  for (const run of runs) {
    const earlier = before.get(run.message) ?? [];
    before.set(run.message, [...earlier, run]);
    const last = earlier.at(-1);
    if (!last || isRetry(run, earlier)) continue;
    // Something was done before it, not long after the run before began, and the message was not surely committed by then.
    const explains = times.find(
      ({ from, until, committed }) =>
        from <= run.at && last.at <= until + TOLD_LATE && run.offset >= (committed.get(run.partition) ?? 0),
    );
    repeats.push({ run, before: last, causes: explains?.names ?? [] });
  }
  return repeats;
}

/**
 * The last attempt before it failed, and there was no retry of that yet. Numbers may be left out: nest-dq counts a run that it
 * has granted, and whose process has not heard of that, as when Redis ends in between.
 */
function isRetry({ attempt }: Run, earlier: readonly Run[]): boolean {
  const last = earlier.findLast((run) => run.attempt <= attempt);
  return last !== undefined && last.attempt < attempt && last.end?.how === 'fail';
}

/** By partition: the smallest offset that was not handled at this instant; the end of the partition if all were. */
function watermarks(
  stored: readonly Push[],
  handled: ReadonlyMap<number, number>,
  at: number,
): Map<number, number> {
  const found = new Map<number, number>();
  for (const { message, partition, offset } of stored) {
    if ((handled.get(message) ?? Infinity) <= at) continue;
    found.set(partition!, Math.min(offset!, found.get(partition!) ?? Infinity));
  }
  for (const { partition } of stored) if (!found.has(partition!)) found.set(partition!, Infinity);
  return found;
}
