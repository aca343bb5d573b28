import type { Stats } from '../../beanstalk/connection.js';
import { counted } from '../output.js';
import { ok, warning, type Check } from './check.js';
import type { NodeFacts } from './nodes.js';

/** Every connection watches this tube until it says otherwise, so its watchers tell nothing. */
const WATCHED_BY_ALL = 'default';

/** A tube as all nodes that answer know it. */
interface TubeFacts {
  readonly name: string;
  /** Copies that are due, that are not due yet, that somebody has, and that are buried. */
  readonly ready: number;
  readonly delayed: number;
  readonly reserved: number;
  readonly buried: number;
  /** Nodes that have copies to run, and of these those at which nobody reserves. */
  readonly holding: readonly string[];
  readonly unwatched: readonly string[];
}

/**
 * All checks of the tubes. `isEmptyOfLetters`: whether the ledger has no dead letter of a tube, by its stored name; undefined if
 * it cannot be asked.
 */
export async function checkTubes(
  nodes: readonly NodeFacts[],
  prefix: string,
  isEmptyOfLetters: (tube: string) => Promise<boolean | undefined>,
): Promise<Check[]> {
  // That is a failure of each of them; nothing is known of the tubes.
  if (nodes.every(({ error }) => error !== undefined)) return [];
  const names = new Set(nodes.flatMap(({ tubes }) => [...tubes.keys()]));
  const tubes = [...names].toSorted().map((name) => tubeFacts(nodes, name));
  const checks: Check[] = [];
  for (const tube of tubes) {
    const about = tube.name.slice(prefix.length);
    const consumers = checkConsumers(about, tube);
    if (consumers) checks.push(consumers);
    if (tube.buried > 0 && (await isEmptyOfLetters(tube.name)) === true) {
      const fact = `${counted(tube.buried, 'buried copy', 'buried copies')}, and no dead letter in the ledger`;
      const advice =
        'Redis may have lost its data, or a letter went while its node was away: look at them with `peek-buried`';
      checks.push(warning(about, fact, advice));
    }
  }
  const more = nodes.find((node) => node.more);
  if (more) {
    const advice = 'beanstalkd gets slower with the number of tubes: keep it below some hundred';
    checks.push(warning('tubes', `${more.endpoint} has more than ${more.tubes.size} tubes`, advice));
  }
  const copies = tubes.reduce((sum, { ready, delayed, reserved }) => sum + ready + delayed + reserved, 0);
  const found = `${counted(tubes.length, 'tube')} with ${counted(copies, 'copy', 'copies')} of jobs`;
  return [
    ...checks,
    ...(checks.length === 0 ? [ok('tubes', `${found}, and none is without a consumer`)] : []),
  ];
}

function checkConsumers(about: string, tube: TubeFacts): Check | undefined {
  const { name, ready, delayed, reserved, holding, unwatched } = tube;
  if (name === WATCHED_BY_ALL || unwatched.length === 0) return undefined;
  const copies = `${ready} due and ${delayed + reserved} other copies`;
  if (unwatched.length < holding.length) {
    const advice = 'look at the network between the consumers and the node, and at its limit of open files';
    return warning(about, `it has consumers, but none reserves from ${unwatched.join(', ')}`, advice);
  }
  return warning(about, `${copies}, and no consumer`, 'start a process that has a handler for this tube');
}

function tubeFacts(nodes: readonly NodeFacts[], name: string): TubeFacts {
  const known = nodes.flatMap(({ endpoint, tubes }) => {
    const stats = tubes.get(name);
    return stats ? [{ endpoint, stats }] : [];
  });
  const sum = (state: string) => known.reduce((total, { stats }) => total + count(stats, state), 0);
  const holding = known.filter(
    ({ stats }) => count(stats, 'ready') + count(stats, 'delayed') + count(stats, 'reserved') > 0,
  );
  return {
    name,
    ready: sum('ready'),
    delayed: sum('delayed'),
    reserved: sum('reserved'),
    buried: sum('buried'),
    holding: holding.map(({ endpoint }) => endpoint),
    unwatched: holding
      .filter(({ stats }) => Number(stats['current-watching'] ?? 0) === 0)
      .map(({ endpoint }) => endpoint),
  };
}

function count(stats: Stats, state: string): number {
  return Number(stats[`current-jobs-${state}`] ?? 0);
}
