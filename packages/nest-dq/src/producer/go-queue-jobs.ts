/** Jobs of tubes that services with go-queue use as well: stored in its format, adopted into a tube of ours, and revoked for both. */
import type { JobReceipt, JobRef, JobView, RevokeResult } from '../api/job.js';
import { nestTube } from '../api/tube.js';
import type { Stats } from '../beanstalk/codec/yaml.js';
import { deleteCopies } from '../copies/deletion.js';
import {
  goQueueCopies,
  GoQueueEnvelope,
  goQueueIndex,
  goQueueIdsOf,
  goQueueOwed,
  isGoQueueId,
  type NamedCopy,
} from '../copies/formats/go-queue.js';
import { formatRef, keyedId, type JobTarget } from '../copies/job-ref.js';
import { formatLocation, parseLocation, type Place } from '../copies/location.js';
import { isJson, type Content } from '../copies/payload.js';
import { refuseTooLarge, storeCopies, tooFewCopies } from '../copies/storing.js';
import { openHeaderOf } from '../copies/formats/unwrap.js';
import { DqError, show } from '../errors.js';
import { type GoQueueLocks, LOCK_TIME } from '../go-queue/locks.js';
import { type NewJob, receipt } from './job-adder.js';
import { findJob, view } from './job-finder.js';
import { MAY_RUN, NOTHING_RUNS } from './generations.js';
import type { ResolvedJobOptions } from '../api/job-options.js';
import type { ProducerContext } from './producer-context.js';

const BELOW_A_MS = 1_000_000;

/** What go-queue's format has no place for, and why that matters. */
const REFUSED: readonly [option: keyof ResolvedJobOptions, why: string][] = [
  ['key', 'go-queue knows no keys'],
  ['attempts', "they are the handler's options, as go-queue runs a job once"],
  ['backoff', "it is the handler's option, as go-queue runs a job once"],
  ['headers', 'go-queue stores the payload alone'],
  ['group', 'go-queue knows no groups'],
];

export class GoQueueJobs {
  private below = Math.floor(Math.random() * BELOW_A_MS);

  constructor(
    private readonly context: ProducerContext,
    private readonly locks: GoQueueLocks,
  ) {}

  /** Rejects with what is wrong with the job, before anything is stored. */
  async add(job: NewJob): Promise<JobReceipt> {
    const { parts } = this.context;
    const { cluster, settings } = parts;
    const { storedAs: tube } = job;
    const ledger = parts.ledger.tube(tube);
    const envelope = this.envelopeOf(job);
    refuseTooLarge(cluster, envelope);
    const { id } = envelope.job;
    const inOrder = await storeCopies(cluster, {
      tube,
      envelope,
      backupDelay: settings.backupDelay,
      ledger,
    });
    const places = inOrder.places.map(({ location }) => {
      const { endpoint } = parseLocation(location)!;
      return { index: goQueueIndex(cluster.nodes.find((node) => node.endpoint === endpoint)!), location };
    });
    const stored = { ...inOrder, places };
    if (stored.enough) {
      const goQueueIds = goQueueIdsOf(tube, stored.places);
      return { ...receipt(job, id, stored, 'added'), goQueueIds };
    }
    if (stored.places.length === 0) throw tooFewCopies(cluster, stored, NOTHING_RUNS, false);
    const time = Math.max(0, job.due - ledger.now()) + LOCK_TIME;
    const owed = goQueueOwed(cluster.nodes.length);
    const revoke = { id, born: 0, due: job.due, owed, abort: false };
    const lock = await this.context.batched
      .ask(tube, 'revoke', revoke) // a copy may surface when the lock is over
      .then(() => this.locks.revoke(id, time))
      .catch((error: unknown) => error as DqError);
    await deleteCopies(parts, tube, { id, generation: 0 }, stored.places);
    if (lock === 'revoked') throw tooFewCopies(cluster, stored, NOTHING_RUNS, false);
    throw tooFewCopies(cluster, stored, MAY_RUN, true);
  }

  /**
   * The job of which these are copies. Undefined: no copy of it is there, or in reach. `DQ_BAD_REF`, also where jobs of the tube are sealed:
   * such a reference has no tag, so anybody can write one for a job of others.
   */
  async find(named: readonly [NamedCopy, ...NamedCopy[]]): Promise<JobTarget | undefined> {
    const { cluster } = this.context.parts;
    const { seal } = cluster.settings;
    const [{ tube }] = named;
    if (seal && !seal.takesUnsealed(tube)) {
      throw new DqError(
        'DQ_BAD_REF',
        `the reference names copies of ${show(tube)} and has no tag of \`seal\`: expected the \`ref\` of a receipt; ` +
          "or, to take go-queue's ids of whoever has one, the tube in `seal.unsealed`",
      );
    }
    const places = named.map(({ endpoint, copyId }): Place => {
      const node = cluster.nodes.find((each) => each.endpoint === endpoint);
      if (node) {
        const location = formatLocation(endpoint, node.instance ?? '', copyId);
        return { index: goQueueIndex(node), location };
      }
      const known = cluster.nodes.map((each) => each.endpoint).join(', ');
      throw new DqError(
        'DQ_BAD_REF',
        `the reference names the node ${show(endpoint)}: expected one of ${known}, spelt as in go-queue's configuration`,
      );
    });
    for (const { location } of places) {
      const body = await cluster.peek(location);
      const header = body && openHeaderOf(body);
      if (header?.wire === undefined || (await this.tubeAt(location)) !== tube) continue;
      const { id, due } = header;
      return { tube, id, born: 0, due, copies: places.length, places };
    }
    return undefined;
  }

