import { counted } from 'nest-handlers/cli';
import { ANNOUNCE_EVERY_MS, type ProcessRecord } from '../../fleet/presence.js';
import { namesOf, settingsThatDiffer, whoHas } from '../../fleet/unequal-settings.js';
import { VERSION } from '../../fleet/version.js';
import { ok, warning, type Check } from './check.js';
import { PROCESSES } from './unwatched.js';

const ABOUT = PROCESSES;
/** Grace period: a process that has just started may have announced itself before its nodes were connected. */
const CONNECTING_MS = 2 * ANNOUNCE_EVERY_MS;

/**
 * Returns all checks of the application's processes.
 * @param answering Endpoints of the nodes that answered this command.
 */
export function checkProcesses(
  processes: readonly ProcessRecord[],
  given: readonly string[],
  answering: readonly string[],
): Check[] {
  if (processes.length === 0) return [ok(ABOUT, 'no process of the application is running')];
  const checks = [
    ...settingsThatDiffer(processes).map((fact) =>
      warning(
        ABOUT,
        fact,
        'use the same value everywhere; during a deploy that changes it, wait until it is complete',
      ),
    ),
    ...checkVersions(processes),
    ...checkNodes(processes, given, answering),
    ...checkJobs(processes),
  ];
  if (checks.length > 0) return checks;
  const consuming = processes.filter(({ consumes }) => consumes).length;
  const fact = `${counted(processes.length, 'process', 'processes')} with the same settings, ${consuming} of them consuming`;
  return [ok(ABOUT, fact)];
}

function checkVersions(processes: readonly ProcessRecord[]): Check[] {
  const byVersion = whoHas(processes, (each) => each.version);
  if (byVersion.size === 1 && byVersion.has(VERSION)) return [];
  const theirs = Array.from(byVersion, ([each, who]) => `${each} in ${namesOf(who)}`);
  const fact = `different versions of nest-dq: ${[...theirs, `${VERSION} in this command`].join(', ')}`;
  return [
    warning(
      ABOUT,
      fact,
      'use one version everywhere, including this command; during a deploy, wait until it is complete',
    ),
  ];
}

function checkNodes(
  processes: readonly ProcessRecord[],
  given: readonly string[],
  answering: readonly string[],
): Check[] {
  const others = new Set(processes.flatMap(({ nodes }) => Object.keys(nodes)));
  const unnamed = [...others].filter((node) => !given.includes(node));
  const checks = answering.flatMap((node) => {
    const without = processes.filter(({ nodes, upFor }) => nodes[node] === false && upFor > CONNECTING_MS);
    if (without.length === 0) return [];
    const advice = 'check their logs, and the network between them and the node';
    return [warning(node, `answers here, but is unusable for ${namesOf(without)}`, advice)];
  });
  if (unnamed.length === 0) return checks;
  const fact = `they also use ${unnamed.join(', ')}, which this command was not given`;
  return [...checks, warning(ABOUT, fact, 'list the same nodes here')];
}

function checkJobs(processes: readonly ProcessRecord[]): Check[] {
  const [losing, unlisting] = [
    processes.filter(({ lost }) => lost),
    processes.filter(({ unlisted }) => unlisted),
  ];
  // All processes find the same jobs.
  const lost = Math.max(0, ...losing.map((each) => each.lost!));
  const unlisted = unlisting.reduce((sum, each) => sum + each.unlisted!, 0);
  const checks: Check[] = [];
  if (lost > 0) {
    const fact = `at least ${counted(lost, 'job')} lost, found by ${namesOf(losing)} since startup`;
    checks.push(warning(ABOUT, fact, 'add the jobs again; the log names them, see docs/guarantees.md'));
  }
  if (unlisted > 0) {
    const fact = `${counted(unlisted, 'job')} of ${namesOf(unlisting)} did not fit in the index`;
    checks.push(
      warning(ABOUT, fact, 'raise `index: { most }`: these jobs run, but are neither listed nor found by id'),
    );
  }
  return checks;
}
