import { isTubeName } from '../beanstalk/codec/commands.js';
import { type Alarms, dueBefore, type Job, type Reserver, type Sleeper, type Tube } from './tubes.js';
import type { Command } from './command-parser.js';
import type { NodeLimits } from './capacity.js';
import { Heap } from 'nest-handlers/time';
import { jobStats, nodeStats, tubeList, tubeStats, type NodeFacts } from './stats.js';

/** How long before a held job's time to run ends a reserve is answered DEADLINE_SOON. */
const SAFETY_MARGIN_MS = 1000;

/** The node as its clients see it. */
export interface ClientNode extends NodeFacts {
  readonly alarms: Alarms<Client>;
  readonly limits: NodeLimits;
  /** A command was answered OUT_OF_MEMORY; `what` names the cause and its limit, for people. */
  refused(kind: keyof NodeLimits, what: string): void;
}

/** Receives the replies in order: strings that end with CRLF. */
type Reply = (text: string) => void;

/** A command executed by a client; the others concern the connection. */
type ClientCommand = Exclude<Command, { verb: 'put' } | { verb: 'quit' }>;

/** One client as the node knows it: the tube it uses, those it watches, the jobs it holds, and whether it waits. */
export class Client implements Reserver, Sleeper {
  heapIndex = -1;
  wakeAt = Infinity;
  readonly held = new Heap<Job>(dueBefore);
  isProducer = false;
  isWorker = false;

  private used: Tube;
  /** In beanstalkd's listing order, like `Tubes.all`. */
  readonly watched: Tube[] = [];
  /** Time by Clock.now until which a reserve waits; undefined if none does. */
  private waitsUntil: number | undefined;

  constructor(
    private readonly node: ClientNode,
    private readonly reply: Reply,
    /** Called when a waiting reserve was answered. */
    private readonly onWaited: () => void,
  ) {
    this.used = node.store.tubes.default;
    this.used.using++;
    this.watch(this.used);
  }

  /** True while a reserve waits; no further command may be executed meanwhile. */
  get isWaiting(): boolean {
    return this.waitsUntil !== undefined;
  }

  /** Starts a put, which `store.put` or `store.discard` ends. */
  announce(pri: number, delay: number, ttr: number): Job {
    this.isProducer = true;
    return this.node.store.announce(this.used, pri, delay, ttr);
  }

  execute(command: ClientCommand): void {
    const { clock, store } = this.node;
    const { tubes } = store;
    switch (command.verb) {
      case 'reserve':
        return this.reserve(Infinity);
      case 'reserve-with-timeout':
        return this.reserve(command.seconds < 0 ? Infinity : command.seconds);
      case 'reserve-job':
        return this.reserveJob(store.find(command.id));
      case 'delete':
        return this.change(this.deletable(command.id), (job) => store.delete(job), 'DELETED\r\n');
      case 'release':
        return this.change(
          this.mine(command.id),
          (job) => store.release(job, command.pri, command.delay),
          'RELEASED\r\n',
        );
      case 'bury':
        return this.change(this.mine(command.id), (job) => store.bury(job, command.pri), 'BURIED\r\n');
      case 'touch':
        return this.change(this.mine(command.id), (job) => store.touch(job), 'TOUCHED\r\n');
      case 'kick-job':
        return this.change(this.kickable(command.id), (job) => store.kick(job), 'KICKED\r\n');
      case 'kick':
        return this.reply(`KICKED ${store.kickMany(this.used, command.count)}\r\n`);
      case 'peek':
        return this.replyFound(store.find(command.id));
      case 'peek-ready':
        return this.replyFound(this.used.ready.peek());
      case 'peek-delayed':
        return this.replyFound(this.used.delayed.peek());
      case 'peek-buried':
        return this.replyFound(this.used.buried.peek());
      case 'use':
        return this.use(command.tube);
      case 'watch':
        return this.watchAlso(command.tube);
      case 'ignore':
        return this.ignore(command.tube);
      case 'pause-tube':
        return this.pause(command.tube, command.delay);
      case 'stats':
        return this.replyText(nodeStats(this.node));
      case 'stats-job':
        return this.describe(store.find(command.id), (job) => jobStats(job, clock.now()));
      case 'stats-tube':
        return this.describe(tubes.find(command.tube), (tube) => tubeStats(tube, clock.now()));
      case 'list-tubes':
        return this.replyText(tubeList(tubes.all));
      case 'list-tubes-watched':
        return this.replyText(tubeList(this.watched));
      case 'list-tube-used':
        return this.reply(`USING ${this.used.name}\r\n`);
    }
  }

  give(job: Job): void {
    this.stopWaiting();
    this.replyReserved(job);
    this.onWaited();
  }

  /** Ends a wait that is over, and takes back jobs whose time to run is over. */
  wake(now: number): void {
    if (this.holdsExpiring(now)) this.endWait('DEADLINE_SOON\r\n');
    else if (this.waitsUntil !== undefined && this.waitsUntil <= now) this.endWait('TIMED_OUT\r\n');
    for (let job = this.held.peek(); job && job.deadline <= now; job = this.held.peek()) {
      this.node.store.expire(job);
    }
    this.setAlarm();
  }

  /** Call it after commands were executed or a job was given. */
  setAlarm(): void {
    const soonest = this.held.peek()?.deadline ?? Infinity;
    const wakeAt =
      this.waitsUntil === undefined ? soonest : Math.min(soonest - SAFETY_MARGIN_MS, this.waitsUntil);
    this.node.alarms.set(this, wakeAt);
  }

