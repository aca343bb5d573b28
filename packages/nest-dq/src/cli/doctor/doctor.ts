import type { StoredTube } from '../../api/tube.js';
import { realEnvironment } from '../../nest/environment.js';
import type { ResolvedOptions } from '../../nest/options.js';
import type { Arguments } from '../arguments.js';
import { JSON_FLAG, type Answer, type Command } from '../command.js';
import { CONNECTION_FLAGS, givenOptions, resolveSettings } from '../settings.js';
import { showChecks, statusOf, type Check } from './check.js';
import { askNode, checkNodes } from './nodes.js';
import { askRedis, checkRedis } from './redis.js';
import { checkTubes } from './tubes.js';

const WORDS = ['ok', 'warning', 'failure'] as const;

/** It connects by itself, and not as other commands do: it has to tell what is wrong with a server that refuses them. */
export const doctor: Command = {
  name: 'doctor',
  summary: 'Examines the nodes, Redis and the tubes, and says what to do. It changes nothing.',
  about: 'It takes a second, as it looks at the counters of each node twice.',
  flags: { ...JSON_FLAG, ...CONNECTION_FLAGS },
  status: '0 all is well, 1 there are warnings, 2 there are failures',
  examples: ['nest-dq doctor', 'nest-dq doctor --json'],
  run,
};

async function run(args: Arguments): Promise<Answer> {
  const settings = resolveSettings(givenOptions(args));
  const checks = await examine(settings);
  const status = statusOf(checks);
  return { json: { status: WORDS[status], checks }, text: showChecks(checks), status };
}

async function examine(settings: ResolvedOptions): Promise<Check[]> {
  const { clock } = realEnvironment;
  const { prefix, servers } = settings;
  const { beanstalks, redis: source } = servers!;
  const [redis, ...nodes] = await Promise.all([
    askRedis(source, clock),
    ...beanstalks.map((endpoint) => askNode(endpoint, prefix, clock)),
  ]);
  const { ledger } = realEnvironment.backend(settings, undefined);
  const isEmptyOfLetters = async (tube: string) => {
    if (redis.error !== undefined) return undefined;
    const page = await ledger.tube(tube as StoredTube).letters({ limit: 1, after: undefined });
    return page.letters.length === 0;
  };
  try {
    const tubes = await checkTubes(nodes, prefix, isEmptyOfLetters);
    return [...checkNodes(nodes, clock), ...checkRedis(redis), ...tubes];
  } finally {
    await ledger.close();
  }
}
