// The last known facts about the cluster: they stay until newer ones replace them.
import type { LiveWire, NodesWire, TubeWire } from '../../src/dashboard/wire.js';

type Tubes = NonNullable<LiveWire['tubes']>;

/** A live state in which the last known values stand in for what couldn't be read. */
export interface Known extends LiveWire {
  /** When the values that stand in were read, by the server's time. What is absent is fresh. */
  readonly asOf: {
    /** Counts of the nodes, by tube. */
    readonly tubes?: Readonly<Record<string, string>>;
    /** Facts of the ledger about tubes: dead letters, pauses, limits, listed jobs, consumers. */
    readonly facts?: string;
    /** By endpoint. */
    readonly nodes?: Readonly<Record<string, string>>;
    readonly ledger?: string;
    readonly processes?: string;
  };
}

/** Adds a new state to what is known. */
export function keepKnown(last: Known | undefined, next: LiveWire): Known {
  if (!last) return { ...next, asOf: {} };
  const { now, asOf } = last;
  const tubes = tubesOf(last, next);
  const nodes = nodesOf(last, next);
  const lacksProcesses = next.processes === null && last.processes !== null;
  const isDown = next.ledger?.up !== true && last.ledger !== null;
  return {
    ...next,
    tubes: tubes.list,
    nodes: nodes.list,
    ledger: next.ledger ? withServers(next.ledger, last.ledger) : last.ledger,
    processes: next.processes ?? last.processes,
    health: next.health ?? last.health,
    acts: next.acts ?? last.acts,
    asOf: {
      ...(tubes.old.length > 0 && {
        tubes: Object.fromEntries(tubes.old.map((tube) => [tube, asOf.tubes?.[tube] ?? now])),
      }),
      ...(tubes.lackFacts && { facts: asOf.facts ?? now }),
      ...(nodes.old.length > 0 && {
        nodes: Object.fromEntries(nodes.old.map((node) => [node, asOf.nodes?.[node] ?? now])),
      }),
      ...(isDown && { ledger: asOf.ledger ?? now }),
      ...(lacksProcesses && { processes: asOf.processes ?? now }),
    },
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

/** The ledger knows these, and it alone; nodes also count due copies of jobs that are over. */
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
  return { ...facts, ...tube, ...(listed > 0 && before.due !== undefined && { due: before.due }) };
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
