import { Healing } from './healing.js';
import { History } from './history.js';
import { PlannedCalls } from './planned-calls.js';
import { PlannedFaults } from './planned-faults.js';
import { PlannedHandlers } from './planned-handlers.js';
import { NODES, SETTINGS, TUBE, type Action, type Plan } from './plan.js';
import { Random } from './random.js';
import { SimulatedLedger } from './simulated-ledger.js';
import { SimulatedNode } from './simulated-node.js';
import { SimulatedProcesses } from './simulated-processes.js';
import { Witness } from './witness.js';
import { WorldClock } from './world-clock.js';

/** Milliseconds. After all faults are over, all jobs must be over within this time. Times that `skip` skips do not count. */
const PATIENCE = 400_000;

/** Runs a plan in a world of its own. Resolves with what happened and what is left. */
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

/** The world of a plan: its parts, and its time from the first action until everything is over. */
export class Simulation {
  readonly history: History;
  readonly nodes: readonly SimulatedNode[];
  readonly ledger: SimulatedLedger;
  /** The ledger time at which everything was over. */
  restAt = 0;
  private readonly world = new WorldClock();
  private readonly healing = new Healing(this.world);
  private readonly processes: SimulatedProcesses;
  private readonly calls: PlannedCalls;
  private readonly faults: PlannedFaults;
  private readonly random: Random;
  private latencyNow: number;

  constructor(readonly plan: Plan) {
    const { world, healing } = this;
    const history = (this.history = new History(world));
    this.random = new Random(plan.seed ^ 0xd1ce);
    this.latencyNow = plan.latency;
    const latency = () => this.drawLatency();
    const witness = new Witness(history, (id) => this.ledger.records.get(id));
    const nodes = (this.nodes = Array.from(
      { length: NODES },
      (_, i) => new SimulatedNode(`node${i}`, world, latency, (copy) => witness.deleted(copy)),
    ));
    const ledger = (this.ledger = new SimulatedLedger(world, SETTINGS, TUBE, latency, witness));
    const handlers = new PlannedHandlers(plan, history);
    const surroundings = {
      world,
      nodes,
      ledger,
      settings: { ...SETTINGS, concurrency: plan.concurrency, limit: plan.limit, onExpired: plan.onExpired },
      handle: handlers.handle.bind(handlers),
      report: (process: { name: string }, text: string) =>
        history.log(`${process.name} ${history.named(text)}`),
    };
    const processes = new SimulatedProcesses(surroundings, history, healing, this.random);
    this.processes = processes;
    this.calls = new PlannedCalls(history, ledger);
    this.faults = new PlannedFaults({ world, history, healing, nodes, ledger, processes });
  }

  async run(): Promise<void> {
    const { world, faults, plan } = this;
    for (let i = 0; i < plan.processes; i++) this.processes.start(i);
    const steps = [
      ...plan.actions.map((action) => ({ at: action.at, act: () => this.act(action) })),
      ...plan.actions.flatMap((action) => faults.rememberings(action)),
    ].sort((a, b) => a.at - b.at);
    let at = 0;
    for (const step of steps) {
      await world.advance(step.at - at);
      at = step.at;
      await step.act();
    }
    await world.advance(Math.max(5_000, this.healing.left + 1));
    await this.end();
  }

  private async act(action: Action): Promise<void> {
    if ('fault' in action) return this.faults.strike(action, action.fault);
    const process = this.processes.at(action.process);
    if (!process || process.clock.frozen) return; // it cannot call
    void this.calls.make(process, action.operation);
  }

  private async end(): Promise<void> {
    const { world, history } = this;
    history.log('── all is healed ──');
    this.latencyNow = 0;
    for (let passed = 0; passed < PATIENCE && !this.quiet; passed += 5_000) {
      await world.advance(5_000);
      await this.skip();
    }
    if (!this.quiet)
      history.faults.push('rest: some jobs still run, or some copies are left, long after the last fault');
    await world.advance(1_000);
    // Without faults, all deletions are settled in little more than a minute.
    await world.advance(this.plan.actions.some((action) => 'fault' in action) ? 1_000 : 70_000);
    this.restAt = history.now;
  }

  /** Whether the nodes have only buried copies, and nothing runs. */
  private get quiet(): boolean {
    return (
      this.nodes.every((node) => node.copies().every(({ state }) => state === 'buried')) && !this.isRunning()
    );
  }

  private isRunning(): boolean {
    return this.history.starts.some((start) => !start.ended && !this.processes.isGone(start.process));
  }

  /** Skips a time in which no copy is due. */
  private async skip(): Promise<void> {
    if (this.isRunning()) return;
    let next = Infinity;
    for (const node of this.nodes) {
      for (const { state, deadline } of node.copies()) {
        if (state === 'buried') continue;
        if (state !== 'delayed') return;
        next = Math.min(next, deadline - node.clock.now());
      }
    }
    if (next === Infinity || next < 30_000) return;
    this.history.log(`── nothing is due for ${Math.round(next / 1_000)} s ──`);
    await this.processes.sleep(next - 10_000);
  }

  private drawLatency(): number {
    const most = this.latencyNow;
    if (most === 0 || this.random.chance(0.5)) return 0;
    return this.random.chance(0.05) ? this.random.between(1, 10 * most) : this.random.between(1, most);
  }
}
