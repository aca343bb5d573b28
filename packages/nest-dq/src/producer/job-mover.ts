import type { RescheduleResult } from '../api/job.js';
import type { StoredTube } from '../api/tube.js';
import { deleteCopies } from '../copies/deletion.js';
import { isFixed, refuseExpired } from '../copies/expiry.js';
import type { Envelope } from '../copies/header.js';
import type { JobTarget } from '../copies/job-ref.js';
import type { Place } from '../copies/location.js';
import { encodedIn, type Content } from '../copies/payload.js';
import { isUnreadable, lookForCopy, unreadable } from '../copies/reading.js';
import { envelopeFor, owedAt } from '../copies/storing.js';
import { DqError, show } from '../errors.js';
import type { Letter, Refusal, Schedule } from '../ledger/requests.js';
import { beforeStoring, conflict, isEnough, storeGeneration, type NextGeneration } from './generations.js';
import { locate } from './job-locator.js';
import type { ProducerContext } from './producer-context.js';

/** Changes to a job. */
export interface Change {
  /** Ledger time in ms. */
  readonly due: number;
  /** New payload. @default unchanged */
  readonly content?: Content | undefined;
  /** Codecs whose payloads the new one may replace although no codec wrote it. @default any */
  readonly readable?: readonly string[] | undefined;
  /** Headers to add or overwrite. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Clock time until which the move is retried if it loses to concurrent changes, and ledger calls are retried. */
  readonly until: number;
  /** Moves the job only if this is its generation; otherwise the result is `unknown`. @default any */
  readonly only?: number;
  /** Resolve only once the old copies are deleted. @default they are deleted in the background */
  readonly thorough?: boolean;
}

/** Moves a waiting job. The new copies are stored before the ledger decides. `DQ_CONFLICT`: concurrent changes kept winning. */
export async function reschedule(
  context: ProducerContext,
  given: JobTarget,
  change: Change,
): Promise<RescheduleResult> {
  const target = await locate(context, given);
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
    // Another call moved it in the meantime: retry from its new state.
    found = outcome.present ?? (await find());
  }
}

/** Revives a dead letter. Resolves with false if its job is no longer dead. `DQ_NO_COPY`: no copy is reachable, and it stays dead. */
export async function revive(
  context: ProducerContext,
  tube: StoredTube,
  letter: Letter,
  change: Change,
): Promise<boolean> {
  const { id, born, generation, places } = letter;
  const envelope = await lookForCopy(context.parts.cluster, tube, letter, places);
  if (!envelope || isUnreadable(envelope)) {
    // Another call may have revived or discarded it in the meantime.
    const still = await beforeStoring(context.batched.ask(tube, 'letter', { id, born }));
    if (!still) return false;
    throw envelope ? unreadable(id, envelope) : noCopy(id, places);
  }
  if (envelope.header.foreign) return reviveElsewhere(context, tube, letter, envelope, change);
  const known = { ...letter, owed: owedAt(places) };
  const opening = { by: 'revive', expected: generation } as const;
  const refused = await move(context, { tube, id, opening, known }, envelope, change);
  return refused === undefined;
}

/** Revives a letter in another program's format as one of our jobs, without taking that program's lock, since an operator asked for it. */
async function reviveElsewhere(
  context: ProducerContext,
  tube: StoredTube,
  letter: Letter,
  envelope: Envelope,
  { due, content = envelope.content }: Change,
): Promise<boolean> {
  const { id, born } = letter;
  const { parts } = context;
  // This key ensures that the job is added once, even if this call fails halfway and is repeated.
  await parts.adopt(tube, { ...envelope, content }, { key: `${id}, revived`, due });
  const taken = await beforeStoring(context.batched.ask(tube, 'discard', { id, born }));
  await deleteCopies(parts, tube, letter, (taken ?? letter).places);
  return true;
}

/** Resolves with an object if the move lost to a concurrent change; `present` is the job as it is now, if the ledger returned it. */
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
    // Nothing may be recorded about a job that may have finished long ago.
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

/** Moves a job given the envelope of a copy of the generation being replaced. Resolves with undefined if it was moved. */
async function move(
  context: ProducerContext,
  next: Move,
  { header, content: present }: Envelope,
  { due, content = present, readable, headers, until, thorough = false }: Change,
): Promise<{ readonly why: Refusal; readonly present?: Schedule | undefined } | undefined> {
  const { tube, id, known } = next;
  if (header.foreign) throw header.foreign.cannotMove(id); // the other program's consumers would delete our copies
  if (readable && content !== present) refuseWithoutCodec(id, { present, content, readable });
  const { born } = known;
  const { cluster } = context.parts;
  const { expires } = header;
  // Whoever revives a job wants it to run: a fixed expiry has passed, or soon has.
  const outlives = next.opening.by === 'revive' && expires !== undefined && isFixed(expires);
  if (!outlives) refuseExpired({ due, expires });
  const job = {
    ...header,
    expires: outlives ? undefined : expires,
    due,
    generation: due, // same number of digits as the real one
    born,
    copies: cluster.settings.replicas,
    headers: headers ? { ...header.headers, ...headers } : header.headers,
  };
  const envelope = envelopeFor(cluster, tube, job, content);
  const { answer } = await storeGeneration(context, { ...next, envelope, until });
  if (answer.kind === 'committed') {
    // Other processes may have found copies of a dead job since its letter was read.
    const deletion = deleteCopies(context.parts, tube, { id, ...known }, answer.left ?? known.places);
    if (thorough) await deletion;
  }
  // Overtaken: the job was replaced or moved by another call, either after this move was committed or before it. In the latter
  // case, this move counts as having happened right before.
  if (answer.kind === 'committed' || answer.why === 'overtaken') return undefined;
  return { why: answer.why, present: answer.present };
}

interface Replacing {
  readonly present: Content;
  readonly content: Content;
  readonly readable: readonly string[];
}

/** A caller without the tube's codec doesn't know what its handler expects. */
function refuseWithoutCodec(id: string, { present, content, readable }: Replacing): void {
  const codec = encodedIn(present)?.codec;
  if (codec === undefined || readable.includes(codec) || encodedIn(content)) return;
  throw new DqError(
    'DQ_BAD_PAYLOAD',
    `the payload of job ${id} is encoded with the codec ${show(codec)}, and the new one isn't: expected a reference with the tube that defineTube returns for that codec, such as { tube, key }`,
  );
}

function noCopy(id: string, places: readonly Place[]): DqError {
  const where = places.map(({ location }) => location).join(', ') || 'a location known to the ledger';
  return new DqError(
    'DQ_NO_COPY',
    `no copy of job ${id} is reachable, so it is unchanged: expected a copy at ${where}`,
  );
}
