import { ANSWER_FLAGS, type Answer, type Arguments, type Command } from 'nest-handlers/cli';
import type { StoredTube } from '../../api/tube.js';
import { toError } from '../../errors.js';
import { withinLimit } from '../../time/call-limit.js';
import type { Fleet } from '../../fleet/fleet.js';
import type { Ledger } from '../../ledger/ledger.js';
import type { ProcessRecord } from '../../fleet/presence.js';
import { realEnvironment } from '../../nest/environment.js';
import type { ResolvedOptions } from '../../nest/options.js';
import { DqRuntime } from '../../nest/runtime.js';
import type { Clock } from 'nest-handlers/time';
import { CONNECTION_FLAGS } from '../connection-flags.js';
import { WATCH_FLAG, watched } from '../screen.js';
import { causeOf, LEDGER_ADVICE } from '../ledger-down.js';
import { givenOptions, resolveSettings } from '../settings.js';
import { failure, showChecks, statusOf, type Check } from './check.js';
import { checkKeys } from './keys.js';
import { askNode, checkLedgers, checkNodes } from './nodes.js';
import { askRedis, checkRedis } from './redis.js';
import { checkProcesses } from './processes.js';
import { checkPrefix } from './prefix.js';
import { checkSeries } from './series.js';
import { checkTubes, countTubes } from './tubes.js';

/** Time limit for reading processes and nodes from the ledger. */
const LIMIT_MS = 2_000;
/** Redis's own errors, as opposed to those of a connection. */
const REFUSAL = /\b(ERR|NOPERM|NOAUTH|NOSCRIPT|READONLY|OOM|MISCONF|LOADING|BUSY)\b/;
const WORDS = ['ok', 'warning', 'failure'] as const;

/** Unlike other commands, connects on its own, since it must report what is wrong with a server that refuses connections. */
export const doctor: Command = {
  name: 'doctor',
  summary: 'Check the nodes, Redis and the tubes, and suggest what to do. Changes nothing.',
  about: "Takes about one second, because it reads each node's counters twice.",
  flags: { ...WATCH_FLAG, ...ANSWER_FLAGS, ...CONNECTION_FLAGS },
  status: '0 all ok; 1 warnings; 2 failures',
  examples: ['nest-dq doctor', 'nest-dq doctor --json'],
  run,
};

function run(args: Arguments): Promise<Answer | void> {
  const settings = resolveSettings(givenOptions(args));
  return watched(args, realEnvironment.clock, async () => {
    const checks = await examine(settings);
    const status = statusOf(checks);
    return {
      json: { status: WORDS[status], checks },
      text: (width) => showChecks(checks, width),
      status,
    };
  });
}

async function examine(settings: ResolvedOptions): Promise<Check[]> {
  const { clock } = realEnvironment;
  const { prefix, servers, seal } = settings;
  const { beanstalks, tls, redis: source } = servers!;
  const [redis, ...nodes] = await Promise.all([
    askRedis(source, clock),
    ...beanstalks.map((endpoint) => askNode(endpoint, tls, prefix, clock)),
  ]);
  const backend = realEnvironment.backend(settings, undefined);
  const { ledger, fleet, cluster, waiting } = backend;
  const { inspector } = new DqRuntime(settings, clock, backend);
  try {
    const redisChecks = checkRedis(redis);
    const known = redis.error === undefined ? await askLedger(ledger, fleet, clock) : undefined;
    if (known?.error !== undefined && statusOf(redisChecks) < 2) redisChecks.push(refusal(known.error));
    const { processes, drained } = known?.facts ?? { processes: [], drained: [] };
    const answering = nodes.filter(({ error }) => error === undefined).map(({ endpoint }) => endpoint);
    const given = beanstalks.map(({ text }) => text);
    // Without Redis nobody reserves, and nothing is known of processes and letters: effects of the one failure above them.
    const now = () => ledger.tube(prefix as StoredTube).now();
    const tubes = known?.facts
      ? await checkTubes(nodes, prefix, { now: now(), processes, ledger, replicas: settings.replicas })
      : countTubes(nodes);
    const keys =
      seal && known?.facts ? await checkKeys(nodes, { seal, ledger, cluster, waiting, clock }) : [];
    return [
      ...redisChecks,
      ...checkNodes(nodes, drained, clock),
      ...(known?.facts ? checkLedgers(nodes, known.facts.identity) : []),
      ...(known?.facts ? checkProcesses(processes, given, answering) : []),
      ...(known?.facts ? checkPrefix(nodes, prefix, processes) : []),
      ...tubes,
      ...(known?.facts ? await checkSeries(inspector, clock, now()) : []),
      ...keys,
    ];
  } finally {
    cluster.close();
    await ledger.close();
  }
}

interface LedgerFacts {
  readonly processes: readonly ProcessRecord[];
  /** The endpoints of the nodes that an operator has drained. */
  readonly drained: readonly string[];
  /** Identity of the ledger; undefined if it has none yet. */
  readonly identity: string | undefined;
}

/** Asks through scripts, as an application does: they may fail on a replica, or for lack of permissions. Never rejects. */
async function askLedger(
  ledger: Ledger,
  { presence }: Fleet,
  clock: Clock,
): Promise<{ readonly facts?: LedgerFacts; readonly error?: Error }> {
  try {
    const asked = Promise.all([presence.all(), presence.drainedNodes(), ledger.identity!.peek()]);
    const [present, drained, identity] = await withinLimit(clock, LIMIT_MS, asked);
    return { facts: { processes: present.map(({ record }) => record), drained, identity } };
  } catch (thrown) {
    return { error: toError(thrown) };
  }
}

/** Redis answered a moment ago: it ended since, or refuses scripts. */
export function refusal(error: Error): Check {
  const message = causeOf(error);
  if (!REFUSAL.test(message)) return failure('redis', `answers no more: ${message}`, LEDGER_ADVICE);
  const advice = 'check the permissions of its user: docs/clusters.md lists those that nest-dq needs';
  return failure('redis', `answers, but nest-dq's scripts fail: ${message}`, advice);
}
