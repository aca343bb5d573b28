import type { DeadLetter } from '../api/dead-letter.js';
import type { JobRef } from '../api/job.js';
import { withoutPrefix, type StoredTube } from '../api/tube.js';
import type { Stats } from '../beanstalk/connection.js';
import type { Cluster } from '../cluster/cluster.js';
import { unwrap } from '../copies/formats/unwrap.js';
import { isCopyOf, ledgerGroup, type CopyHeader } from '../copies/header.js';
import { formatRef, parseRef, type JobTarget } from '../copies/job-ref.js';
import { isUnknown, parseLocation, type Place } from '../copies/location.js';
import { failedAttempt } from '../copies/make-dead-letter.js';
import { DqError, factOf, toError } from '../errors.js';
import { withinLimit } from '../time/call-limit.js';
import type { TubeLimits } from '../api/limit-options.js';
import type { Presence, PresentProcess } from '../fleet/presence.js';
import type { Trace } from '../ledger/requests.js';
import type { WaitingJobs } from '../ledger/waiting/waiting-jobs.js';
import type { DqDeadLetters } from '../producer/dead-letters.js';
import { progressView } from '../producer/job-finder.js';
import type { Clock } from 'nest-handlers/time';
import type { CopyView, Explanation, RunningProcess } from './explanation.js';
import { type FinishedJob, finishedView } from './finished-view.js';
import { expiryOf, handlingOf, optionsOf, slotsOf, timesOf } from './job-facts.js';
import { viewOfTube, type TubeSources } from './tube-view.js';
import { sentenceOf } from './sentences.js';
import { reasonOf, type Facts, type LimitFacts } from './why.js';

interface ExplanationSources extends TubeSources {
  readonly waiting: WaitingJobs;
  readonly presence: Presence;
  readonly deadLetters: DqDeadLetters;
}

/** Time limit for an answer of the ledger, and of each node. */
const LIMIT_MS = 1_000;

/** Rejects with `DQ_BAD_REF`, `DQ_BAD_TUBE`. Servers that don't answer become part of the explanation. */
export async function explain(sources: ExplanationSources, ref: JobRef): Promise<Explanation> {
  const { cluster, ledger, clock, settings } = sources;
  const target = await locate(sources, parseRef(ref, settings.prefix, cluster.settings.seal));
  const { tube, id, born } = target;
  const known = await ask(sources, target, ref);
  const replaced = known.trace !== undefined && born !== undefined && known.trace.born !== born;
  const trace = replaced ? undefined : known.trace;
  const { letter, ledgerAway } = known;
  const finished = endOf(known.finished, target, trace, replaced);
  const generation = trace?.generation ?? born ?? 0;
  const places = placesOf(sources, target, generation, trace, letter);
  const asked = sources.presence.all();
  const presence = { all: () => asked };
  const [found, tubeView, processes] = await Promise.all([
    copiesOf(sources, target, generation, places),
    viewOfTube({ cluster, ledger, clock, settings, presence }, tube),
    withinLimit(clock, LIMIT_MS, asked).catch((): PresentProcess[] => []),
  ]);
  const name = withoutPrefix(tube, settings.prefix);
  const process = trace?.state === 'running' ? runnerOf(processes, name, target, trace) : undefined;
  const due = trace?.due ?? letter?.dueAt.getTime() ?? (born === undefined ? undefined : target.due);
  const now = ledger.tube(tube).now();
  const copies = found.map(({ view }) => view);
  const header = found.find((copy) => copy.header)?.header;
  const key = target.key ?? header?.key;
  const limits = tubeView.limits && (await limitUseOf(sources, tube, tubeView.limits, header));
  const facts: Facts = {
    now,
    ledgerAway,
    trace,
    replaced,
    letter,
    finished,
    due,
    copies,
    process,
    limits,
    slots: slotsOf(processes, name),
    tube: tubeView,
  };
  const isThere = copies.some(
    ({ state }) => state === 'delayed' || state === 'ready' || state === 'reserved',
  );
  const state =
    trace?.state ?? (letter ? 'dead' : finished ? 'done' : isThere && !replaced ? 'waiting' : undefined);
  const isRetrying = state === 'waiting' && trace !== undefined && trace.attempt > 0;
  const reason = reasonOf(facts);
  const knownKey = key ?? header?.key ?? letter?.key ?? finished?.key;
  const bornAt = trace?.born ?? born ?? header?.born;
  const isKnown = reason.because !== 'unknown' && bornAt !== undefined && due !== undefined;
  const content = { tube, id, key: knownKey, copies: header?.copies ?? places.length, places };
  const failedAttempts = letter?.failedAttempts ?? trace?.failures?.map(failedAttempt);
  return {
    ...reason,
    why: sentenceOf(reason),
    id,
    tube: name,
    ...(knownKey !== undefined && { key: knownKey }),
    ...(isKnown && { ref: formatRef({ ...content, born: bornAt, due }, cluster.settings.seal) }),
    ...(state !== undefined && !ledgerAway && { state: isRetrying ? 'retrying' : state }),
    ...(reason.because !== 'unknown' && timesOf(id, bornAt, trace)),
    ...(due !== undefined && { dueAt: new Date(due) }),
    ...((trace ?? finished) && { attempt: (trace ?? finished)!.attempt }),
    ...(header && trace && trace.attempt > 0 && firstDueOf(header, trace)),
    ...(reason.because !== 'unknown' && handlingOf(processes, name, header)),
    ...(reason.because !== 'unknown' && expiryOf(processes, name, header)),
    ...(failedAttempts && { failedAttempts }),
    ...(header && optionsOf(header)),
    ...(trace && progressView(trace)),
    ...(trace && trace.fence > 0 && { run: { ...runOf(trace), ...(process && { process }) } }),
    copies,
    ...(finished && { finished }),
    ...(letter && { deadLetter: letter }),
  };
}