  /** The tube in which a copy is. Undefined: it is gone, or its node is away. */
  private async tubeAt(location: string): Promise<string | undefined> {
    const { endpoint, instance, copyId } = parseLocation(location)!;
    const node = this.context.parts.cluster.find(endpoint, instance);
    const stats = await node?.ask<Stats | 'NOT_FOUND'>((connection, done) =>
      connection.statsJob(copyId, done),
    );
    return typeof stats === 'object' ? stats['tube'] : undefined;
  }

  /**
   * Takes go-queue's lock, so that nobody begins the job, also while nodes are away.
   * @param revoke Revokes a job of ours. go-queue does not ask the ledger, so what is revoked is deleted before the answer.
   */
  async revoke(
    target: JobTarget,
    revoke: (target: JobTarget, confirmed: boolean) => Promise<RevokeResult>,
  ): Promise<RevokeResult> {
    const { id, due, tube } = target;
    const time = Math.max(0, due - this.context.now(tube)) + LOCK_TIME;
    const lock = await this.locks.revoke(id, time);
    const ofCopies = await revoke(target, lock !== 'theirs');
    if (lock === 'theirs') return 'done';
    const ofAdopted = await revoke(adoptedOf(target), true);
    return lock === 'revoked' ? 'revoked' : ofAdopted === 'unknown' ? ofCopies : ofAdopted;
  }

  /** What is known of a job: as we run it, or else as go-queue stored it. `done`: also if go-queue has begun it. */
  async view(target: JobTarget): Promise<JobView | undefined> {
    const adopted = await findJob(this.context, adoptedOf(target));
    if (adopted) return adopted;
    const holder = await this.locks.look(target.id);
    if (holder !== 'revoked' && holder !== 'theirs') return findJob(this.context, target);
    const state = holder === 'revoked' ? holder : 'done';
    const { due, places } = target;
    return view(this.context, target, { state, born: 0, generation: 0, due, attempt: 0, places });
  }

  /** What finds a job where it is now: in our tube if it was adopted. `DQ_BAD_REF`. */
  async present(ref: JobRef): Promise<JobRef> {
    const copies = goQueueCopies(ref);
    const target = copies ? await this.find(copies) : this.context.parse(ref);
    if (!target) {
      throw new DqError(
        'DQ_BAD_REF',
        `the copies ${show(typeof ref === 'string' ? ref : (ref as { ref: string }).ref)} are gone or out of reach: expected one of them, as only its bytes tell which job it is`,
      );
    }
    if (!isGoQueueId(target.id)) return ref;
    const adopted = await findJob(this.context, adoptedOf(target)).catch(() => undefined); // who asks sees that the ledger is away
    return (
      adopted?.ref ??
      (copies ? formatRef({ ...target, born: 0 }, this.context.parts.cluster.settings.seal) : ref)
    );
  }

  private envelopeOf({ due, content }: NewJob): GoQueueEnvelope {
    this.below = (this.below + 1) % BELOW_A_MS;
    return new GoQueueEnvelope(due, this.below, content, this.context.parts.cluster.settings.replicas);
  }
}

/** The job of ours that a job of go-queue's becomes. */
function adoptedOf({ tube, id: key }: JobTarget): JobTarget {
  const adopted = nestTube(tube);
  return {
    tube: adopted,
    id: keyedId(adopted, key),
    key,
    born: undefined,
    due: 0,
    copies: 0,
    places: [],
  };
}

/** `DQ_BAD_OPTION`, `DQ_BAD_PAYLOAD`: go-queue's format cannot carry it. */
export function refuseForGoQueue(tube: string, options: ResolvedJobOptions, content: Content): void {
  const refuse = (what: string, why: string) => {
    throw new DqError(
      'DQ_BAD_OPTION',
      `${what} of a job of ${show(tube)}, which go-queue uses: expected none, as ${why}`,
    );
  };
  for (const [option, why] of REFUSED) {
    if (options[option] !== undefined) refuse(`\`${option}\` (${show(options[option])})`, why);
  }
  if (options.priority !== 1) refuse('`priority`', 'go-queue runs jobs in the order of their times');
  if (content.type !== 'text' || !isJson(content.bytes.toString())) return;
  throw new DqError(
    'DQ_BAD_PAYLOAD',
    `the payload of a job of ${show(tube)}, which go-queue uses, is the text ${show(content.bytes.toString().slice(0, 100))}: ` +
      'expected the value itself, as a handler would get it as JSON',
  );
}
