import type { Duplex } from 'node:stream';
import { expect } from '@jest/globals';
import { Cluster } from '../src/cluster/cluster.js';
import { ClusterNode } from '../src/cluster/cluster-node.js';
import { InProcessNode } from '../src/embedded/in-process-node.js';
import { unwrap } from './unwrap.js';
import type { CopyHeader, Envelope } from '../src/copies/header.js';
import { DqError } from '../src/errors.js';
import type { DqHooks } from '../src/events/hooks.js';
import { LedgerIndex } from '../src/ledger/ledger-index.js';
import { LocalActs } from '../src/fleet/local-acts.js';
import { LocalHistory } from '../src/fleet/local-history.js';
import { LocalSeriesRuns } from '../src/fleet/local-series-runs.js';
import { LocalPresence } from '../src/fleet/local-presence.js';
import type { LedgerSettings } from '../src/ledger/ledger.js';
import { MemoryLedger } from '../src/ledger/memory/memory-ledger.js';
import type { ClaimAnswer, Death, FailedRun, KeptDone } from '../src/ledger/requests.js';
import type { WaitingJobs } from '../src/ledger/waiting/waiting-jobs.js';
import { SettleQueue } from '../src/ledger/settle-queue.js';
import { ClusterControl } from '../src/operate/control.js';
import { ClusterInspector } from '../src/operate/inspector.js';
import { StoredWaitingJobs, type NamedNode } from '../src/embedded/stored-waiting-jobs.js';
import { SeriesScheduler } from '../src/recurring/series-scheduler.js';
import { ClusterDeadLetters } from '../src/producer/dead-letters.js';
import type { ClusterProducer } from '../src/producer/cluster-producer.js';
import { ProducerContext } from '../src/producer/producer-context.js';
import { ChangedLedger } from './changed-ledger.js';
import { CollectingHub } from './collecting-hub.js';
import { ScriptedNode } from './scripted-node.js';
import { VirtualClock } from 'nest-handlers/testing';
import { withGoQueue } from './go-queue.js';

export const LEDGER_SETTINGS = {
  lease: 15_000,
  doneTtl: 60_000,
  staleAfter: 604_800_000,
  mostIndexed: 2_000,
};

interface Server {
  dial(): Duplex;
}

/** A copy on a node. */
export interface StoredCopy {
  readonly node: number;
  readonly copyId: string;
  /** `ready`, `delayed`, `reserved` or `buried`. */
  readonly state: string;
  /** Whole seconds until a delayed copy surfaces. */
  readonly delay: number;
  readonly header: CopyHeader;
  readonly payload: string;
}

type RunEnd = 'done' | 'retry' | 'back' | 'dead';

interface EndDetails {
  /** When a retry is due, in ledger time. @default now */
  readonly due?: number;
  /** @default the attempts are used up, without an error */
  readonly death?: Death;
  /** @default none is kept */
  readonly failure?: FailedRun;
  /** @default nothing is kept */
  readonly kept?: KeptDone;
}

const DEATH: Death = { why: 'attempts' };

/** Nodes, a ledger, and processes that schedule jobs there. */
export class Producing<S extends Server> {
  readonly memory: MemoryLedger;
  readonly nodes: readonly ClusterNode[];
  readonly cluster: Cluster;
  /** Only with embedded nodes. */
  private readonly listed: WaitingJobs;
  readonly presence: LocalPresence;
  private readonly away = new Set<number>();
  private readonly streams: Set<Duplex>[] = [];

  constructor(
    readonly clock: VirtualClock,
    readonly servers: S[],
    private readonly prefix: string,
    private readonly ledgerSettings: LedgerSettings = LEDGER_SETTINGS,
  ) {
    this.memory = new MemoryLedger({ settings: ledgerSettings, clock });
    const named = servers.map((node, i) => ({ endpoint: `n${i}:1`, node }) as unknown as NamedNode);
    this.listed = new StoredWaitingJobs(named, this.memory);
    this.presence = new LocalPresence(() => this.memory.now());
    this.nodes = servers.map((_, i) => new ClusterNode(`n${i}:1`, () => this.dial(i), clock));
    const replicas = Math.min(3, servers.length);
    this.cluster = new Cluster(this.nodes, { replicas, minWritten: Math.min(2, replicas) });
    Object.assign(this.cluster, { turn: 0 }); // the first job's primary goes to the first node
  }

