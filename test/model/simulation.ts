import type { CopyHeader } from 'nest-dq/src/envelope.js';
import type { DelayedJob, JobRef } from 'nest-dq/src/job.js';
import { Again, Discard, Retry } from 'nest-dq/src/job.js';
import { parseRef } from 'nest-dq/src/job-ids.js';
import type { ClaimAnswer, ClaimRequest, FinishAnswer, FinishRequest } from 'nest-dq/src/ledger/ledger.js';
import { History, type Call, type Disturbance, type Start } from './history.js';
import {
  NODES,
  TUBE,
  type Action,
  type Fault,
  type Operation,
  type Plan,
  type PlannedDue,
  type Script,
  type Step,
} from './plan.js';
import { Random } from './random.js';
import { SimulatedLedger } from './simulated-ledger.js';
import { copiesIn, EMPTY_DISK, SimulatedNode, type Disk } from './simulated-node.js';
import { SimulatedProcess, type Surroundings } from './simulated-process.js';
import { WorldClock } from './world-clock.js';

/** Milliseconds. */
export const SETTINGS = {
  lease: 6_000,
  backupDelay: 1_000,
  doneTtl: 60_000,
  staleAfter: 3_600_000,
} as const;
/** Milliseconds. When all is healed, the rest must be over within this time of bustle. */
const PATIENCE = 400_000;

/** Runs a plan in a world of its own, and gives what happened and what is left. */
export async function simulate(plan: Plan): Promise<Simulation> {
  const chance = Math.random;
  const random = new Random(plan.seed ^ 0x5eed);
  Math.random = () => random.next();
  try {
    const simulation = new Simulation(plan);
    await simulation.run().catch((error: Error) => simulation.history.faults.push(error.message));
    return simulation;
  } finally {
    Math.random = chance;
  }
}

export class Simulation implements Surroundings {
  readonly world = new WorldClock();
  readonly history = new History(this.world);
  readonly nodes: readonly SimulatedNode[];
  readonly ledger: SimulatedLedger;
  readonly settings;
  /** Ledger time at which all was over. */
  restAt = 0;
  private readonly random: Random;
  private readonly processes: (SimulatedProcess | undefined)[] = [];
  private readonly scripts = new Map<number, Script>();
  private readonly runsOf = new Map<number, number>();
  private readonly calls = new Map<number, Call>();
  private readonly disks = new Map<Action, { readonly at: number; readonly disk: Disk }>();
  private latencyNow: number;
  private restarts = 0;
  private nightEnds = 0;
  private healedAt = 0;

  constructor(readonly plan: Plan) {
    this.settings = { ...SETTINGS, concurrency: plan.concurrency };
    this.random = new Random(plan.seed ^ 0xd1ce);
    this.latencyNow = plan.latency;
    const latency = () => this.drawLatency();
    this.nodes = Array.from(
      { length: NODES },
      (_, i) => new SimulatedNode(`node${i}`, this.world, latency, (copy) => this.deleted(copy)),
    );
    this.ledger = new SimulatedLedger(this.world, SETTINGS, TUBE, latency, {
      claimed: (process, request, answer) => this.claimed(process, request, answer),
      finished: (process, request, answer) => this.finished(process, request, answer),
    });
    for (const action of plan.actions) {
      if ('operation' in action) this.learnScript(action.operation);
    }
  }

  async run(): Promise<void> {
    for (let i = 0; i < this.plan.processes; i++) this.startProcess(i);
    const steps = [
      ...this.plan.actions.map((action) => ({ at: action.at, act: () => this.act(action) })),
      ...this.plan.actions.flatMap((action) => this.rememberings(action)),
    ].sort((a, b) => a.at - b.at);
    let at = 0;
    for (const step of steps) {
      await this.world.advance(step.at - at);
      at = step.at;
      await step.act();
    }
    await this.world.advance(Math.max(5_000, this.healedAt + 1 - this.world.now()));
    await this.end();
  }

  // ── what the processes ask of their surroundings ──

