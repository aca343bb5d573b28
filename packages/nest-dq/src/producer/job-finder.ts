import type { JobView } from '../api/job.js';
import { withoutPrefix } from '../api/tube.js';
import { formatRef, type JobTarget } from '../copies/job-ref.js';
import { readCopy } from '../copies/reading.js';
import type { Schedule } from '../ledger/requests.js';
import { look } from './generations.js';
import type { ProducerContext } from './producer-context.js';

/** Tells the state of a job: the ledger's, or, if the ledger does not know the job, that of a copy. */
export class JobFinder {
  constructor(private readonly context: ProducerContext) {}

  async find(target: JobTarget): Promise<JobView | undefined> {
    const { id, born, places } = target;
    const found = await this.known(target);
    if (found) return born === undefined || found.born === born ? this.view(target, found) : undefined;
    if (born === undefined) return undefined;
    const copy = await readCopy(this.context.cluster, { id, generation: born }, places);
    if (!copy) return undefined;
    const { due } = copy.header;
    return this.view(target, { state: 'waiting', born, generation: born, due, attempt: 0, places });
  }

  /** The headers in a copy of a job that the ledger knows. Undefined: no copy is in reach. */
  async headersOf(target: JobTarget): Promise<Readonly<Record<string, string>> | undefined> {
    const found = await this.known(target);
    const copy = found && (await readCopy(this.context.cluster, { id: target.id, ...found }, found.places));
    return copy && (copy.header.headers ?? {});
  }

  private known({ tube, id }: JobTarget): Promise<Schedule | undefined> {
    return look(this.context.tube(tube).find(id));
  }

  private view({ tube, id, key, copies, places }: JobTarget, found: Schedule): JobView {
    const { state, attempt, due, born } = found;
    const known = found.places.length > 0 ? found.places : places;
    const ref = formatRef({ tube, id, key, born, due, copies: copies || known.length, places: known });
    return {
      state: state === 'waiting' && attempt > 0 ? 'retrying' : state,
      id,
      ref,
      tube: withoutPrefix(tube, this.context.settings.prefix),
      ...(key === undefined ? {} : { key }),
      dueAt: new Date(due),
      attempt,
    };
  }
}
