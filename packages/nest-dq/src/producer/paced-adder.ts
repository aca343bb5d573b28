import type { JobReceipt } from '../api/job.js';
import { deleteCopies } from '../copies/deletion.js';
import { refuseExpired } from '../copies/expiry.js';
import { jobHeader } from '../copies/header.js';
import { keyedId } from '../copies/job-ref.js';
import { envelopeFor, owedAt } from '../copies/storing.js';
import { show, wrongValue } from '../errors.js';
import type { Trace } from '../ledger/requests.js';
import { parseDuration } from '../time/duration.js';
import type { Duration } from 'nest-handlers/time';
import { beforeStoring, conflict, isEnough, storeGeneration } from './generations.js';
import { receipt, type Adder, type JobAdder, type NewJob } from './job-adder.js';
import type { ProducerContext } from './producer-context.js';

/**
 * Returns when a job is due, and whether it continues the waiting job of its key, whose `born` it keeps.
 * @param asked Ledger time of the call, plus its delay.
 * @param found The last known job of the key.
 * @param ahead How long before its due time a run may be claimed, in ms.
 */
type Pace = (
  asked: number,
  found: Trace | undefined,
  ahead: number,
) => { readonly due: number; readonly continues: boolean };

/**
 * Due `wait` after the last call of a burst, at most `max` after the first. A job that waits for a retry belongs to no burst, so the
 * call starts a new one. `DQ_BAD_OPTION`, `DQ_BAD_DURATION`.
 */
export function debounced(wait: Duration, max: Duration | undefined): Pace {
  const ms = positive('wait', wait);
  const longest = max === undefined ? Infinity : positive('max', max);
  if (longest < ms) throw wrongValue('DQ_BAD_OPTION', '`max`', max, `at least \`wait\`, ${String(wait)}`);
  return (asked, found) => {
    if (found?.state !== 'waiting' || found.attempt > 0) return { due: asked, continues: false };
    return { due: Math.max(asked - ms, Math.min(asked, found.born + longest)), continues: true };
  };
}

/**
 * Due now, or `per` after the last start of a run of the key. `remembered`: how long the ledger knows of a run that ended, in ms.
 * `DQ_BAD_OPTION`, `DQ_BAD_DURATION`.
 */
export function throttled(per: Duration, remembered: number): Pace {
  const ms = positive('per', per);
  if (ms > remembered) {
    const expected = `at most ${remembered} ms, as long as the end of a job is remembered (\`advanced.doneTtl\`)`;
    throw wrongValue('DQ_BAD_OPTION', '`per`', per, expected);
  }
  return (asked, found, ahead) => {
    if (!found) return { due: asked, continues: false };
    // The fence is the time of the claim.
    const free = found.fence === 0 ? asked : Math.max(asked, Math.ceil(found.fence / 1_000) + ahead + ms);
    const continues = found.state === 'waiting';
    return { due: continues && found.attempt > 0 ? Math.max(free, found.due) : free, continues };
  };
}

function positive(name: string, value: Duration): number {
  const ms = parseDuration(value, `\`${name}\``);
  if (ms > 0) return Math.ceil(ms);
  throw wrongValue('DQ_BAD_OPTION', `\`${name}\``, value, 'a duration longer than 0');
}

/**
 * Adds keyed jobs whose due time depends on what the ledger knows of their key. Each add is refused if that has changed in the
 * meantime, and then decided again.
 */
export class PacedAdder implements Adder {
  constructor(
    private readonly context: ProducerContext,
    private readonly jobs: JobAdder,
    private readonly pace: Pace,
  ) {}

  prepare(...given: Parameters<Adder['prepare']>): ReturnType<Adder['prepare']> {
    return this.jobs.prepare(given[0], given[1]);
  }

  /** `DQ_CONFLICT`: concurrent changes kept winning. */
  async add(job: NewJob): Promise<JobReceipt> {
    const { storedAs, options, until } = job;
    const key = options.key!;
    const id = keyedId(storedAs, key);
    const { ahead } = this.context.parts.ledger.tube(storedAs);
    for (let tries = 1; ; tries++) {
      const found = (await beforeStoring(this.context.batched.ask(storedAs, 'trace', id))) ?? undefined;
      const { due, continues } = this.pace(job.due, found, ahead);
      refuseExpired({ due, expires: options.expires });
      const paced = { ...job, due };
      const added = continues
        ? await this.move(paced, id, found!)
        : await this.jobs.add({ ...paced, after: found?.born ?? 0 });
      if (added && added.status !== 'kept') return added;
      if (isEnough(tries, this.context.parts.clock, until)) throw conflict(`the key ${show(key)}`, tries);
    }
  }

  /** Replaces the waiting job, which keeps its birth. Resolves with undefined if it no longer waits as found. */
  private async move(job: NewJob, id: string, found: Trace): Promise<JobReceipt | undefined> {
    const { storedAs: tube, due, options, content, until } = job;
    const { parts } = this.context;
    const { cluster } = parts;
    const { born, generation, places } = found;
    const copies = cluster.settings.replicas;
    // `due` has as many digits as the generation, which isn't known yet.
    const header = jobHeader({ id, due, generation: due, born, copies }, options);
    const { stored, answer } = await storeGeneration(this.context, {
      tube,
      id,
      opening: { by: 'move', expected: generation },
      known: { ...found, owed: owedAt(places) },
      envelope: envelopeFor(cluster, tube, header, content),
      until,
    });
    if (!stored) return undefined;
    if (answer.kind === 'committed') void deleteCopies(parts, tube, { id, generation }, places);
    // Overtaken: it counts as moved right before the newer change.
    else if (answer.why !== 'overtaken') return undefined;
    return receipt(job, id, { ...stored, generation: born }, 'replaced');
  }
}
