import { askNode, type NodeAddress } from './node-wire.js';

const COUNTED = /^current-jobs-(?:ready|reserved|delayed): (\d+)$/gm;

/** How many copies a beanstalkd holds that can still surface: not the buried ones. Undefined when it does not answer. */
export async function countCopies(node: NodeAddress): Promise<number | undefined> {
  const [stats] = await askNode(node, 'stats').catch(() => []); // down: that is an answer here
  if (stats === undefined) return undefined;
  return [...stats.matchAll(COUNTED)].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** One number of a beanstalkd's `stats`, such as `cmd-release`. */
export async function nodeCounter(node: NodeAddress, name: string): Promise<number> {
  const [stats] = await askNode(node, 'stats');
  const [, value] = new RegExp(`^${name}: (\\d+)$`, 'm').exec(stats!) ?? [];
  if (value === undefined) throw new Error(`the stats of a beanstalkd have no ${name}`);
  return Number(value);
}
