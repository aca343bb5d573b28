// The last known facts about the cluster: they stay until newer ones replace them. The server keeps them for whoever opens a page
// in an outage, and the page for as long as it is open, whichever process it hears from.
import type { LiveWire, NodesWire, TubeWire } from './wire.js';

type Tubes = NonNullable<LiveWire['tubes']>;

/** A live state in which the last known values stand in for what couldn't be read. */
export type Known = LiveWire & Required<Pick<LiveWire, 'asOf'>>;

/** Adds a new state to what is known. */
export function keepKnown(last: Known | undefined, next: LiveWire): Known {
  const { asOf: given = {} } = next;
  if (!last) return { ...next, asOf: given };
  const { now, asOf } = last;
  const tubes = tubesOf(last, next);
  const nodes = nodesOf(last, next);
  const lacksProcesses = next.processes === null && last.processes !== null;
  const isDown = next.ledger?.up !== true && last.ledger !== null;
  const agesOf = (names: readonly string[], before: Readonly<Record<string, string>> | undefined) =>
    Object.fromEntries(names.map((name) => [name, before?.[name] ?? now]));
  const ages = {
    tubes: { ...agesOf(tubes.old, asOf.tubes), ...given.tubes },
    facts: given.facts ?? (tubes.lackFacts ? (asOf.facts ?? now) : undefined),
    nodes: { ...agesOf(nodes.old, asOf.nodes), ...given.nodes },
    ledger: given.ledger ?? (isDown ? (asOf.ledger ?? now) : undefined),
    processes: given.processes ?? (lacksProcesses ? (asOf.processes ?? now) : undefined),
  };
  return {
    ...next,
    tubes: tubes.list,
    nodes: nodes.list,
    ledger: next.ledger ? withServers(next.ledger, last.ledger) : last.ledger,
    processes: next.processes ?? last.processes,
    health: next.health ?? last.health,
    acts: next.acts ?? last.acts,
    asOf: Object.fromEntries(
      Object.entries(ages).filter(([, age]) => age !== undefined && Object.keys(age).length > 0),
    ),
  };
}

function tubesOf(
  { tubes: last }: Known,
  { tubes: next }: LiveWire,
): { readonly list: Tubes | null; readonly old: readonly string[]; readonly lackFacts: boolean } {
  if (!next || !last)
    return {
      list: next ?? last,
      old: next ? [] : (last?.tubes ?? []).map(({ tube }) => tube),
      lackFacts: false,
    };
  const old: string[] = [];
  const byName = new Map(last.tubes.map((tube) => [tube.tube, tube]));
  let lackFacts = false;
  const tubes = next.tubes.map((tube) => {
    const before = byName.get(tube.tube);
    byName.delete(tube.tube);
    if (!before) return tube;
    if (tube.waiting === undefined && before.waiting !== undefined) old.push(tube.tube);
    const counted = tube.waiting === undefined ? withCounts(tube, before) : tube;
    if (tube.dead !== undefined || before.dead === undefined) return counted;
    lackFacts = true;
    return withFacts(counted, before);
  });
  // Only nodes that are away may have the others.
  const missing = next.away.length > 0 ? [...byName.values()] : [];
  const list = [...tubes, ...missing].toSorted((a, b) => (a.tube < b.tube ? -1 : 1));
  return { list: { ...next, tubes: list }, old: [...old, ...missing.map(({ tube }) => tube)], lackFacts };
}

/** The nodes count these, and they alone. What is due the ledger may know as well. */
function withCounts(tube: TubeWire, { waiting, due, running, watching, copies }: TubeWire): TubeWire {
  const counts = { waiting, due, running, watching, copies };
  const known = Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== undefined));
  return { ...known, ...tube };
}

/**
 * The ledger knows these, and it alone. Nodes also count due copies of jobs that are over, so what is due is what was, and what has
 * left the waiting jobs since.
 */
function withFacts(tube: TubeWire, before: TubeWire): TubeWire {
  const { dead, paused, limits, listed = 0, overdue, retrying, oldestDue, overdueFor, consumers } = before;
  const facts = {
    dead,
    paused,
    limits,
    listed: before.listed,
    overdue,
    retrying,
    oldestDue,
    overdueFor,
    consumers,
  };
  const known = { ...facts, ...tube, ...runningIn(tube, before) };
  if (listed === 0 || before.due === undefined) return known;
  const cameDue = Math.max(0, (before.waiting ?? 0) - (tube.waiting ?? before.waiting ?? 0));
  return {
    ...known,
    due: before.due + cameDue,
    ...(overdue !== undefined && { overdue: overdue + cameDue }),
  };
}

/** Handlers run on in an outage of the ledger, though nodes hand out their copies again. */
function runningIn({ running }: TubeWire, before: TubeWire): Pick<TubeWire, 'running'> {
  return before.running === undefined ? {} : { running: Math.max(running ?? 0, before.running) };
}

function nodesOf(
  { nodes: last }: Known,
  { nodes: next }: LiveWire,
): { readonly list: NodesWire | null; readonly old: readonly string[] } {
  if (!next || !last)
    return { list: next ?? last, old: next ? [] : (last ?? []).map((each) => each.endpoint) };
  const old: string[] = [];
  const list = next.map((node) => {
    const before = last.find(({ endpoint }) => endpoint === node.endpoint);
    if (node.up || node.copies || !before?.copies) return node;
    old.push(node.endpoint);
    const { up: _up, reason: _reason, since: _since, ...facts } = before;
    return { ...facts, ...node };
  });
  return { list, old };
}

function withServers(
  next: NonNullable<LiveWire['ledger']>,
  last: LiveWire['ledger'],
): NonNullable<LiveWire['ledger']> {
  const servers = next.servers.map((server) => {
    const before = last?.servers.find(({ address }) => address === server.address);
    if (server.up || !before) return server;
    const { reason: _reason, roundTrip: _roundTrip, ...facts } = before;
    return { ...facts, ...server };
  });
  return { ...next, servers };
}
