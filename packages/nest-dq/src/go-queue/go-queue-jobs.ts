/** Jobs of tubes shared with go-queue services: stored in its format, adopted into a tube of ours, and revoked for both. */
import type { JobReceipt, JobRef, JobView, RevokeResult } from '../api/job.js';
import { nestTube, type Tube, type TubeWires } from '../api/tube.js';
import type { Stats } from '../beanstalk/codec/yaml.js';
import { deleteCopies } from '../copies/deletion.js';
import { formatRef, keyedId, type JobTarget } from '../copies/job-ref.js';
import { formatLocation, parseLocation, type Place } from '../copies/location.js';
import { encodedIn, isJson, type Content } from '../copies/payload.js';
import { refuseTooLarge, storeCopies, tooFewCopies } from '../copies/storing.js';
import { openHeaderOf } from '../copies/formats/unwrap.js';
import type { NamedCopy } from '../copies/header.js';
import { DqError, show } from '../errors.js';
import { MAY_RUN, NOTHING_RUNS } from '../producer/generations.js';
import { type Adder, type NewJob, receipt } from '../producer/job-adder.js';
import { findJob, view } from '../producer/job-finder.js';
import type { ForeignJobs } from '../producer/foreign-jobs.js';
import type { ResolvedJobOptions } from '../api/job-options.js';
import type { ProducerContext } from '../producer/producer-context.js';
import {
  goQueueCopies,
  GoQueueEnvelope,
  goQueueIndex,
  goQueueIdsOf,
  goQueueOwed,
  isGoQueueId,
} from './go-queue-format.js';
import { type GoQueueLocks, LOCK_TIME_MS } from './locks.js';

const BELOW_A_MS = 1_000_000;

/** Options that go-queue's format can't hold, and why. */
const REFUSED: readonly [option: keyof ResolvedJobOptions, why: string][] = [
  ['key', 'go-queue has no keys'],
  ['attempts', 'go-queue runs a job once; set them on the handler'],
  ['backoff', 'go-queue runs a job once; set it on the handler'],
  ['headers', 'go-queue stores only the payload'],
  ['group', 'go-queue has no groups'],
  ['expires', 'go-queue runs a job however late it is'],
];

export class GoQueueJobs implements ForeignJobs, Adder {
  private below = Math.floor(Math.random() * BELOW_A_MS);

  constructor(
    private readonly context: ProducerContext,
    private readonly wires: TubeWires,
    private readonly locks: GoQueueLocks,
  ) {}

  adderOf(tube: string | Tube, name: string): Adder | undefined {
    return this.wires.of(tube, name) === 'go-queue' ? this : undefined;
  }

