import { ANSWER_FLAGS, type Answer, type Arguments, type Command } from 'nest-handlers/cli';
import { toError } from '../../errors.js';
import { withinLimit } from '../../time/call-limit.js';
import type { Fleet } from '../../fleet/fleet.js';
import { REMEMBERED_MS } from '../../fleet/history.js';
import type { Ledger } from '../../ledger/ledger.js';
import type { PresentProcess } from '../../fleet/presence.js';
import type { DqInspector } from '../../operate/inspector.js';
import { awaySince, viewOf } from '../../operate/processes.js';
import { realEnvironment } from '../../nest/environment.js';
import type { ResolvedOptions } from '../../nest/options.js';
import { DqRuntime } from '../../nest/runtime.js';
import type { Clock } from 'nest-handlers/time';
import { CONNECTION_FLAGS } from '../connection-flags.js';
import type { Outage } from '../outage.js';
import { WATCH_FLAG, watched } from '../screen.js';
import { causeOf, ledgerDown } from '../ledger-down.js';
import { givenOptions, resolveSettings } from '../settings.js';
import { failure, showChecks, statusOf, worstFirst, type Check } from './check.js';
import { checkKeys } from './keys.js';
import { askNode, checkLedgers, checkNodes, type NodeFacts } from './nodes.js';
import { askRedis, checkRedis } from './redis.js';
import { checkProcesses } from './processes.js';
import { checkRuns } from './runs.js';
import { checkPrefix } from './prefix.js';
import { checkSeries } from './series.js';
import { checkTubes, countTubes } from './tubes.js';
import { PROCESSES } from './unwatched.js';

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
  const backend = realEnvironment.backend(settings, undefined);
  const { ledger, fleet, cluster, waiting } = backend;
  const { inspector } = new DqRuntime(settings, clock, backend);
  try {
    cluster.start();
    const [redis, ...nodes] = await Promise.all([
      askRedis(source, clock),
      ...beanstalks.map((endpoint) => askNode(endpoint, tls, prefix, clock)),
    ]);
    const known = redis.error === undefined ? await askLedger(ledger, fleet, clock) : undefined;
    const now = ledger.now(); // the machine's time if Redis was never heard
    const redisChecks = checkRedis(redis, outageAt(nodes), now);
    if (known?.error !== undefined && statusOf(redisChecks) < 2) redisChecks.push(refusal(known.error));
    const { present, drained, identity } = known?.facts ?? { present: [], drained: [] };
    const processes = present.map(({ record }) => record);
    const views = present.map((each) => viewOf(each));
    const written = processes.map((each) => each.settings.minWritten);
    const elsewhere = {
      drained,
      awaySince: (endpoint: string) => awaySince(views, endpoint),
      now,
      minWritten: written.length > 0 ? Math.max(...written) : settings.minWritten,
    };
    const nodeChecks = checkNodes(nodes, elsewhere, clock);
    // Without Redis nobody reserves, and nothing is known of processes and letters: effects of the one failure above them.
    if (!known?.facts) return worstFirst([...redisChecks, ...nodeChecks, ...countTubes(nodes)]);
    const answering = nodes.filter(({ error }) => error === undefined).map(({ endpoint }) => endpoint);
    const given = beanstalks.map(({ text }) => text);
    const list = await inspector.tubes();
    const heard = new Map(present.map(({ record, at }) => [record.id, at]));
    const tubes = await checkTubes(nodes, prefix, {
      now,
      processes,
      ledger,
      replicas: settings.replicas,
      viewOf: (tube) => list.tubes.find((each) => each.tube === tube),
      heardAt: ({ id }) => heard.get(id) ?? now,
      lastRun: () => lastRunOf(inspector, now),
    });
    const isNobodyThere = processes.length === 0 && tubes.some(({ about }) => about === PROCESSES);
    const explained = new Set(tubes.filter(({ level }) => level !== 'ok').map(({ about }) => about));
    return worstFirst([
      ...redisChecks,
      ...nodeChecks,
      ...checkLedgers(nodes, identity),
      ...(isNobodyThere ? [] : checkProcesses(processes, given, answering)),
      ...checkPrefix(nodes, prefix, processes),
      ...tubes,
      ...(await checkRuns(inspector, { tubes: list, processes: views }, clock, now)),
      ...(isNobodyThere ? [] : await checkSeries(inspector, clock, now, explained)),
      ...(seal ? await checkKeys(nodes, { seal, ledger, cluster, waiting, clock }) : []),
    ]);
  } finally {
    cluster.close();
    await ledger.close();
  }
}

/** The outage of Redis as all nodes together show it. */
function outageAt(nodes: readonly NodeFacts[]): Outage {
  const times = nodes.flatMap(({ ledgerAwaySince }) => ledgerAwaySince?.getTime() ?? []);
  if (times.length > 0) return { since: new Date(Math.min(...times)), isWellThere: false };
  return { isWellThere: nodes.some(({ ledgers }) => ledgers.length > 0) };
}

/** Resolves with the last minute in which a run started, of the two days that are known. */
async function lastRunOf(inspector: Pick<DqInspector, 'history'>, now: number): Promise<Date | undefined> {
  const range = { from: new Date(now - REMEMBERED_MS), to: new Date(now) };
  const minutes = await inspector.history(range).catch(() => []); // the rest of the finding stands without it
  return minutes.findLast(({ started }) => started > 0)?.at;
}

interface LedgerFacts {
  readonly present: readonly PresentProcess[];
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
    return { facts: { present, drained, identity } };
  } catch (thrown) {
    return { error: toError(thrown) };
  }
}

/** Redis answered a moment ago: it ended since, or refuses scripts. */
export function refusal(error: Error): Check {
  const message = causeOf(error);
  if (!REFUSAL.test(message))
    return failure('redis', `answers no more: ${message}`, ledgerDown(message, undefined, 0).advice);
  const advice = 'check the permissions of its user: docs/clusters.md lists those that nest-dq needs';
  return failure('redis', `answers, but nest-dq's scripts fail: ${message}`, advice);
}
