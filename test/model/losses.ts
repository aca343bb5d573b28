import type { Call, History } from './history.js';
import type { SimulatedLedger } from './simulated-ledger.js';
import { copiesIn, type Disk, type SimulatedNode } from './simulated-node.js';

/** Call it before the ledger loses something. Notes all jobs that the loss may concern. `remembered`: earlier disks of nodes. */
export function noteLedgerLoss(
  history: History,
  nodes: readonly SimulatedNode[],
  remembered: readonly Disk[],
): void {
  const disks = [...nodes.map((node) => node.read()), ...remembered];
  const copies = new Set(disks.flatMap((disk) => copiesIn(disk).map(({ header }) => header.id)));
  for (const { id, ended } of history.starts) if (!ended) copies.add(id);
  // A put may still be under way to a node that is frozen, or slow.
  const whileFrozen = nodes.some(({ clock }) => clock.frozen);
  const isUnderWay = (call: Call) => whileFrozen || (call.ended ?? Infinity) >= history.now - 2_000;
  for (const call of history.calls) if (call.id !== undefined && isUnderWay(call)) copies.add(call.id);
  history.losses.push({ at: history.now, copies, whileFrozen });
}

/** Notes each job that is robbed: no node has a copy of its committed generation, or of a later one. */
export function noteRobbedJobs(
  history: History,
  nodes: readonly SimulatedNode[],
  ledger: SimulatedLedger,
): void {
  const newest = new Map<string, number>();
  for (const node of nodes) {
    for (const { header } of node.copies()) {
      newest.set(header.id, Math.max(newest.get(header.id) ?? 0, header.generation));
    }
  }
  const at = history.now;
  for (const id of new Set(history.calls.map((call) => call.id))) {
    if (id === undefined) continue;
    const committed = Math.max(0, ledger.records.get(id)?.committed ?? 0);
    if ((newest.get(id) ?? -1) < committed) history.robberies.push({ id, at });
  }
}
