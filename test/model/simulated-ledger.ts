import {
  AHEAD_MS,
  TubeLedger,
  type AnswerOf,
  type Ledger,
  type LedgerListener,
  type LedgerSettings,
  type RequestOf,
  type Verb,
} from 'nest-dq/src/ledger/ledger.js';
import type { ClaimContext } from 'nest-dq/src/ledger/requests.js';
import { MemoryLedger, type MemoryTubeLedger } from 'nest-dq/src/ledger/memory/memory-ledger.js';
import type { LedgerConnection } from 'nest-dq/src/ledger/redis/connection.js';
import type { RawReply } from 'nest-dq/src/ledger/script.js';
import { RedisMaster } from 'nest-dq/src/ledger/redis/master.js';
import type { Clock } from 'nest-handlers/time';
import type { HostClock } from './host-clock.js';

/** The state of the connection between a process and the ledger: see `LedgerLink.set`. */
export type Reach = 'open' | 'cut' | 'deaf';

export interface LedgerWitness {
  /** Called when the ledger has acted, whether or not the process hears of it. */
  acted(process: string, verb: Verb, request: unknown, answer: unknown): void;
}

interface Snapshot extends Pick<TubeRecords, 'letters' | 'index' | 'limitUse'> {
  readonly at: number;
  readonly records: TubeRecords['byId'];
}

type TubeRecords = MemoryTubeLedger['records'];

/** Interval of snapshots, in ms. */
const SNAPSHOT_EVERY = 250;
const SNAPSHOTS_KEPT = 40;

/** The ledger of the simulated world. It has the rules of the memory ledger, and behaves like a Redis. */
export class SimulatedLedger {
  private readonly memory: MemoryLedger;
  private readonly tube: MemoryTubeLedger;
  private snapshots: Snapshot[] = [];
  private readonly links = new Set<LedgerLink>();
  private server = 1;

  constructor(
    readonly world: Clock,
    readonly settings: LedgerSettings,
    tube: string,
    readonly latency: () => number,
    readonly witness: LedgerWitness,
  ) {
    this.memory = new MemoryLedger({ settings, clock: world, ahead: AHEAD_MS });
    this.tube = this.memory.tube(tube);
  }

  get records(): TubeRecords['byId'] {
    return this.tube.records.byId;
  }

  get letters(): TubeRecords['letters'] {
    return this.tube.records.letters;
  }

  /** The jobs that are listed as waiting. */
  get index(): TubeRecords['index'] {
    return this.tube.records.index;
  }

  /** The run id of the present server. */
  get runId(): string {
    return `server ${this.server}`;
  }

  now(): number {
    return this.tube.now();
  }

  /** The connection of a process to the ledger. */
  connect(name: string, process: HostClock): LedgerLink {
    const link = new LedgerLink(this, name, process);
    this.links.add(link);
    return link;
  }

  forget(link: LedgerLink): void {
    this.links.delete(link);
  }

  act<T>(rule: (tube: TubeLedger) => Promise<T>): Promise<T> {
    const at = this.world.now();
    const last = this.snapshots.at(-1);
    if (!last || at - last.at >= SNAPSHOT_EVERY) {
      const records = structuredClone(this.records);
      const [letters, index] = [new Map(this.letters), new Map(this.index)];
      const limitUse = structuredClone(this.tube.records.limitUse);
      this.snapshots.push({ at, records, letters, index, limitUse });
      if (this.snapshots.length > SNAPSHOTS_KEPT) this.snapshots.shift();
    }
    return rule(this.tube);
  }

  /** Pauses the tube for `ms`. Resolves with the end of its pause. */
  async pause(ms: number): Promise<number> {
    const pause = await this.tube.pause(this.now() + ms);
    return pause!.until!;
  }

  /** FLUSHALL. */
  flush(): void {
    const limitUse = { turn: 0, running: new Map(), groups: new Map() };
    this.restore({ records: new Map(), letters: new Map(), index: new Map(), limitUse });
  }

  /** A failover to a replica that is `by` ms behind. */
  rollBack(by: number): void {
    const until = this.world.now() - by;
    const snapshot = this.snapshots.findLast(({ at }) => at <= until) ?? this.snapshots[0];
    if (!snapshot) return;
    this.restore(structuredClone(snapshot));
    this.server++;
    for (const link of this.links) link.reconnect();
  }

  private restore({ records, letters, index, limitUse }: Omit<Snapshot, 'at'>): void {
    this.records.clear();
    for (const [id, record] of records) this.records.set(id, record);
    this.letters.clear();
    for (const [name, letter] of letters) this.letters.set(name, letter);
    this.index.clear();
    for (const [id, listed] of index) this.index.set(id, listed);
    Object.assign(this.tube.records.limitUse, limitUse);
    this.tube.records.keepPauses([]);
    this.snapshots = [];
  }
}

type Question = { answer?: unknown; readonly rule: (tube: TubeLedger) => Promise<unknown> };