/** Completes a target given by id alone from the list, which has the receipt's data for a waiting plain job. */
async function locate({ waiting, clock }: ExplanationSources, target: JobTarget): Promise<JobTarget> {
  if (!target.byId) return target;
  const listed = await withinLimit(clock, LIMIT_MS, waiting.find(target.tube, target.id)).catch(
    () => undefined,
  );
  return listed ? { ...target, ...listed } : target;
}

interface Known {
  readonly trace?: Trace;
  readonly letter?: DeadLetter;
  readonly finished?: FinishedJob | undefined;
  readonly ledgerAway?: string;
}

async function ask(
  { ledger, deadLetters, clock, settings }: ExplanationSources,
  { tube, id }: JobTarget,
  ref: JobRef,
): Promise<Known> {
  try {
    const ended = ledger.tube(tube).ask('ended', [id]);
    const [[trace], letter, [entry]] = await Promise.all([
      withinLimit(clock, LIMIT_MS, ledger.tube(tube).ask('trace', [id])),
      withinLimit(clock, 2 * LIMIT_MS, deadLetters.get(ref, { patience: 0 })), // it asks nodes too
      withinLimit(clock, LIMIT_MS, ended).catch(() => []), // what is kept is no more than an addition
    ]);
    return { trace, letter, finished: entry && finishedView(entry, tube, settings.prefix) };
  } catch (thrown) {
    return { ledgerAway: thrown instanceof DqError ? factOf(thrown) : toError(thrown).message };
  }
}

/**
 * The end of this very job: a key that is used again has one entry, of the last end that was kept. If the job is still known, the
 * entry must be of its last run.
 */
function endOf(
  finished: FinishedJob | undefined,
  { born = 0 }: JobTarget,
  trace: Trace | undefined,
  replaced: boolean,
): FinishedJob | undefined {
  if (!finished || replaced || (trace && trace.state !== 'done')) return undefined;
  const began = trace ? trace.fence / 1_000 : born;
  return finished.endedAt.getTime() + 1 >= began ? finished : undefined;
}

/** Resolves with undefined if the ledger didn't answer. */
async function limitUseOf(
  { ledger, clock }: ExplanationSources,
  tube: StoredTube,
  limits: TubeLimits,
  header: CopyHeader | undefined,
): Promise<LimitFacts | undefined> {
  const group = header && ledgerGroup(header);
  const asked = withinLimit(clock, LIMIT_MS, ledger.tube(tube).ask('usage', [{ group }])).catch(() => []);
  const [usage] = await asked;
  return usage && { limits, group: header?.group, usage };
}