  handle(process: SimulatedProcess, payload: number, job: DelayedJob): Promise<unknown> {
    const script = this.scripts.get(payload)!;
    const run = this.runsOf.get(payload) ?? 0;
    this.runsOf.set(payload, run + 1);
    const step = script[Math.min(run, script.length - 1)]!;
    const { born, due } = parseRef(job.ids, '');
    const { id, fence, attempt } = job;
    const start: Start = {
      at: this.history.now,
      process: process.name,
      payload,
      step,
      id,
      born: born!,
      fence,
      attempt,
      headerDue: due,
      due: job.dueAt.getTime(),
    };
    this.history.starts.push(start);
    this.log(
      `${process.name} starts ${this.name(id)} payload ${payload} attempt ${attempt}: ${step.ms} ms, ${step.end}`,
    );
    return new Promise((resolve, reject) => {
      const end = (how: Step['end'] | 'aborted') => {
        if (start.ended || process.clock.dead) return;
        start.ended = { at: this.history.now, how };
        this.log(`${process.name} ends ${this.name(id)}: ${how}`);
        if (how === 'done') resolve(undefined);
        else if (how === 'retry') resolve(Retry.after(step.delay));
        else if (how === 'again') resolve(Again.after(step.delay));
        else if (how === 'discard') resolve(Discard.because('the plan says so'));
        else reject(new Error(how));
      };
      if (step.ms === 0) return end(step.end);
      const timer = process.clock.after(step.ms, () => end(step.end));
      if (!step.heeds) return;
      job.signal.addEventListener('abort', () => {
        timer.cancel();
        end('aborted');
      });
    });
  }

  report(process: SimulatedProcess, text: string): void {
    this.log(`${process.name} ${text.replace(/\S{24,26}/, (id) => this.name(id))}`);
  }

  // ── what the ledger sees ──

  private claimed(process: string, request: ClaimRequest, answer: ClaimAnswer): void {
    const { id, generation } = request;
    const at = this.history.now;
    const { grants } = this.history;
    if (
      answer.kind === 'run' &&
      !grants.some((grant) => grant.request.id === id && grant.fence === answer.fence)
    ) {
      const { fence, attempt, due } = answer;
      grants.push({ at, process, request, fence, attempt, due });
    }
    if (answer.kind === 'dead' || answer.kind === 'stale') this.history.died.set(id, at);
    const told =
      answer.kind === 'wait' || answer.kind === 'busy' ? `${answer.kind} ${answer.ms}` : answer.kind;
    this.log(`${process} claims ${this.name(id)} ${this.history.generation(generation)}: ${told}`);
  }

  private finished(process: string, request: FinishRequest, answer: FinishAnswer): void {
    const { id, generation, outcome } = request;
    this.history.finishes.push({ at: this.history.now, process, request, answer });
    if (outcome.kind === 'dead' && answer === 'ok') this.history.died.set(id, this.history.now);
    this.log(
      `${process} finishes ${this.name(id)} ${this.history.generation(generation)} ${outcome.kind}: ${answer}`,
    );
  }

  /** No copy is deleted before its job is over by the ledger, but for what an add takes back. */
  private deleted({ id, generation, index }: CopyHeader): void {
    const { calls, finishes, losses, faults, now } = this.history;
    const record = this.ledger.records.get(id);
    const isVoid =
      record &&
      (record.state === 'done' ||
        record.state === 'revoked' ||
        generation < record.committed ||
        generation <= record.floor ||
        record.aborted.includes(generation));
    const isForgotten = record === undefined || record.expiresAt <= now;
    const wasOver = finishes.some(({ request, answer }) => request.id === id && answer !== 'refused');
    const isCalledFor = calls.some(
      ({ operation, id: of, receipt }) =>
        (of === id && operation.kind !== 'add' && operation.kind !== 'find') ||
        (operation.kind === 'add' && of === undefined && !receipt),
    );
    if (isVoid || losses.length > 0 || (isForgotten && (wasOver || isCalledFor))) return;
    const copy = `copy ${index} of ${this.name(id)} ${this.history.generation(generation)}`;
    faults.push(`deleted: ${copy} at ${(this.world.now() / 1_000).toFixed(3)}, although its job is not over`);
  }

  // ── the plan ──

  private async act(action: Action): Promise<void> {
    if ('fault' in action) return this.strike(action, action.fault);
    const process = this.processes[action.process];
    if (!process || process.clock.frozen) return; // nobody is there to call
    void this.call(process, action.operation);
  }

