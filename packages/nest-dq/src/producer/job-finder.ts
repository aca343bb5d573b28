import type { JobView } from '../api/job.js';
import { withoutPrefix } from '../api/tube.js';
import type { Envelope } from '../copies/header.js';
import { formatRef, type JobTarget } from '../copies/job-ref.js';
import { readCopy } from '../copies/reading.js';
import type { RunProgress, Schedule } from '../ledger/requests.js';
import { look } from './generations.js';
import { locate } from './job-locator.js';
import type { ProducerContext } from './producer-context.js';

/** Resolves with the state of a job, from the ledger, or from a copy if the ledger has no record of it. */
export async function findJob(context: ProducerContext, given: JobTarget): Promise<JobView | undefined> {
  const target = await locate(context, given);
  if (!target) return undefined;
  const { key, born, places } = target;
  const isOther = (found: Schedule) => born !== undefined && found.born !== born;
  const lacksKey = (found: Schedule) => key === undefined && found.born !== 0; // without a key it was born as generation 0
  const { found, copy } = await withCopy(context, target, (it) => !it || (!isOther(it) && lacksKey(it)));
  if (found && isOther(found)) return undefined;
  if (!found && !copy) return undefined;
  const named = { ...target, key: key ?? copy?.header.key };
  if (found) return view(context, named, found);
  const { generation, due } = copy!.header;
  return view(context, named, { state: 'waiting', born: generation, generation, due, attempt: 0, places });
}

/** Resolves with the headers in a copy of a job known to the ledger. Undefined if no copy is reachable. */
export async function headersOf(
  context: ProducerContext,
  target: JobTarget,
): Promise<Readonly<Record<string, string>> | undefined> {
  const { found, copy } = await withCopy(context, target, (it) => it !== undefined);
  return found && copy && (copy.header.headers ?? {});
}

/**
 * Reads the record of a job, and a copy where it is needed. A move between the two deletes the copies of the record that was
 * read: then both are read again.
 */
async function withCopy(
  context: ProducerContext,
  target: JobTarget,
  needsCopy: (found: Schedule | undefined) => boolean,
): Promise<{ readonly found: Schedule | undefined; readonly copy: Envelope | undefined }> {
  const { tube, id, born, places: given } = target;
  let found = await known(context, target);
  for (;;) {
    const generation = found?.generation ?? born;
    const places = found?.places ?? given;
    if (!needsCopy(found) || generation === undefined || places.length === 0)
      return { found, copy: undefined };
    const copy = await readCopy(context.parts.cluster, tube, { id, generation }, places);
    if (copy) return { found, copy };
    const present = await known(context, target);
    if (present?.generation === found?.generation) return { found, copy };
    found = present;
  }
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
    ...progressView(found),
  };
}

/** Returns the progress of a run as a user sees it. */
export function progressView({
  progress,
}: {
  readonly progress?: RunProgress | undefined;
}): Pick<JobView, 'progress'> {
  return progress ? { progress: { ...progress, at: new Date(progress.at) } } : {};
}
