import { join } from 'node:path';
import { atLeast, atMost, none, type Experiment } from '../experiment.js';
import { LoggedProcess } from '../logged-process.js';
import { checkSeries } from '../series/checker.js';
import { runsOf, type SeriesRun, type Tick } from '../series/log.js';
import type { SeriesArguments } from '../series/main.js';

/** An hour, the interval of the series, and the duration of a run, in ms. */
const HOUR = 3_600_000;
const EVERY = 2_000;
const TOOK = 300;
/** Series, whatever `--jobs` says: three processes on two cores do not keep up with many more. */
const MOST_SERIES = 50;
/** If a run ended so shortly before its process died, the ledger may not know it. */
const JUST_ENDED = 500;
/** Maximum age of the last run of a series at the end, in ms, in addition to a lease if that run was cut short. */
const RECENT = 2 * EVERY + 1_000;

/**
 * Series every two seconds in three processes. The first one, whose clock is an hour ahead, begins them alone; the clock of the second one
 * is an hour behind, and that of the third one is right. At first every third occurrence is a dead letter, so that the process which ran it
 * schedules the next one. Then these processes are killed in turn, and replaced by their like. The logs use the machine's clock, as the
 * ledger does. Its jobs are the series.
 */
export const seriesClocks: Experiment = {
  number: 32,
  name: 'series-clocks',
  what: 'series in a process an hour ahead, one an hour behind and a correct one; occurrences die; processes killed (SIGKILL)',
  passes:
    "each occurrence once by the ledger's clock, none early, none missing; two runs only of what a kill interrupted",
  jobs: MOST_SERIES,
  smallJobs: 10,
  async run(lab) {
    await lab.startServers();
    const tubes = Array.from({ length: Math.min(lab.jobs, MOST_SERIES) }, (_, i) => `series-${i}`);
    const [calm, kills, between] = [lab.pick(9_000, 20_000), lab.pick(3, 9), lab.pick(2_500, 5_000)];
    const ticks: Tick[] = [];
    const processes: LoggedProcess<Tick>[] = [];
    const diedAt = new Map<string, number>();
    const read = () => {
      for (const each of processes) ticks.push(...each.read());
    };
    const start = async (ahead: number, discards = false): Promise<LoggedProcess<Tick>> => {
      const how: Omit<SeriesArguments, 'log'> = {
        name: `series-process-${processes.length + 1}`,
        options: lab.options,
        ahead,
        tubes,
        cron: '*/2 * * * * *',
        took: TOOK,
        discards,
      };
      const started = await lab.owned(LoggedProcess.start<Tick>(join('series', 'main.js'), lab.folder, how));
      processes.push(started);
      return started;
    };

    const clocks = [HOUR, -HOUR, 0];
    const alive: LoggedProcess<Tick>[] = [];
    for (const ahead of clocks) alive.push(await start(ahead, true));
    const begun = Date.now();
    await lab.until(begun + calm);
    for (const each of alive) each.tell({ discards: false });
    for (let kill = 0; kill < kills; kill++) {
      const turn = kill % clocks.length;
      const victim = alive[turn]!;
      alive[turn] = await start(clocks[turn]!);
      await lab.eventually('a handler runs in the process to be killed', () => {
        read();
        return [...runsOf(ticks).values()].some((each) =>
          each.some(({ run, end }) => !end && processOf(run) === victim.name),
        );
      });
      diedAt.set(victim.name, Date.now());
      await victim.end('SIGKILL');
      await lab.until(Date.now() + between);
    }
    await lab.until(Date.now() + lab.lease + 2 * EVERY);
    const ended = Date.now();
    const [last, ...others] = alive;
    await Promise.all(others.map((each) => each.end('SIGTERM')));
    last!.tell({ end: true });
    await last!.exited;
    read();

    const runs = runsOf(ticks);
    const isUnsure = ({ run, end }: SeriesRun) =>
      end !== undefined && end.at > (diedAt.get(processOf(run)) ?? Infinity) - JUST_ENDED;
    const found = [...runs.values()].map((each) =>
      checkSeries(
        each.map((run) => ({ ...run, unsure: isUnsure(run) })),
        EVERY,
      ),
    );
    const all = [...runs.values()].flat();
    const first = Math.max(...tubes.map((tube) => runs.get(tube)?.[0]?.dueAt ?? Infinity));
    const oldest = Math.max(...tubes.map((tube) => ended - (runs.get(tube)?.at(-1)?.at ?? -Infinity)));
    const cut = all.filter(({ end }) => !end).length;
    return {
      found: await lab.settle(),
      checks: [
        atMost('the first occurrence after the start', first - begun, EVERY, ' ms'),
        none(
          'runs before an occurrence',
          found.flatMap(({ early }) => early),
        ),
        none(
          'occurrences that succeeded twice',
          found.flatMap(({ twice }) => twice),
        ),
        none(
          'occurrences that are missing',
          found.flatMap(({ missing }) => missing),
        ),
        atMost('the last run before the end', oldest, RECENT, ' ms'),
        atLeast('occurrences that died', all.filter(({ end }) => end?.how === 'discard').length, 1),
        atLeast('runs cut short by a kill', cut, 1),
      ],
      notes: [`${all.length} runs of ${runs.size} series, ${cut} cut short by a kill`],
    };
  },
};

function processOf(run: string): string {
  return run.slice(0, run.indexOf('/'));
}
