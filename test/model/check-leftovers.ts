import type { History } from './history.js';
import { SETTINGS, type Plan } from './plan.js';
import type { Simulation } from './simulation.js';

/** No server was away, not even because its answers took longer than their deadlines. */
function isCalm({ actions, latency }: Plan): boolean {
  return latency <= 10 && !actions.some((action) => 'fault' in action);
}

/** In the end the nodes have only copies of dead letters. */
export function copiesGone({ plan, nodes, ledger, history }: Simulation): string[] {
  const calm = isCalm(plan);
  const found: string[] = [];
  for (const node of nodes) {
    for (const { header, state } of node.copies()) {
      const letter = [...ledger.letters.values()].some(
        ({ id, born }) => id === header.id && born === header.born,
      );
      if (state === 'buried' && (letter || (!calm && isLetterGone(history, header.id)))) continue;
      const copy = `${history.name(header.id)} ${history.generation(header.generation)} copy ${header.index}`;
      found.push(`left: ${copy} is ${state} on ${node.endpoint}`);
    }
  }
  return found;
}

/** In the end the ledger has only dead letters. */
export function recordsGone({ plan, restAt, ledger, history }: Simulation): string[] {
  const found: string[] = [];
  // With faults, a record may be needed until the copy that is due last is stale. Without any fault, no copy is owed.
  const latestDue = Math.max(
    restAt,
    ...history.starts.map(({ headerDue }) => headerDue),
    ...history.calls.map(({ due, began, ended = began }) => (due ? due.from - began + ended : 0)),
  );
  const longest = isCalm(plan)
    ? restAt + SETTINGS.doneTtl
    : latestDue + 2 * SETTINGS.staleAfter + 60_000 + 10_000;
  for (const [id, { expiresAt, state }] of ledger.records) {
    if (expiresAt <= longest) continue;
    // The copies of a dead letter stay, and so they stay owed, also if a newer job has the same key.
    if (state !== 'dead' && !history.died.has(id))
      found.push(`record: of ${history.name(id)}, ${state}, until ${history.when(expiresAt)}`);
  }
  return found;
}

/** In the end nothing is listed as waiting, unless the ledger forgot what happened, or a job has lost all of its copies. */
export function nothingListed({ ledger, history }: Simulation): string[] {
  if (history.losses.length > 0) return [];
  const robbed = new Set(history.robberies.map(({ id }) => id));
  const listed = [...ledger.index.keys()].filter((id) => !robbed.has(id));
  return listed.map(
    (id) => `listed: ${history.name(id)}, ${ledger.records.get(id)?.state ?? 'without a record'}`,
  );
}

/** Whether a buried copy may stay: its node was away when the dead letter was removed, or the ledger lost the dead letter. */
function isLetterGone(history: History, id: string): boolean {
  const taken = history.calls.some(
    ({ operation, id: of }) => of === id && (operation.kind === 'revive' || operation.kind === 'discard'),
  );
  return taken || history.died.has(id);
}
