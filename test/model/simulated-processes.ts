import type { Healing } from './healing.js';
import type { Disturbance, History } from './history.js';
import type { Fault } from './plan.js';
import type { Random } from './random.js';
import { SimulatedProcess, type Surroundings } from './simulated-process.js';
import type { WorldClock } from './world-clock.js';

/** All processes of the simulated world, by their number in the plan, and the faults of processes. */
export class SimulatedProcesses {
  private readonly processes: (SimulatedProcess | undefined)[] = [];
  private starts = 0;
  private nightEnds = 0;

  constructor(
    private readonly surroundings: Surroundings & { readonly world: WorldClock },
    private readonly history: History,
    private readonly healing: Healing,
    private readonly random: Random,
  ) {}

  /** Undefined while the process is dead. */
  at(index: number): SimulatedProcess | undefined {
    return this.processes[index];
  }

  isGone(name: string): boolean {
    return !this.processes.some((process) => process?.name === name);
  }

  start(index: number): void {
    if (this.processes[index]) return;
    const name = `p${index}${'abcdefghijklmnopqrstuvwxyz'[this.starts++ % 26]}`;
    const offset = this.random.between(0, 1_000_000) / 7;
    this.history.log(`${name} starts`);
    this.processes[index] = new SimulatedProcess(name, offset, this.surroundings);
    const night = this.nightEnds - this.surroundings.world.now();
    if (night > 0) this.freeze([index], night);
  }

  /** Kills a process. A new one replaces it after `ms`. */
  crash(index: number, ms: number): void {
    const process = this.processes[index];
    if (!process) return;
    this.disturb(process, 'crash', 0);
    process.kill();
    this.processes[index] = undefined;
    this.healing.after(ms, () => this.start(index));
  }

  /** Drains a process before it is killed. A new one replaces it after `ms`. */
  restart(index: number, ms: number): void {
    const process = this.processes[index];
    void process?.stop().then(() => {
      if (this.processes[index] !== process || process.clock.dead) return;
      this.history.log(`${process.name} has drained`);
      this.crash(index, ms);
    });
  }

  /** Its next commit is never sent. After some seconds it is safe. */
  failMidway(fault: Extract<Fault, { kind: 'crash midway' | 'cut midway' }>): void {
    const { kind, process: index, ms } = fault;
    const process = this.processes[index];
    if (!process || process.clock.dead) return;
    process.ledger.beforeCommit = () => {
      this.history.log(`${process.name} ${kind}`);
      if (kind === 'crash midway') this.crash(index, ms);
      else this.loseLedger('cut', fault);
    };
    this.healing.after(5_000, () => (process.ledger.beforeCommit = undefined));
  }

  freeze(indices: readonly number[], ms: number): void {
    for (const index of indices) {
      const process = this.processes[index];
      if (!process) continue;
      const end = process.clock.freeze();
      this.disturb(process, 'freeze', ms);
      this.healing.after(ms, () => {
        end();
        if (!process.clock.frozen) this.history.log(`${process.name} thaws`);
      });
    }
  }

  /** Freezes all processes, also those that start meanwhile. */
  async sleep(ms: number): Promise<void> {
    const { world } = this.surroundings;
    this.nightEnds = world.now() + ms;
    this.freeze(
      this.processes.map((_, i) => i),
      ms,
    );
    await world.advance(ms + 1);
  }

  /** Without `process`, this affects all processes. */
  loseLedger(
    reach: 'cut' | 'deaf',
    { process, ms }: { readonly process?: number; readonly ms: number },
  ): void {
    const affected = process === undefined ? this.processes : [this.processes[process]];
    for (const each of affected) {
      if (!each || each.clock.dead) continue;
      each.ledger.set(reach);
      // Calls wait up to a second for an answer. After that, claims and extends begin again.
      this.disturb(each, 'ledger', ms + 2_000);
      this.healing.after(ms, () => {
        if (each.clock.dead) return;
        this.history.log(`${each.name} reaches the ledger`);
        each.ledger.set('open');
      });
    }
  }

  private disturb({ name }: SimulatedProcess, kind: Disturbance['kind'], ms: number): void {
    const { now } = this.history;
    this.history.disturbances.push({ process: name, kind, from: now, to: now + ms });
  }
}