  /** Cuts these nodes off. They do not lose their copies. */
  readonly cut = async (...indexes: number[]): Promise<void> => {
    for (const index of indexes) {
      this.away.add(index);
      for (const stream of this.streams[index] ?? []) stream.destroy();
    }
    await this.clock.advance(0);
  };

  /** Makes all nodes reachable again. */
  readonly restore = async (): Promise<void> => {
    this.away.clear();
    await this.clock.advance(3_000);
    if (!this.nodes.every(({ up }) => up)) throw new Error('a node did not come back');
  };

  private dial(index: number): Duplex {
    const stream = this.servers[index]!.dial();
    if (this.away.has(index)) return stream.destroy(new Error('connect ECONNREFUSED'));
    (this.streams[index] ??= new Set()).add(stream);
    stream.once('close', () => this.streams[index]!.delete(stream));
    return stream;
  }

  /** Starts one more process. */
  readonly process = (
    more: { onSchedule?: DqHooks['onSchedule']; patience?: number; mostIndexed?: number } = {},
  ) => {
    const { onSchedule, patience = 0, mostIndexed = 0 } = more;
    const { clock, cluster, prefix } = this;
    const ledger = new ChangedLedger(this.memory, clock);
    const settleQueue = new SettleQueue(ledger, clock, cluster.nodes, this.ledgerSettings);
    const events = new CollectingHub();
    const { doneTtl } = this.ledgerSettings;
    const settings = { prefix, backupDelay: 2_000, patience, doneTtl, mostIndexed };
    const waiting = new LedgerIndex(ledger);
    const goQueue = withGoQueue(clock, (...adopted) => producer.adopt(...adopted));
    const { adopt, sharedTubes } = goQueue;
    const parts = {
      cluster,
      ledger,
      waiting,
      settleQueue,
      clock,
      events,
      settings,
      onSchedule,
      adopt,
      sharedTubes,
    };
    // Without an index, only those who act on many jobs see them: as if no server were there.
    const context = new ProducerContext({ ...parts, waiting: mostIndexed > 0 ? waiting : this.listed });
    const producer: ClusterProducer = goQueue.producer(context);
    const { presence } = this;
    const history = new LocalHistory(() => ledger.now());
    const acts = new LocalActs(() => ledger.now());
    const seriesRuns = new LocalSeriesRuns(() => ledger.now());
    const deadLetters = new ClusterDeadLetters(context);
    const series = new SeriesScheduler({ events, clock, trouble: () => undefined });
    const viewLedger = () => this.memory.view();
    return {
      context,
      parts,
      ledger,
      settleQueue,
      events,
      producer,
      deadLetters,
      inspector: new ClusterInspector({
        ...parts,
        viewLedger,
        producer,
        deadLetters,
        series,
        presence,
        history,
        acts,
        seriesRuns,
        planned: { missed: async () => [] },
      }),
      control: new ClusterControl(context, { producer, presence }),
      history,
    };
  };

  /** Moves the clock by `ms` during a call. Settles as the call does. */
  readonly after = async <T>(ms: number, call: Promise<T>): Promise<T> => {
    const settled = Promise.allSettled([call]);
    await this.clock.advance(ms);
    const [result] = await settled;
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  };

  /** All copies of a tube on the nodes in reach, in the order of generation and index. */
  readonly copies = async (tube = 't'): Promise<StoredCopy[]> => {
    const found: StoredCopy[] = [];
    for (const [node, { endpoint }] of this.nodes.entries()) {
      const lane = this.nodes[node]!.connectLane(() => undefined);
      if (!lane) continue;
      const total = Number(
        (await lane.ask<Readonly<Record<string, string>>>((done) => lane.stats(done)))['total-jobs'],
      );
      for (let id = 1; id <= total; id++) {
        const stats = await lane.ask<Readonly<Record<string, string>> | 'NOT_FOUND'>((done) =>
          lane.statsJob(String(id), done),
        );
        if (stats === 'NOT_FOUND' || stats['tube'] !== tube) continue;
        const body = await lane.ask<{ body: Buffer } | 'NOT_FOUND'>((done) => lane.peek(String(id), done));
        const envelope = body === 'NOT_FOUND' ? 'it is gone' : unwrap(body.body);
        if (typeof envelope === 'string') throw new Error(`copy ${id} on ${endpoint}: ${envelope}`);
        const { header, content } = envelope;
        const [state, delay] = [stats['state']!, Number(stats['delay'])];
        found.push({ node, copyId: String(id), state, delay, header, payload: content.bytes.toString() });
      }
      lane.close();
    }
    return found.sort((a, b) => a.header.generation - b.header.generation || a.header.index - b.header.index);
  };

