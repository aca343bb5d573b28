import { counted, grouped } from 'nest-handlers/cli';
import type { StoredTube } from '../../api/tube.js';
import type { Cluster } from '../../cluster/cluster.js';
import { sealedWith, type JobAt } from '../../copies/reading.js';
import type { Ledger } from '../../ledger/ledger.js';
import type { WaitingJobs, WaitingPosition } from '../../ledger/waiting/waiting-jobs.js';
import { otherBytesError, type Seal } from '../../seal/seal.js';
import { factOf } from '../../errors.js';
import type { Clock } from 'nest-handlers/time';
import { failure, ok, warning, type Check } from './check.js';
import type { NodeFacts } from './nodes.js';

/** Max number of jobs of each kind to check across all tubes, an equal share per tube. */
const MAX = 1_000;
const PAGE = 250;
/** How long to wait for nodes to connect. */
const FIRST_ANSWERS_MS = 1_000;
/** Longer than the age of any dead letter, in ms. */
const ANY_AGE = 1e15;
const ABOUT = 'keys';
const KINDS = ['waiting job', 'dead letter'] as const;

type Kind = (typeof KINDS)[number];

/** Parts of a cluster to check. */
interface Sealed {
  readonly seal: Seal;
  readonly ledger: Ledger;
  readonly waiting: WaitingJobs;
  readonly cluster: Cluster;
  readonly clock: Clock;
}

interface Found {
  /** Counts by key name; unsealed ones under an empty string. */
  readonly named: Map<string, Record<Kind, number>>;
  /** Number of jobs without a reachable copy. */
  unread: number;
  /** The kinds of which some weren't checked. */
  readonly more: Set<Kind>;
}

/** Reports which keys are still used by jobs and dead letters, to show when an old key can be removed. */
export async function checkKeys(nodes: readonly NodeFacts[], sealed: Sealed): Promise<Check[]> {
  const { seal, ledger, cluster, clock } = sealed;
  const own = seal.prints();
  const stored = await ledger.keyPrints!.peek(own);
  const wrong = [...own].flatMap(([name, print]) => ((stored.get(name) ?? print) === print ? [] : [name]));
  cluster.start();
  await cluster.firstAnswers(clock, FIRST_ANSWERS_MS);
  const found = await findKeys(nodes, sealed);
  const { named, unread, more } = found;
  const names = [...new Set([...own.keys(), ...named.keys()])].filter((name) => name !== '');
  const checks = [
    ...wrong.map((name) =>
      failure(ABOUT, factOf(otherBytesError([name])), 'see "To change keys" in docs/security.md'),
    ),
    ...names.toSorted().map((name) => checkKey(name, seal, named.get(name))),
    ...checkUnsealed(seal, named.get('')),
  ];
  if (unread > 0) {
    const fact = `no reachable copy of ${counted(unread, 'job')}, perhaps because they have just run; they may use any key`;
    checks.push(ok(ABOUT, fact));
  }
  if (more.size > 0) {
    const which = KINDS.filter((kind) => more.has(kind)).map((kind) =>
      kind === 'dead letter' ? 'the oldest dead letters' : 'the waiting jobs due first',
    );
    const fact = `only ${which.join(' and ')} were checked, ${grouped(MAX)} across all tubes; others may use any key`;
    checks.push(ok(ABOUT, fact));
  }
  return checks;
}

function checkKey(name: string, seal: Seal, found: Record<Kind, number> | undefined): Check {
  const use = found ? `used by ${countsOf(found)}` : 'not used by any waiting job or dead letter found';
  if (seal.prints().has(name)) return ok(ABOUT, `"${name}": ${use}`);
  const advice =
    'add it to `seal.keys` until these jobs have run and these dead letters are revived or discarded';
  return warning(ABOUT, `"${name}", which this command does not have: ${use}`, advice);
}

function checkUnsealed(seal: Seal, found: Record<Kind, number> | undefined): Check[] {
  if (!found) return [];
  const fact = `${countsOf(found)} are not sealed`;
  if (seal.settings.acceptsUnsealed) return [ok(ABOUT, fact)];
  return [warning(ABOUT, fact, "they never run: set `accept: 'unsealed'` if they are yours")];
}

function countsOf(found: Record<Kind, number>): string {
  return KINDS.map((kind) => counted(found[kind], kind)).join(' and ');
}

async function findKeys(nodes: readonly NodeFacts[], sealed: Sealed): Promise<Found> {
  const found: Found = { named: new Map(), unread: 0, more: new Set() };
  const all = new Set(nodes.flatMap(({ tubes }) => [...tubes.keys()]));
  const tubes = [...all].filter((name) => !sealed.seal.settings.unsealed.has(name)) as StoredTube[];
  const limit = Math.ceil(MAX / Math.max(1, tubes.length));
  for (const tube of tubes) {
    await lookAtWaiting(tube, limit, sealed, found);
    const oldest = { maxAge: ANY_AGE, maxCount: 0, limit };
    const { letters, more } = await sealed.ledger.tube(tube).surplus(oldest);
    if (more) found.more.add('dead letter');
    await count('dead letter', letters, sealed, found);
  }
  return found;
}

async function lookAtWaiting(tube: StoredTube, limit: number, sealed: Sealed, found: Found): Promise<void> {
  let after: WaitingPosition | undefined;
  for (let left = limit; left > 0; left -= PAGE) {
    const page = { limit: Math.min(PAGE, left), after };
    const { jobs, next } = await sealed.waiting.page(tube, page);
    await count('waiting job', jobs, sealed, found);
    after = next;
    if (!after) return;
  }
  found.more.add('waiting job');
}

async function count(kind: Kind, jobs: readonly JobAt[], { cluster }: Sealed, found: Found): Promise<void> {
  const keys = await Promise.all(jobs.map((job) => sealedWith(cluster, job)));
  for (const key of keys) {
    if (key === undefined) {
      found.unread++;
      continue;
    }
    const named = found.named.get(key) ?? { 'waiting job': 0, 'dead letter': 0 };
    named[kind]++;
    found.named.set(key, named);
  }
}
