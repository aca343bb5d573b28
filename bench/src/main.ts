// npm run bench: measures speed, lateness and memory, and compares them with BullMQ.
// Exit status: 0 all measured, 1 one or more could not be measured, 2 invalid arguments.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { arch, cpus, release, totalmem, type } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runCommand } from 'test-servers';
import { chart, CHARTED } from './chart.js';
import type { Measure, Result, Settings } from './measure.js';
import { MEASURES } from './measures.js';
import { tell } from './progress.js';
import { mergedRuns, readResults, resultLine, saveResult } from './results.js';
import { table } from './table.js';

const USAGE = `npm run bench [-- OPTIONS] [-- MEASURE…]
npm run bench -- --merge [OPTIONS] FILE…

  MEASURE       run only these measures from the list below
  --rounds N    rounds per contender (default: 3 or 5; 1 if it takes minutes)
  --quick       smaller numbers and one round: fast, rough figures
  --save FILE   also append each measure to the file as soon as it is done; measures already there are skipped,
                so the same command continues after an interruption
  --merge       measure nothing: show the median of the runs saved in these files
  --json        print only one line of JSON per measure
  --svg FILE    also write a chart of schedule, drain and lateness
  --help        show this help

${MEASURES.map(({ name, title }) => `  ${name.padEnd(12)}  ${title}`).join('\n')}
`;

interface Flags {
  /** To be measured. */
  readonly wanted: readonly Measure[];
  /** The files to merge; none: measure. */
  readonly merge: readonly string[];
  readonly rounds?: number;
  readonly quick: boolean;
  readonly json: boolean;
  readonly save?: string;
  readonly svg?: string;
  readonly help: boolean;
}

/** Throws an Error with a message for the user. */
function readFlags(): Flags {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      save: { type: 'string' },
      merge: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      svg: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { rounds, quick, save, merge, json, svg, help } = values;
  if (merge && (positionals.length === 0 || save !== undefined || rounds !== undefined || quick))
    throw new Error('--merge needs files written by --save, and combines only with --json and --svg.');
  if (rounds !== undefined && !/^[1-9]\d*$/.test(rounds)) {
    throw new Error(`--rounds is ${rounds}: expected a whole number, 1 or more.`);
  }
  const wanted = merge ? [] : measuresOf(positionals);
  const uncharted = CHARTED.find((name) => !wanted.some((measure) => measure.name === name));
  if (svg !== undefined && !merge && uncharted !== undefined)
    throw new Error(`--svg also needs the measure ${uncharted}.`);
  return {
    wanted,
    merge: merge ? positionals.map(pathOf) : [],
    quick,
    json,
    help,
    ...(rounds && { rounds: Number(rounds) }),
    ...(save && { save: pathOf(save) }),
    ...(svg && { svg: pathOf(svg) }),
  };
}

/** All if there is no name. */
function measuresOf(names: readonly string[]): readonly Measure[] {
  const unknown = names.find((name) => !MEASURES.some((measure) => measure.name === name));
  if (unknown !== undefined) throw new Error(`Unknown measure: ${unknown}.`);
  return names.length === 0 ? MEASURES : MEASURES.filter(({ name }) => names.includes(name));
}

/** npm runs this in the folder of the workspace. The user's path starts at the folder where npm was called. */
function pathOf(path: string): string {
  return resolve(process.env.INIT_CWD ?? '', path);
}

function settingsOf({ rounds, quick }: Flags): Settings {
  return {
    rounds: (usual) => rounds ?? (quick ? 1 : usual),
    pick: (full, small) => (quick ? small : full),
  };
}

async function runMeasure(
  { name, ours = 'nest-dq', title, run }: Measure,
  settings: Settings,
): Promise<Result> {
  const from = performance.now();
  const rows = await run(settings);
  return { measure: name, ours, title, machine: machine(), took: (performance.now() - from) / 1_000, rows };
}

/** The machine that the figures depend on. */
function machine(): string {
  const cores = cpus();
  const memory = (totalmem() / 2 ** 30).toFixed(0);
  return `Node ${process.version}, ${type()} ${release()} ${arch()}, ${cores.length} cores of ${cores[0]?.model.trim() ?? 'unknown make'}, ${memory} GiB`;
}

/** Runs the measures, and gives each result on as soon as it is there. Resolves with how many could not be measured. */
async function runMeasures(flags: Flags, done: (result: Result) => void): Promise<number> {
  const { wanted, save } = flags;
  const saved = save !== undefined && existsSync(save) ? await readResults(save) : [];
  let failed = 0;
  for (const [index, measure] of wanted.entries()) {
    const before = saved.find((result) => result.measure === measure.name);
    tell(`${measure.name} (${index + 1} of ${wanted.length})${before ? ' is already measured' : ''}`);
    try {
      const result = before ?? (await runMeasure(measure, settingsOf(flags)));
      if (save !== undefined && !before) await saveResult(save, result);
      done(result);
    } catch (error) {
      failed++;
      process.stderr.write(`${measure.name} could not be measured: ${(error as Error).stack}\n\n`);
    }
  }
  return failed;
}

async function run(flags: Flags): Promise<number> {
  const { merge, json, svg } = flags;
  const results: Result[] = [];
  const show = (result: Result) => {
    // The machine stands above the first table.
    if (!json && results.length === 0) process.stdout.write(`${result.machine}\n\n`);
    results.push(result);
    process.stdout.write(json ? resultLine(result) : `${table(result)}\n`);
  };
  const files = await Promise.all(merge.map(readResults));
  for (const result of inOrder(mergedRuns(files.flat()))) show(result);
  const failed = await runMeasures(flags, show);
  if (svg !== undefined) await writeFile(svg, chart(results, results[0]?.machine ?? ''));
  return failed > 0 ? 1 : 0;
}

/** As the measures run. */
function inOrder(results: readonly Result[]): Result[] {
  const place = ({ measure }: Result) => MEASURES.findIndex(({ name }) => name === measure);
  return results.toSorted((a, b) => place(a) - place(b));
}

process.exit(await runCommand({ usage: USAGE, readFlags, run }));