/** Due times in the ledger are rounded up. */
function firstDueOf(header: CopyHeader, { due }: Trace): Pick<Explanation, 'firstDueAt'> {
  return Math.abs(header.due - due) < 1 ? {} : { firstDueAt: new Date(header.due) };
}

function runOf({ fence, leaseEnd }: Trace) {
  return {
    startedAt: new Date(fence / 1_000),
    ...(leaseEnd > 0 && { leaseEndsAt: new Date(leaseEnd) }),
  };
}

/** The process that announced the run as a long one. */
function runnerOf(
  processes: readonly PresentProcess[],
  tube: string,
  { id }: JobTarget,
  { attempt }: Trace,
): RunningProcess | undefined {
  const found = processes.find(({ record }) =>
    record.tubes.some(
      (load) => load.tube === tube && load.long.some((run) => run.id === id && run.attempt === attempt),
    ),
  );
  return found && { id: found.record.id, host: found.record.host, pid: found.record.pid };
}

interface FoundCopy {
  readonly view: CopyView;
  readonly header?: CopyHeader | undefined;
}

/** Where its copies are, as far as is known. */
function placesOf(
  { settings }: ExplanationSources,
  target: JobTarget,
  generation: number,
  trace: Trace | undefined,
  letter: DeadLetter | undefined,
): readonly Place[] {
  const ofReceipt = generation === target.born ? target.places : [];
  const ofLetter = letter ? parseRef(letter.ref, settings.prefix).places : [];
  return [trace?.places ?? [], ofReceipt, ofLetter].find((some) => some.length > 0) ?? [];
}

function copiesOf(
  { cluster, clock }: ExplanationSources,
  { id, tube }: JobTarget,
  generation: number,
  places: readonly Place[],
): Promise<FoundCopy[]> {
  const inOrder = places.toSorted((a, b) => a.index - b.index);
  return Promise.all(inOrder.map((place) => copyAt(cluster, clock, { id, generation, tube }, place)));
}

async function copyAt(
  cluster: Cluster,
  clock: Clock,
  { id, generation, tube }: { readonly id: string; readonly generation: number; readonly tube: StoredTube },
  { index, location }: Place,
): Promise<FoundCopy> {
  const place = parseLocation(location);
  const node = place && cluster.find(place.endpoint, place.instance);
  const base = { node: node?.endpoint ?? place?.endpoint ?? location, index };
  if (isUnknown(location)) return { view: { ...base, state: 'unknown' } };
  if (!place || !node) return { view: { ...base, state: 'away' } };
  const { copyId } = place;
  let header: CopyHeader | undefined;
  const asked = node.ask<Stats | 'NOT_FOUND'>((connection, done) =>
    connection.peek(copyId, (error, reply) => {
      if (error || reply === 'NOT_FOUND') return done(error, 'NOT_FOUND');
      // A server that lost its log assigns the same ids again, so this may be another job's.
      const envelope = unwrap(reply.body, tube, cluster.settings.seal);
      if (typeof envelope === 'string' || !isCopyOf(envelope, id, generation, index))
        return done(undefined, 'NOT_FOUND');
      header = envelope.header;
      connection.statsJob(copyId, done);
    }),
  );
  const stats = await withinLimit(clock, LIMIT_MS, asked).catch(() => undefined);
  if (!stats) return { view: { ...base, state: 'away' } };
  if (stats === 'NOT_FOUND') return { view: { ...base, state: 'missing' } };
  return { view: { ...base, ...factsOf(stats) }, header };
}

function factsOf(stats: Stats): Omit<CopyView, 'node' | 'index'> {
  const number = (name: string) => Number(stats[name] ?? 0);
  const state = stats['state'] as 'delayed' | 'ready' | 'reserved' | 'buried';
  return {
    state,
    ...((state === 'delayed' || state === 'reserved') && { readyIn: number('time-left') * 1_000 }),
    priority: number('pri'),
    age: number('age') * 1_000,
    reserves: number('reserves'),
    releases: number('releases'),
    timeouts: number('timeouts'),
  };
}