/** The ledger as one process has it: the library's RedisMaster, with a connection to the simulated ledger. */
export class LedgerLink implements Ledger {
  private readonly master: RedisMaster;
  private readonly questions = new Map<string, Question>();
  private reach: Reach = 'open';
  private asked = 0;
  /** The number of lost connections. A call that was sent before a loss gets no answer. */
  private connections = 0;
  private readonly arrivals = { there: 0, back: 0 };
  private readonly part: TubeLedger;
  /** Called once, before the next commit is sent. */
  beforeCommit: (() => void) | undefined;

  constructor(
    private readonly ledger: SimulatedLedger,
    name: string,
    private readonly process: HostClock,
  ) {
    this.master = new RedisMaster({
      connection: this.connection(),
      probeKey: '',
      settings: ledger.settings,
      clock: process,
      start: () => this.start(),
      reconnect: () => undefined,
    });
    const { witness } = ledger;
    this.part = new LinkedTube(
      this.master,
      (verb, rule) => this.begin(verb, rule),
      (verb, request, answer) => witness.acted(name, verb, request, answer),
    );
  }

  now(): number {
    return this.master.time.now();
  }

  tube(): TubeLedger {
    return this.part;
  }

  private begin<T>(verb: Verb, rule: (tube: TubeLedger) => Promise<T>): Promise<T> {
    const { beforeCommit } = this;
    if (verb === 'commit' && beforeCommit) {
      this.beforeCommit = undefined;
      beforeCommit();
      if (this.process.dead) return new Promise<never>(() => undefined);
    }
    return this.ask(rule);
  }

  start(): void {
    this.master.start();
    this.process.soon(() => this.master.connected());
  }

  listen(listener: LedgerListener): () => void {
    return this.master.listen(listener);
  }

  close(): Promise<void> {
    this.master.close();
    this.ledger.forget(this);
    return Promise.resolve();
  }

  /** `cut`: the connection is lost, and there is no new one. `deaf`: calls are executed, but their answers do not arrive. */
  set(reach: Reach): void {
    this.reach = reach;
    if (reach !== 'deaf') this.reconnect();
  }

  reconnect(): void {
    this.connections++;
    this.process.enter(() => {
      this.master.lost(new Error('the connection was lost'));
      if (this.reach !== 'cut') this.master.connected();
    });
  }

  /** Its calls have the number of a request in place of the arguments of a script. */
  private connection(): LedgerConnection {
    const send = (_keys: number, _names: string[], args: readonly string[]) => this.send(args);
    return new Proxy({} as LedgerConnection, { get: () => send });
  }

  private send(args: readonly string[]): Promise<RawReply> {
    const { ledger, process } = this;
    const question = this.questions.get(args.at(-1) ?? '');
    const actUntil = Number(args[0]);
    const connection = this.connections;
    return new Promise((resolve, reject) => {
      const arrive = () => {
        if (this.reach === 'cut' || connection !== this.connections) return lost();
        const us = Math.floor(ledger.now() * 1_000);
        const late = ledger.now() > actUntil;
        const acted = late || !question ? Promise.resolve() : ledger.act(question.rule);
        void acted.then((answer) => {
          if (question) question.answer = answer;
          const back = () => {
            if (this.reach === 'deaf') return; // the caller has a timeout
            if (this.reach === 'cut' || connection !== this.connections) return lost();
            process.enter(() => resolve([late ? 0 : 1, us, ledger.runId]));
          };
          this.travel('back', back);
        });
      };
      const lost = () => process.enter(() => reject(new Error('the connection was lost')));
      this.travel('there', arrive);
    });
  }

  /** Messages on one connection arrive in their order. */
  private travel(way: 'there' | 'back', arrive: () => void): void {
    const { world, latency } = this.ledger;
    const at = (this.arrivals[way] = Math.max(this.arrivals[way], world.now() + latency()));
    if (at > world.now()) world.after(at - world.now(), arrive);
    else world.soon(arrive);
  }

  private async ask<T>(rule: (tube: TubeLedger) => Promise<T>): Promise<T> {
    const number = String(++this.asked);
    const question: Question = { rule };
    this.questions.set(number, question);
    try {
      await this.master.call('dq:probe', [], number);
      return question.answer as T;
    } finally {
      this.questions.delete(number);
    }
  }
}

/** The ledger of the tube as one process has it. */
class LinkedTube extends TubeLedger {
  readonly ahead = AHEAD_MS;
  readonly now = (): number => this.master.time.now();
  readonly nowAtLeast = (): number => this.master.time.nowAtLeast();
  readonly readTime = (): Promise<void> => this.master.readTime();
  readonly listen = (listener: LedgerListener): (() => void) => this.master.listen(listener);

  constructor(
    private readonly master: RedisMaster,
    private readonly reach: <T>(verb: Verb, rule: (tube: TubeLedger) => Promise<T>) => Promise<T>,
    private readonly acted: (verb: Verb, request: unknown, answer: unknown) => void,
  ) {
    super();
  }

  get away(): boolean {
    return this.master.away;
  }

  ask<V extends Verb>(
    verb: V,
    requests: readonly RequestOf<V>[],
    context?: ClaimContext,
  ): Promise<AnswerOf<V>[]> {
    return this.reach(verb, async (tube) => {
      const answers = await tube.ask(verb, requests, context);
      requests.forEach((request, i) => this.acted(verb, request, answers[i]));
      return answers;
    });
  }
}
