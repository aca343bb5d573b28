import type { Healing } from './healing.js';
import type { History } from './history.js';
import { noteLedgerLoss, noteRobbedJobs } from './losses.js';
import type { Action, Fault } from './plan.js';
import type { SimulatedLedger } from './simulated-ledger.js';
import { EMPTY_DISK, type Disk, type SimulatedNode } from './simulated-node.js';
import type { SimulatedProcesses } from './simulated-processes.js';
import type { WorldClock } from './world-clock.js';

export interface FaultsParts {
  readonly world: WorldClock;
  readonly history: History;
  readonly healing: Healing;
  readonly nodes: readonly SimulatedNode[];
  readonly ledger: SimulatedLedger;
  readonly processes: SimulatedProcesses;
}

/** Makes the faults of processes, nodes and ledger that the plan has. */
export class PlannedFaults {
  /** For each fault in which a node loses data: the earlier state of its disk. */
  private readonly disks = new Map<Action, { readonly at: number; readonly disk: Disk }>();

  constructor(private readonly parts: FaultsParts) {}

  /** When to read a disk, for a fault that needs its state of an earlier time. */
  rememberings(action: Action): { at: number; act: () => Promise<void> }[] {
    if (!('fault' in action) || action.fault.kind !== 'stop node' || action.fault.forget === 0) return [];
    const { node, forget } = action.fault;
    const { world, nodes } = this.parts;
    const act = async () => void this.disks.set(action, { at: world.now(), disk: nodes[node]!.read() });
    return [{ at: Math.max(0, action.at - forget), act }];
  }

  /** Resolves at once; for the fault `jump`, when it is over. */
  async strike(action: Action, fault: Fault): Promise<void> {
    const { history, healing, nodes, ledger, processes } = this.parts;
    history.log(`FAULT ${describe(fault)}`);
    switch (fault.kind) {
      case 'crash':
        return processes.crash(fault.process, fault.ms);
      case 'restart':
        return processes.restart(fault.process, fault.ms);
      case 'crash midway':
      case 'cut midway':
        return processes.failMidway(fault);
      case 'freeze':
        return processes.freeze([fault.process], fault.ms);
      case 'jump':
        return processes.sleep(fault.ms);
      case 'stop node':
        return this.stopNode(fault.node, fault.ms, this.forgotten(action));
      case 'wipe node':
        return this.stopNode(fault.node, fault.ms, EMPTY_DISK);
      case 'freeze node':
        return healing.after(fault.ms, nodes[fault.node]!.clock.freeze());
      case 'freeze nodes':
        for (const { clock } of nodes) healing.after(fault.ms, clock.freeze());
        return;
      case 'cut node':
        return nodes[fault.node]!.cut(processes.at(fault.process)?.clock);
      case 'lose node replies':
        return nodes[fault.node]!.loseReplies(processes.at(fault.process)?.clock);
      case 'shift node clock':
        return nodes[fault.node]!.clock.shift(fault.by);
      case 'cut ledger':
        return processes.loseLedger('cut', fault);
      case 'lose ledger replies':
        return processes.loseLedger('deaf', fault);
      case 'pause':
        healing.after(fault.ms, () => history.log('the pause may be over'));
        history.pausedUntil = await ledger.pause(fault.ms);
        return;
      case 'flush ledger':
        this.noteLedgerLoss();
        return ledger.flush();
      case 'roll ledger back':
        this.noteLedgerLoss();
        return ledger.rollBack(fault.by);
    }
  }

  /** Stops a node for `ms`. It comes back with this disk, or with its own if that is undefined. */
  private stopNode(index: number, ms: number, disk: Disk | undefined): void {
    const { history, healing, nodes, ledger } = this.parts;
    const node = nodes[index]!;
    node.stop();
    healing.after(ms, () => {
      history.log(`${node.endpoint} starts${disk ? `, with ${disk.jobs.length} jobs of earlier` : ''}`);
      node.start(disk);
      noteRobbedJobs(history, nodes, ledger);
    });
  }

  /** The earlier disk with which the node comes back. */
  private forgotten(action: Action): Disk | undefined {
    const forgotten = this.disks.get(action);
    // After a jump the saved disk may be too old: a node loses no more than its last minute.
    return forgotten && this.parts.world.now() - forgotten.at < 60_000 ? forgotten.disk : undefined;
  }

  private noteLedgerLoss(): void {
    const remembered = Array.from(this.disks.values(), ({ disk }) => disk);
    noteLedgerLoss(this.parts.history, this.parts.nodes, remembered);
    this.parts.history.pausedUntil = 0; // the ledger forgets its pause, too
  }
}

function describe(fault: Fault): string {
  return Object.entries(fault)
    .map(([name, value]) => (name === 'kind' ? value : `${name} ${value}`))
    .join(' ');
}
