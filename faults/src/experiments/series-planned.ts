import { join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import { DqModule, DqSeries } from 'nest-dq';
import { DqInspector } from 'nest-dq/operate';
import { atLeast, atMost, none, type Experiment } from '../experiment.js';
import { FileLogger } from '../lab.js';
import { LoggedProcess } from '../logged-process.js';
import { runsOf, type SeriesRun, type Tick } from '../series/log.js';
import type { PlannedArguments } from '../series/planned.js';

/** Duration of a run, in ms. */
const TOOK = 300;
/** Series, whatever `--jobs` says. */
const MOST_SERIES = 300;
/** If a run ended so shortly before its process or Redis died, the ledger may not know it. */
const JUST_ENDED = 1_000;
/** Within this time an occurrence that nobody runs is found. See docs/guarantees.md. */
const FOUND_WITHIN = 150_000;

/**
 * Series made at run time in three processes, each of which upserts all of them. At first every third occurrence is a dead letter.
 * Then processes are killed and replaced, a node is killed and restarted, and Redis, too. At last all of the processes are killed, so
 * that occurrences are missed, and started again. Its jobs are the series. Recovery: from the start of the new processes until
 * every series has run.
 */
export const seriesPlanned: Experiment = {
  number: 34,
  name: 'series-planned',
  what: 'series made at run time; processes killed (SIGKILL), a node and Redis killed and restarted, then nobody runs them',
  passes:
    'no occurrence twice or early, no series stops, each missed one is reported, none left after their removal',
  jobs: MOST_SERIES,
  smallJobs: 30,
  async run(lab) {
    await lab.startServers();
    const names = Array.from({ length: Math.min(lab.jobs, MOST_SERIES) }, (_, i) => `series-${i}`);
    const every = lab.pick(4_000, 10_000);
    const [calm, kills, between] = [lab.pick(14_000, 42_000), lab.pick(2, 6), lab.pick(4_000, 8_000)];
    const ticks: Tick[] = [];
    const processes: LoggedProcess<Tick>[] = [];
    const diedAt = new Map<string, number>();
    const outages: number[] = [];
    let started = 0;
    const start = async (discards = false): Promise<LoggedProcess<Tick>> => {
      const how: Omit<PlannedArguments, 'log'> = {
        name: `series-process-${++started}`,
        options: lab.options,
        series: names,
        every,
        took: TOOK,
        discards,
      };
      const process = await lab.owned(
        LoggedProcess.start<Tick>(join('series', 'planned.js'), lab.folder, how),
      );
      processes.push(process);
      return process;
    };
    const kill = async (victim: LoggedProcess<Tick>) => {
      diedAt.set(victim.name, Date.now());
      await victim.end('SIGKILL');
    };
    const runs = () => {
      for (const each of processes) ticks.push(...each.read());
      return runsOf(ticks);
    };
    /** Since this time, every series has run. */
    const allRanSince = (instant: number) => {
      const known = runs();
      return names.every((name) => (known.get(name)?.at(-1)?.at ?? 0) > instant);
    };

    const alive = await Promise.all([start(true), start(true), start(true)]);
    const begun = Date.now();
    await lab.until(begun + calm);
    for (const each of alive) each.tell({ discards: false });
    for (let i = 0; i < kills; i++) {
      const turn = i % alive.length;
      await kill(alive[turn]!);
      alive[turn] = await start();
      await lab.until(Date.now() + between);
    }
    await lab.beanstalkds[0]!.kill();
    await lab.until(Date.now() + between);
    await lab.beanstalkds[0]!.restart();
    await lab.until(Date.now() + between);
    outages.push(Date.now());
    await lab.redis.kill();
    await lab.until(Date.now() + between);
    await lab.redis.restart();
    const settled = Date.now() + lab.lease + every;
    await lab.eventually(
      'each series runs again after the outages',
      () => allRanSince(settled),
      FOUND_WITHIN,
    );

    // An operator's process, which consumes nothing.
    const module = DqModule.forRoot({ ...lab.options, consume: false });
    const logger = new FileLogger(join(lab.folder, 'operator.output'));
    const operator = await NestFactory.createApplicationContext(module, { logger });
    try {
      const [series, inspector] = [operator.get(DqSeries), operator.get(DqInspector)];
      await Promise.all(alive.map((each) => kill(each)));
      const missed = async () => (await inspector.series()).filter(({ missedSince }) => missedSince).length;
      const shown = Math.min(names.length, 100);
      await lab.eventually(
        'the missed series are reported',
        async () => (await missed()) === shown,
        FOUND_WITHIN,
      );
      const back = Date.now();
      const last = [await start(), await start()];
      await lab.eventually('each series runs again', () => allRanSince(back), FOUND_WITHIN);
      const recovery = Date.now() - back;
      const { total } = await series.list({ limit: 1 });
      await Promise.all(names.map((name) => series.remove(name)));
      const removed = Date.now();
      await lab.until(removed + 2 * every);
      await Promise.all(last.map((each) => each.end('SIGTERM')));

      const known = runs();
      const all = [...known.values()].flat();
      const isUnsure = ({ run, end }: SeriesRun) => {
        if (!end) return true;
        const died = diedAt.get(run.slice(0, run.indexOf('/'))) ?? Infinity;
        return end.at > died - JUST_ENDED || outages.some((at) => Math.abs(end.at - at) < JUST_ENDED);
      };
      return {
        found: await lab.settle(),
        recovery,
        checks: [
          atMost('series that were made', Math.abs(total - names.length), 0),
          none(
            'runs before their time',
            all.filter(({ at, dueAt }) => at < dueAt),
          ),
          none(
            'occurrences that succeeded twice',
            [...known.values()].flatMap((each) =>
              twice(
                each.filter((run) => !isUnsure(run)),
                every,
              ),
            ),
          ),
          none(
            'runs after the removal',
            all.filter(({ at }) => at > removed + TOOK),
          ),
          atLeast('occurrences that died', all.filter(({ end }) => end?.how === 'discard').length, 1),
          atLeast('runs cut short by a kill', all.filter(({ end }) => !end).length, 1),
        ],
        notes: [`${all.length} runs of ${known.size} series, ${shown} of them reported as missed`],
      };
    } finally {
      await operator.close();
    }
  },
};

/** Runs of an occurrence that had already succeeded. One that is late may have a due time after that of its occurrence. */
function twice(runs: readonly SeriesRun[], every: number): string[] {
  const seen = new Map<number, SeriesRun>();
  return runs.flatMap((run) => {
    const occurrence = Math.floor(run.dueAt / every);
    const before = seen.get(occurrence);
    seen.set(occurrence, run);
    return before ? [`${run.tube}, due ${run.dueAt}, began ${run.at}, and before at ${before.at}`] : [];
  });
}