  private async call(process: SimulatedProcess, operation: Operation): Promise<void> {
    const started = await this.begin(process, operation);
    if (!started) return;
    const { call, answer } = started;
    this.history.calls.push(call);
    this.log(`${process.name} calls #${call.number} ${describe(operation)}`);
    try {
      const result = await answer;
      if (process.clock.dead) return;
      call.answer = result;
    } catch (error) {
      if (process.clock.dead) return;
      call.error = error as Error;
    }
    call.ended = this.history.now;
    if (operation.kind === 'add' && call.answer) {
      call.receipt = call.answer as Call['receipt'];
      const { id, born } = parseRef(call.receipt!.ids, '');
      call.id = id;
      call.born = born!;
    }
    const error = call.error as (Error & { code?: string; indeterminate?: boolean }) | undefined;
    const said = error
      ? `${error.code ?? error.name} ${error.indeterminate ?? ''} ${error.message.slice(0, 90).replace(/\S{24,26}/, (id) => this.name(id))}`
      : operation.kind === 'add'
        ? `${call.receipt!.status} ${this.name(call.id!)} ${this.history.generation(call.born!)} on ${call.receipt!.copies}`
        : operation.kind === 'find'
          ? ((call.answer as { state: string } | undefined)?.state ?? 'nothing')
          : String(call.answer);
    this.log(`${process.name} #${call.number} ${operation.kind}: ${said}`);
  }

  private async begin(
    process: SimulatedProcess,
    operation: Operation,
  ): Promise<{ readonly call: Call; readonly answer: Promise<unknown> } | undefined> {
    const { producer, deadLetters } = process;
    const number = this.history.calls.length;
    const began = this.history.now;
    const of = (more: Partial<Call> = {}): Call => ({
      number,
      operation,
      process: process.name,
      began,
      ...more,
    });
    switch (operation.kind) {
      case 'add': {
        const { due, attempts, key, onDuplicate } = operation;
        const payload = { number: operation.number };
        const options = { attempts, ...(key === undefined ? {} : { key, onDuplicate }) };
        const call = of({ due: this.dueOf(due) });
        this.calls.set(operation.number, call);
        if (key !== undefined) call.id = parseRef({ tube: TUBE, key }, '').id;
        const answer =
          due.kind === 'now'
            ? producer.now(TUBE, payload, options)
            : due.kind === 'delay'
              ? producer.delay(TUBE, payload, due.ms, options)
              : producer.at(TUBE, payload, began + due.ms, options);
        return { call, answer };
      }
      case 'revoke':
      case 'reschedule':
      case 'find': {
        const ref = this.reference(operation.target.add, operation.target.by);
        if (!ref) return undefined;
        const { id, born } = parseRef(ref, '');
        if (operation.kind === 'find') return { call: of({ id, born }), answer: producer.find(ref) };
        if (operation.kind === 'revoke') {
          return { call: of({ id, born }), answer: producer.revoke(ref, { abort: operation.abort }) };
        }
        const { due, payload } = operation;
        const ms = due.kind === 'now' ? 0 : due.ms;
        const when = due.kind === 'at' ? began + ms : { delay: ms };
        const options = payload ? { payload: { number: payload.number } } : {};
        const call = of({ id, born, due: this.dueOf(due) });
        return { call, answer: producer.reschedule(ref, when, options) };
      }
      case 'revive':
      case 'discard': {
        const letters = [...this.ledger.letters.values()];
        const letter = letters[operation.letter % Math.max(1, letters.length)];
        if (!letter) return undefined;
        const { letters: listed } = await deadLetters.list(TUBE).catch(() => ({ letters: [] }));
        const found = listed.find(({ id }) => id === letter.id);
        if (!found) return undefined;
        const { id, born } = parseRef(found.ids, '');
        const call = {
          ...of({ id, born, due: this.dueOf({ kind: 'delay', ms: operation.delay }) }),
          began: this.history.now,
        };
        const answer =
          operation.kind === 'revive'
            ? deadLetters.revive(found.ids, { delay: operation.delay })
            : deadLetters.discard(found.ids);
        return { call, answer };
      }
    }
  }

  private reference(add: number, by: 'receipt' | 'key'): JobRef | undefined {
    const call = this.calls.get(add);
    if (!call || call.operation.kind !== 'add') return undefined;
    const { key } = call.operation;
    if (by === 'key' && key !== undefined) return { tube: TUBE, key };
    return call.receipt?.ids;
  }

  private dueOf(due: PlannedDue): { from: number; exact: boolean } {
    return { from: this.history.now + (due.kind === 'now' ? 0 : due.ms), exact: due.kind === 'at' };
  }

  private learnScript(operation: Operation): void {
    if (operation.kind === 'add') this.scripts.set(operation.number, operation.script);
    if (operation.kind === 'reschedule' && operation.payload) {
      this.scripts.set(operation.payload.number, operation.payload.script);
    }
  }