  /** The payloads of the copies of a tube, one for each copy: what could still run as far as the nodes know. */
  readonly payloads = async (tube = 't'): Promise<string[]> =>
    (await this.copies(tube)).map(({ payload }) => payload);

  /** Claims a copy, as a consumer does when the copy surfaces now. */
  readonly claim = async (
    { header }: Pick<StoredCopy, 'header'>,
    attempts = 10,
    tube = 't',
  ): Promise<ClaimAnswer> => {
    const { id, generation, born, due } = header;
    const token = `${generation}.${header.index}.${this.clock.now()}`;
    const [answer] = await this.memory.tube(tube).claim([{ id, generation, born, due, token, attempts }]);
    return answer!;
  };

  /** Claims a copy, and expects that it is granted. Resolves with a function that completes the run. */
  readonly run = async (copy: Pick<StoredCopy, 'header'>, attempts = 10, tube = 't') => {
    const answer = await this.claim(copy, attempts, tube);
    if (answer.kind !== 'run') throw new Error(`expected a run, got ${JSON.stringify(answer)}`);
    const { id, generation, born, due, copies } = copy.header;
    const owed = { mask: 2 ** copies - 1, unknown: false };
    const { fence, attempt } = answer;
    const ref = { id, generation, born, due, fence, attempt, lastOk: this.clock.wall() };
    return {
      attempt,
      finish: async (
        kind: RunEnd,
        { due: at = this.clock.wall(), death = DEATH, failure, kept }: EndDetails = {},
      ) => {
        const outcome =
          kind === 'retry'
            ? { kind, due: at, failure }
            : kind === 'dead'
              ? { kind, death, places: [], failure }
              : kind === 'done'
                ? { kind, kept }
                : { kind };
        const [finished] = await this.memory.tube(tube).complete([{ ...ref, owed, outcome }]);
        return finished!;
      },
    };
  };

  /** Buries every copy of the tube that the ledger calls dead, and tells the ledger. */
  readonly bury = async (tube = 't'): Promise<void> => {
    for (const copy of await this.copies(tube)) {
      const { kind } = await this.claim(copy, 10, tube);
      if (copy.state === 'buried' || kind !== 'dead') continue;
      const node = this.nodes[copy.node]!;
      const lane = node.connectLane(() => undefined)!;
      await lane.ask((done) => lane.reserveJob(copy.copyId, done));
      await lane.ask((done) => lane.bury(copy.copyId, 0, done));
      const { id, born, generation, index } = copy.header;
      const places = [{ index, location: `${node.endpoint}#${node.instance}:${copy.copyId}` }];
      await this.memory.tube(tube).buried([{ id, born, generation, places }]);
      lane.close();
    }
  };
}

async function started<S extends Server>(world: Producing<S>) {
  world.cluster.start();
  await world.clock.advance(0);
  return Object.assign(world, world.process());
}

/** Nodes that answer as a spec says. */
export async function scripted(
  count = 3,
  prefix = '',
  prepare: (server: ScriptedNode, index: number) => void = () => undefined,
) {
  const clock = new VirtualClock();
  const servers = Array.from({ length: count }, (_, i) => {
    const server = Object.assign(new ScriptedNode(clock), { instance: `instance${i}` });
    server.answers['delete'] = () => 'DELETED';
    prepare(server, i);
    return server;
  });
  const world = await started(new Producing(clock, servers, prefix));
  /** The puts, in the order of their indexes. */
  const puts = (): { line: string; envelope: Envelope }[] =>
    servers
      .flatMap(({ arrived }) => arrived)
      .filter(({ line }) => line.startsWith('put '))
      .map(({ line, body }) => ({ line, envelope: unwrap(body) as Envelope }))
      .sort((a, b) => a.envelope.header.index - b.envelope.header.index);
  const words = (): string[] => servers.flatMap((server) => server.words);
  return Object.assign(world, { puts, words });
}

/** Real, embedded nodes. */
export async function embedded(count = 3, prefix = '', ledgerSettings = LEDGER_SETTINGS) {
  const clock = new VirtualClock();
  const servers = Array.from({ length: count }, () => new InProcessNode(clock));
  return started(new Producing(clock, servers, prefix, ledgerSettings));
}

/** Expects that the call rejects. Resolves with its error. */
export async function failure(call: Promise<unknown>): Promise<DqError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DqError);
  return error as DqError;
}
