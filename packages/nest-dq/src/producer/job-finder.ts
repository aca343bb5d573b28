import type { JobView } from '../api/job.js';
import { withoutPrefix } from '../api/tube.js';
import { formatRef, type JobTarget } from '../copies/job-ref.js';
import { readCopy } from '../copies/reading.js';
import type { Schedule } from '../ledger/requests.js';
import { look } from './generations.js';
import { locate } from './job-locator.js';
import type { ProducerContext } from './producer-context.js';

/** Resolves with the state of a job, from the ledger, or from a copy if the ledger has no record of it. */
export async function findJob(context: ProducerContext, given: JobTarget): Promise<JobView | undefined> {
  const target = await locate(context, given);
  if (!target) return undefined;
  const { id, born, places } = target;
  const found = await known(context, target);
  if (found) {
    if (born !== undefined && found.born !== born) return undefined;
    return view(context, { ...target, key: await keyOf(context, target, found) }, found);
  }
  if (born === undefined) return undefined;
  const copy = await readCopy(context.parts.cluster, target.tube, { id, generation: born }, places);
  if (!copy) return undefined;
  const { due, key } = copy.header;
  return view(
    context,
    { ...target, key: target.key ?? key },
    { state: 'waiting', born, generation: born, due, attempt: 0, places },
  );
}

/** Resolves with the headers in a copy of a job known to the ledger. Undefined if no copy is reachable. */
export async function headersOf(
  context: ProducerContext,
  target: JobTarget,
): Promise<Readonly<Record<string, string>> | undefined> {
  const found = await known(context, target);
  const copy =
    found && (await readCopy(context.parts.cluster, target.tube, { id: target.id, ...found }, found.places));
  return copy && (copy.header.headers ?? {});
}

/** The key, from a copy if the target doesn't have it. Undefined if the job has none, or no copy is reachable. */
async function keyOf(
  { parts }: ProducerContext,
  { tube, id, key }: JobTarget,
  { born, generation, places }: Schedule,
): Promise<string | undefined> {
  if (key !== undefined || born === 0 || places.length === 0) return key; // without a key it was born as generation 0
  return (await readCopy(parts.cluster, tube, { id, generation }, places))?.header.key;
}

function known({ batched }: ProducerContext, { tube, id }: JobTarget): Promise<Schedule | undefined> {
  return look(batched.ask(tube, 'find', id));
}

/** Returns the state of a job as a user sees it. */
export function view(context: ProducerContext, target: JobTarget, found: Schedule): JobView {
  const { cluster, settings } = context.parts;
  const { tube, id, key, copies, places } = target;
  const { state, attempt, due, born } = found;
  const knownPlaces = found.places.length > 0 ? found.places : places;
  const planned = copies || knownPlaces.length;
  return {
    state: state === 'waiting' && attempt > 0 ? 'retrying' : state,
    id,
    ref: formatRef({ tube, id, key, born, due, copies: planned, places: knownPlaces }, cluster.settings.seal),
    tube: withoutPrefix(tube, settings.prefix),
    ...(key === undefined ? {} : { key }),
    dueAt: new Date(due),
    attempt,
  };
}