  // ── faults ──

  private async strike(action: Action, fault: Fault): Promise<void> {
    this.log(
      `FAULT ${Object.entries(fault)
        .map(([name, value]) => (name === 'kind' ? value : `${name} ${value}`))
        .join(' ')}`,
    );
    switch (fault.kind) {
      case 'crash':
        return this.crash(fault.process, fault.ms);
      case 'restart':
        return this.restart(fault.process, fault.ms);
      case 'freeze':
        return this.freeze([fault.process], fault.ms);
      case 'jump': {
        return this.sleep(fault.ms);
      }
      case 'stop node': {
        const node = this.nodes[fault.node]!;
        node.stop();
        const forgotten = this.disks.get(action);
        // A jump came in between: a node forgets no more than its last minute.
        const disk = forgotten && this.world.now() - forgotten.at < 60_000 ? forgotten.disk : undefined;
        return this.later(fault.ms, () => this.restartNode(node, disk));
      }
      case 'wipe node': {
        const node = this.nodes[fault.node]!;
        node.stop();
        return this.later(fault.ms, () => this.restartNode(node, EMPTY_DISK));
      }
      case 'freeze node': {
        return this.later(fault.ms, this.nodes[fault.node]!.clock.freeze());
      }
      case 'cut node':
        return this.nodes[fault.node]!.cut(this.processes[fault.process]?.clock);
      case 'lose node replies':
        return this.nodes[fault.node]!.loseReplies(this.processes[fault.process]?.clock);
      case 'shift node clock':
        return this.nodes[fault.node]!.clock.shift(fault.by);
      case 'cut ledger':
        return this.reach('cut', fault);
      case 'lose ledger replies':
        return this.reach('deaf', fault);
      case 'flush ledger':
        this.noteLoss();
        return this.ledger.flush();
      case 'roll ledger back':
        this.noteLoss();
        return this.ledger.rollBack(fault.by);
    }
  }

  private crash(index: number, ms: number): void {
    const process = this.processes[index];
    if (!process) return;
    const now = this.history.now;
    this.history.disturbances.push({ process: process.name, kind: 'crash', from: now, to: now });
    process.kill();
    this.processes[index] = undefined;
    this.later(ms, () => this.startProcess(index));
  }

  private restart(index: number, ms: number): void {
    const process = this.processes[index];
    void process?.stop().then(() => {
      if (this.processes[index] !== process || process.clock.dead) return;
      this.log(`${process.name} has drained`);
      this.crash(index, ms);
    });
  }

  private freeze(indices: readonly number[], ms: number): void {
    for (const index of indices) {
      const process = this.processes[index];
      if (!process) continue;
      const end = process.clock.freeze();
      this.disturb(process, 'freeze', ms);
      this.later(ms, () => {
        end();
        if (!process.clock.frozen) this.log(`${process.name} goes on`);
      });
    }
  }

  /** All processes are frozen, those that start meanwhile too. */
  private async sleep(ms: number): Promise<void> {
    this.nightEnds = this.world.now() + ms;
    this.freeze(
      this.processes.map((_, i) => i),
      ms,
    );
    await this.world.advance(ms + 1);
  }

  private reach(
    reach: 'cut' | 'deaf',
    { process, ms }: { readonly process?: number; readonly ms: number },
  ): void {
    const affected = process === undefined ? this.processes : [this.processes[process]];
    for (const each of affected) {
      if (!each || each.clock.dead) continue;
      each.ledger.set(reach);
      // Answers are awaited for a second, and claims and extends begin anew after that.
      this.disturb(each, 'ledger', ms + 2_000);
      this.later(ms, () => {
        if (each.clock.dead) return;
        this.log(`${each.name} reaches the ledger`);
        each.ledger.set('open');
      });
    }
  }

  private disturb({ name }: SimulatedProcess, kind: Disturbance['kind'], ms: number): void {
    this.history.disturbances.push({
      process: name,
      kind,
      from: this.history.now,
      to: this.history.now + ms,
    });
  }

  private restartNode(node: SimulatedNode, disk: Disk | undefined): void {
    this.log(`${node.endpoint} starts${disk ? `, with ${disk.jobs.length} jobs of earlier` : ''}`);
    node.start(disk);
    this.noteRobbed();
  }