  /** Returns the options unchanged. Throws `DQ_BAD_OPTION` or `DQ_BAD_PAYLOAD` if go-queue's format can't hold the job. */
  prepare(tube: string, options: ResolvedJobOptions, content: Content): ResolvedJobOptions {
    refuseForGoQueue(tube, options, content);
    return options;
  }

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
    const time = Math.max(0, job.due - ledger.now()) + LOCK_TIME_MS;
    const owed = goQueueOwed(cluster.nodes.length);
    const revoke = { id, born: 0, due: job.due, owed, abort: false };
    const lock = await this.context.batched
      .ask(tube, 'revoke', revoke) // a copy may surface after the lock expires
      .then(() => this.locks.revoke(id, time))
      .catch((error: unknown) => error as DqError);
    await deleteCopies(parts, tube, { id, generation: 0 }, stored.places);
    if (lock === 'revoked') throw tooFewCopies(cluster, stored, NOTHING_RUNS, false);
    throw tooFewCopies(cluster, stored, MAY_RUN, true);
  }

  async find(named: readonly [NamedCopy, ...NamedCopy[]]): Promise<JobTarget | undefined> {
    const { cluster } = this.context.parts;
    const { seal } = cluster.settings;
    const [{ tube }] = named;
    if (seal && !seal.takesUnsealed(tube)) {
      throw new DqError(
        'DQ_BAD_REF',
        `the reference names copies of ${show(tube)} and has no tag of \`seal\`: expected the \`ref\` of a receipt; ` +
          "or, to accept go-queue's ids from anyone, the tube in `seal.unsealed`",
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
      if (header?.foreign === undefined || (await this.tubeAt(location)) !== tube) continue;
      const { id, due } = header;
      return { tube, id, born: 0, due, copies: places.length, places };
    }
    return undefined;
  }

  /** Resolves with the tube a copy is in, or undefined if it is gone or its node is away. */
  private async tubeAt(location: string): Promise<string | undefined> {
    const { endpoint, instance, copyId } = parseLocation(location)!;
    const node = this.context.parts.cluster.find(endpoint, instance);
    const stats = await node?.ask<Stats | 'NOT_FOUND'>((connection, done) =>
      connection.statsJob(copyId, done),
    );
    return typeof stats === 'object' ? stats['tube'] : undefined;
  }

  /** Takes go-queue's lock. go-queue doesn't consult the ledger, so copies are deleted before it resolves. */
  async revoke(
    target: JobTarget,
    revoke: (target: JobTarget, confirmed: boolean) => Promise<RevokeResult>,
  ): Promise<RevokeResult> {
    const { id, due, tube } = target;
    const time = Math.max(0, due - this.context.now(tube)) + LOCK_TIME_MS;
    const lock = await this.locks.revoke(id, time);
    const ofCopies = await revoke(target, lock !== 'theirs');
    if (lock === 'theirs') return 'done';
    const ofAdopted = await revoke(adoptedOf(target), true);
    return lock === 'revoked' ? 'revoked' : ofAdopted === 'unknown' ? ofCopies : ofAdopted;
  }

  async view(target: JobTarget): Promise<JobView | undefined> {
    const adopted = await findJob(this.context, adoptedOf(target));
    if (adopted) return adopted;
    const holder = await this.locks.look(target.id);
    if (holder !== 'revoked' && holder !== 'theirs') return findJob(this.context, target);
    const state = holder === 'revoked' ? holder : 'done';
    const { due, places } = target;
    return view(this.context, target, { state, born: 0, generation: 0, due, attempt: 0, places });
  }

  async present(ref: JobRef): Promise<JobRef> {
    const copies = goQueueCopies(ref);
    const target = copies ? await this.find(copies) : this.context.parse(ref);
    if (!target) {
      throw new DqError(
        'DQ_BAD_REF',
        `the copies ${show(typeof ref === 'string' ? ref : (ref as { ref: string }).ref)} are gone or unreachable: expected one of them, because only its bytes identify the job`,
      );
    }
    if (!isGoQueueId(target.id)) return ref;
    const adopted = await findJob(this.context, adoptedOf(target)).catch(() => undefined); // the caller will see that the ledger is away
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

/** Returns our job that a go-queue job turns into when adopted. */
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

/** Throws `DQ_BAD_OPTION` or `DQ_BAD_PAYLOAD` if go-queue's format can't hold the job. */
function refuseForGoQueue(tube: string, options: ResolvedJobOptions, content: Content): void {
  const refuse = (what: string, why: string) => {
    throw new DqError(
      'DQ_BAD_OPTION',
      `${what} of a job of ${show(tube)}, which go-queue uses: expected none, because ${why}`,
    );
  };
  for (const [option, why] of REFUSED) {
    if (options[option] === undefined) continue;
    if (option === 'expires') refuse('`expireAfter` or `expireAt`', why);
    refuse(`\`${option}\` (${show(options[option])})`, why);
  }
  if (options.priority !== 1) refuse('`priority`', 'go-queue runs jobs in order of their times');
  if (encodedIn(content)) refuse('the codec', 'go-queue stores JSON');
  if (content.type !== 'text' || !isJson(content.bytes.toString())) return;
  throw new DqError(
    'DQ_BAD_PAYLOAD',
    `the payload of a job of ${show(tube)}, which go-queue uses, is the string ${show(content.bytes.toString().slice(0, 100))}: ` +
      'expected the value itself, because a handler would get it as JSON',
  );
}