  /** Answers the waiting reserve, if there is one. */
  endWait(reply: 'TIMED_OUT\r\n' | 'DEADLINE_SOON\r\n'): void {
    if (!this.isWaiting) return;
    this.stopWaiting();
    this.reply(reply);
    this.onWaited();
  }

  /** Releases its jobs and leaves its tubes, in beanstalkd's order. */
  leave(): void {
    const { alarms, store } = this.node;
    this.stopWaiting();
    const jobs = this.held.takeAll().sort((a, b) => a.reservation - b.reservation);
    for (const job of jobs) store.giveBack(job);
    for (let tube = this.watched[0]; tube; tube = this.watched[0]) this.unwatch(tube);
    this.used.using--;
    store.dropTubeIfUnused(this.used);
    alarms.set(this, Infinity);
  }

  private reserve(seconds: number): void {
    const now = this.node.clock.now();
    this.isWorker = true;
    const isExpiring = this.holdsExpiring(now);
    // A ready job in a paused tube makes beanstalkd wait here, and answer DEADLINE_SOON in its next turn.
    if (isExpiring && !this.watched.some((tube) => tube.available())) return this.reply('DEADLINE_SOON\r\n');
    const job = this.node.store.reserveNext(this);
    if (job) return this.replyReserved(job);
    if (seconds === 0) return this.reply('TIMED_OUT\r\n');
    this.waitsUntil = now + seconds * 1000;
    for (const tube of this.watched) tube.waiting.add(this);
  }

  private reserveJob(job: Job | undefined): void {
    if (!job || job.state === 'reserved') return this.reply('NOT_FOUND\r\n');
    this.isWorker = true;
    this.node.store.reserve(job, this);
    this.replyReserved(job);
  }

  private stopWaiting(): void {
    if (!this.isWaiting) return;
    this.waitsUntil = undefined;
    for (const tube of this.watched) tube.waiting.delete(this);
  }

  private holdsExpiring(now: number): boolean {
    const soonest = this.held.peek();
    return soonest !== undefined && soonest.deadline - SAFETY_MARGIN_MS <= now;
  }

  private mine(id: number): Job | undefined {
    const job = this.node.store.find(id);
    return job?.reserver === this ? job : undefined;
  }

  /** A job of its own, or one that nobody holds. */
  private deletable(id: number): Job | undefined {
    const job = this.node.store.find(id);
    return job?.reserver === undefined || job.reserver === this ? job : undefined;
  }

  private kickable(id: number): Job | undefined {
    const job = this.node.store.find(id);
    return job?.state === 'buried' || job?.state === 'delayed' ? job : undefined;
  }

  private use(name: string): void {
    const tube = this.findOrMake(name);
    if (!tube) return this.reply('OUT_OF_MEMORY\r\n');
    const before = this.used;
    this.used = tube;
    tube.using++;
    before.using--;
    this.node.store.dropTubeIfUnused(before);
    this.reply(`USING ${tube.name}\r\n`);
  }

  private watchAlso(name: string): void {
    const known = this.node.store.tubes.find(name);
    if (!known || !this.watched.includes(known)) {
      const tube = this.mayWatchMore() ? this.findOrMake(name) : undefined;
      if (!tube) return this.reply('OUT_OF_MEMORY\r\n');
      this.watch(tube);
    }
    this.reply(`WATCHING ${this.watched.length}\r\n`);
  }

  private mayWatchMore(): boolean {
    const { maxWatched } = this.node.limits;
    if (this.watched.length < maxWatched) return true;
    this.node.refused('maxWatched', `a client is watching ${maxWatched} tubes`);
    return false;
  }

  /** Returns undefined if there is no room for another tube. */
  private findOrMake(name: string): Tube | undefined {
    const { limits, store } = this.node;
    const found = store.tubes.find(name);
    if (found || store.tubes.all.length < limits.maxTubes) return found ?? store.tubes.findOrMake(name);
    this.node.refused('maxTubes', `there are ${limits.maxTubes} tubes`);
    return undefined;
  }

  private ignore(name: string): void {
    const tube = this.node.store.tubes.find(name);
    if (tube && this.watched.includes(tube)) {
      if (this.watched.length === 1) return this.reply('NOT_IGNORED\r\n');
      this.unwatch(tube);
    }
    this.reply(`WATCHING ${this.watched.length}\r\n`);
  }

  private watch(tube: Tube): void {
    this.watched.push(tube);
    tube.watching++;
  }

  private unwatch(tube: Tube): void {
    const last = this.watched.pop()!;
    if (last !== tube) this.watched[this.watched.indexOf(tube)] = last;
    tube.watching--;
    this.node.store.dropTubeIfUnused(tube);
  }

  private pause(name: string, seconds: number): void {
    if (!isTubeName(name)) return this.reply('BAD_FORMAT\r\n');
    const { store } = this.node;
    this.change(store.tubes.find(name), (tube) => store.pause(tube, seconds), 'PAUSED\r\n');
  }

  private change<T>(target: T | undefined, change: (target: T) => void, reply: string): void {
    if (target === undefined) return this.reply('NOT_FOUND\r\n');
    change(target);
    this.reply(reply);
  }

  private describe<T>(target: T | undefined, description: (target: T) => string): void {
    if (target === undefined) return this.reply('NOT_FOUND\r\n');
    this.replyText(description(target));
  }

  private replyReserved(job: Job): void {
    this.reply(`RESERVED ${job.id} ${job.body.length}\r\n${job.body}\r\n`);
  }

  private replyFound(job: Job | undefined): void {
    this.reply(job ? `FOUND ${job.id} ${job.body.length}\r\n${job.body}\r\n` : 'NOT_FOUND\r\n');
  }

  private replyText(text: string): void {
    this.reply(`OK ${text.length}\r\n${text}\r\n`);
  }
}