  private startProcess(index: number): void {
    if (this.processes[index]) return;
    const name = `p${index}${'abcdefghijklmnopqrstuvwxyz'[this.restarts++ % 26]}`;
    const offset = this.random.between(0, 1_000_000) / 7;
    this.log(`${name} starts`);
    this.processes[index] = new SimulatedProcess(name, offset, this);
    const night = this.nightEnds - this.world.now();
    if (night > 0) this.freeze([index], night);
  }

  /** Where a fault needs the disk of an earlier time. */
  private rememberings(action: Action): { at: number; act: () => Promise<void> }[] {
    if (!('fault' in action) || action.fault.kind !== 'stop node' || action.fault.forget === 0) return [];
    const { node, forget } = action.fault;
    const act = async () =>
      void this.disks.set(action, { at: this.world.now(), disk: this.nodes[node]!.read() });
    return [{ at: Math.max(0, action.at - forget), act }];
  }

  /** Heals later, whatever the plan does meanwhile. */
  private later(ms: number, heal: () => void): void {
    this.healedAt = Math.max(this.healedAt, this.world.now() + ms);
    this.world.after(ms, heal);
  }

  private noteLoss(): void {
    const disks = [
      ...this.nodes.map((node) => node.read()),
      ...Array.from(this.disks.values(), ({ disk }) => disk),
    ];
    const copies = new Set(disks.flatMap((disk) => copiesIn(disk).map(({ header }) => header.id)));
    for (const { id, ended } of this.history.starts) if (!ended) copies.add(id);
    // A put may still be under way to a node that is frozen, or slow.
    const isUnderWay = (call: Call) =>
      this.nodes.some(({ clock }) => clock.frozen) || (call.ended ?? Infinity) >= this.history.now - 2_000;
    for (const call of this.history.calls) if (call.id !== undefined && isUnderWay(call)) copies.add(call.id);
    this.history.losses.push({ at: this.history.now, copies });
  }

  /** A job is robbed when no node has a copy of the generation that counts, or of a later one. */
  private noteRobbed(): void {
    const newest = new Map<string, number>();
    for (const node of this.nodes) {
      for (const { header } of node.copies()) {
        newest.set(header.id, Math.max(newest.get(header.id) ?? 0, header.generation));
      }
    }
    const at = this.history.now;
    for (const id of new Set(this.history.calls.map((call) => call.id))) {
      if (id === undefined) continue;
      const committed = this.ledger.records.get(id)?.committed ?? 0;
      if ((newest.get(id) ?? -1) < committed) this.history.robberies.push({ id, at });
    }
  }

  // ── the end ──

  private async end(): Promise<void> {
    this.log('── all is healed ──');
    this.latencyNow = 0;
    for (let passed = 0; passed < PATIENCE && !this.quiet; passed += 5_000) {
      await this.world.advance(5_000);
      await this.skip();
    }
    if (!this.quiet) this.history.faults.push('it does not come to rest');
    await this.world.advance(1_000);
    // In a fault-free world all deletions are settled within little more than a minute.
    await this.world.advance(this.plan.actions.some((action) => 'fault' in action) ? 1_000 : 70_000);
    this.restAt = this.history.now;
  }

  /** Nothing lies on the nodes but what is dead, and nothing runs. */
  get quiet(): boolean {
    return (
      this.nodes.every((node) => node.copies().every(({ state }) => state === 'buried')) &&
      this.history.starts.every((start) => start.ended || this.isGone(start.process))
    );
  }

  private isGone(name: string): boolean {
    return !this.processes.some((process) => process?.name === name);
  }

  /** Over the time in which nothing is due. */
  private async skip(): Promise<void> {
    if (this.history.starts.some((start) => !start.ended && !this.isGone(start.process))) return;
    let next = Infinity;
    for (const node of this.nodes) {
      for (const { state, deadline } of node.copies()) {
        if (state === 'buried') continue;
        if (state !== 'delayed') return;
        next = Math.min(next, deadline - node.clock.now());
      }
    }
    if (next === Infinity || next < 30_000) return;
    this.log(`── nothing is due for ${Math.round(next / 1_000)} s ──`);
    await this.sleep(next - 10_000);
  }

  private drawLatency(): number {
    const most = this.latencyNow;
    if (most === 0 || this.random.chance(0.5)) return 0;
    return this.random.chance(0.05) ? this.random.between(1, 10 * most) : this.random.between(1, most);
  }

  private log(text: string): void {
    this.history.log(text);
  }

  private name(id: string): string {
    return this.history.name(id);
  }
}

function describe(operation: Operation): string {
  const { kind, ...rest } = operation;
  return `${kind} ${JSON.stringify(rest)}`;
}
