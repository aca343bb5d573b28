import type { RescheduleResult } from '../api/job.js';
import type { StoredTube } from '../api/tube.js';
import { deleteCopies } from '../copies/deletion.js';
import type { Envelope } from '../copies/header.js';
import type { JobTarget } from '../copies/job-ref.js';
import type { Place } from '../copies/location.js';
import type { Content } from '../copies/payload.js';
import { isUnreadable, lookForCopy, unreadable } from '../copies/reading.js';
import { envelopeFor, owedAt } from '../copies/storing.js';
import { DqError, show } from '../errors.js';
import type { Letter, Refusal, Schedule } from '../ledger/requests.js';
import { beforeStoring, conflict, isEnough, storeGeneration, type NextGeneration } from './generations.js';
import { located } from './job-locator.js';
import type { ProducerContext } from './producer-context.js';

/** What a job is to be from now on. */
export interface Change {
  /** Ledger time, ms. */
  readonly due: number;
  /** @default the same */
  readonly content?: Content | undefined;
  /** They replace headers of the same names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** By the clock: until then it is tried again while others come in between, and a call to the ledger is repeated. */
  readonly until: number;
  /** Moves the job only while this is its generation; otherwise the result is `unknown`. @default whatever it is */
  readonly only?: number;
  /** True: the call ends only when the old copies are deleted. @default that goes on in the background */
  readonly thorough?: boolean;
}

/** Moves a job that waits. The new copies are stored before the ledger decides. `DQ_CONFLICT`: others came in between. */
export async function reschedule(
  context: ProducerContext,
  given: JobTarget,
  change: Change,
): Promise<RescheduleResult> {
  const target = await located(context, given);
  if (!target) return 'unknown';
  const { tube, id, key } = target;
  const find = () => beforeStoring(context.batched.ask(tube, 'find', id));
  let found = await find();
  for (let tries = 1; ; tries++) {
    const outcome = await tryReschedule(context, target, found, change);
    if (typeof outcome === 'string') return outcome;
    if (isEnough(tries, context.parts.clock, change.until)) {
      throw conflict(key === undefined ? id : `the key ${show(key)}`, tries);
    }
    // Somebody else moved it in between: again, from what it is now.
    found = outcome.present ?? (await find());
  }
}

/** False: the letter's job is not dead any more. `DQ_NO_COPY`: no copy is in reach, and it stays dead. */
export async function revive(
  context: ProducerContext,
  tube: StoredTube,
  letter: Letter,
  change: Change,
): Promise<boolean> {
  const { id, born, generation, places } = letter;
  const envelope = await lookForCopy(context.parts.cluster, tube, letter, places);
  if (!envelope || isUnreadable(envelope)) {
    // Somebody else may have revived or discarded it in between.
    const still = await beforeStoring(context.batched.ask(tube, 'letter', { id, born }));
    if (!still) return false;
    throw envelope ? unreadable(id, envelope) : noCopy(id, places);
  }
  if (envelope.header.wire) return reviveElsewhere(context, tube, letter, envelope, change);
  const known = { ...letter, owed: owedAt(places) };
  const opening = { by: 'revive', expected: generation } as const;
  const refused = await move(context, { tube, id, opening, known }, envelope, change);
  return refused === undefined;
}

/** go-queue stored it: it runs as a job of ours, without go-queue's lock, as an operator wants it to. */
async function reviveElsewhere(
  context: ProducerContext,
  tube: StoredTube,
  letter: Letter,
  envelope: Envelope,
  { due, content = envelope.content }: Change,
): Promise<boolean> {
  const { id, born } = letter;
  const { parts } = context;
  // By this key once, if this call ends half way and is repeated.
  await parts.goQueue.adopt(tube, { ...envelope, content }, { key: `${id}, revived`, due });
  const taken = await beforeStoring(context.batched.ask(tube, 'discard', { id, born }));
  await deleteCopies(parts, tube, letter, (taken ?? letter).places);
  return true;
}

/** An object: others came in between, and this is the job that they left, as far as the ledger told. */
async function tryReschedule(
  context: ProducerContext,
  { tube, id, born, places: given, due: dueBefore }: JobTarget,
  found: Schedule | undefined,
  change: Change,
): Promise<RescheduleResult | { readonly present: Schedule | undefined }> {
  if (found && born !== undefined && found.born !== born) return 'unknown';
  if (found && found.state !== 'waiting') return found.state;
  if (!found && born === undefined) return 'unknown';
  if (found && change.only !== undefined && found.generation !== change.only) return 'unknown';
  const places = found && found.places.length > 0 ? found.places : given;
  const before = found ?? { born: born!, generation: born!, due: dueBefore };
  const { generation } = before;
  const envelope = await lookForCopy(context.parts.cluster, tube, { id, generation }, places);
  if (!envelope || isUnreadable(envelope)) {
    const present = await beforeStoring(context.batched.ask(tube, 'find', id));
    if (present?.generation !== found?.generation || present?.state !== found?.state) return { present };
    if (envelope) throw unreadable(id, envelope);
    // Nothing may be written of a job that was perhaps done long ago.
    if (!found) return 'unknown';
    throw noCopy(id, places);
  }
  const known = { ...before, places, owed: owedAt(places) };
  const opening = { by: 'move', expected: generation } as const;
  const refused = await move(context, { tube, id, opening, known }, envelope, change);
  switch (refused?.why) {
    case undefined:
      return 'rescheduled';
    case 'taken':
    case 'lost':
    case 'changed':
      return { present: refused!.present };
    default:
      return refused!.why;
  }
}

type Move = Required<Pick<NextGeneration, 'tube' | 'id' | 'opening' | 'known'>>;

/** The envelope is of a copy of the generation that gives way, and says what the job is. Undefined: it is moved. */
async function move(
  context: ProducerContext,
  next: Move,
  { header, content: present }: Envelope,
  { due, content = present, headers, until, thorough = false }: Change,
): Promise<{ readonly why: Refusal; readonly present?: Schedule | undefined } | undefined> {
  const { tube, id, known } = next;
  if (header.wire) throw cannotMove(id); // go-queue's consumers would delete copies of ours
  const { born } = known;
  const { cluster } = context.parts;
  const job = {
    ...header,
    due,
    generation: due, // with as many digits as the real one
    born,
    copies: cluster.settings.replicas,
    headers: headers ? { ...header.headers, ...headers } : header.headers,
  };
  const envelope = envelopeFor(cluster, tube, job, content);
  const { answer } = await storeGeneration(context, { ...next, envelope, until });
  if (answer.kind === 'committed') {
    // Others may have found copies of a dead job since its letter was read.
    const deletion = deleteCopies(context.parts, tube, { id, ...known }, answer.left ?? known.places);
    if (thorough) await deletion;
  }
  // Overtaken: it was moved, and then replaced or moved again. If that came first, this counts as right before it.
  if (answer.kind === 'committed' || answer.why === 'overtaken') return undefined;
  return { why: answer.why, present: answer.present };
}

/** What go-queue stored has one time for ever. */
export function cannotMove(id: string): DqError {
  return new DqError(
    'DQ_BAD_REF',
    `the job ${id} is stored as go-queue stores jobs, and has no other time: expected a revoke and a new add`,
  );
}

function noCopy(id: string, places: readonly Place[]): DqError {
  const where = places.map(({ location }) => location).join(', ') || 'a place that the ledger knows';
  return new DqError(
    'DQ_NO_COPY',
    `no copy of job ${id} is in reach, so it stays as it is: expected a copy at ${where}`,
  );
}
