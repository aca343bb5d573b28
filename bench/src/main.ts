// npm run bench: measures speed, lateness and memory, and compares them with BullMQ.
// Exit status: 0 all measured, 1 one or more could not be measured, 2 wrong arguments.
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runCommand } from 'test-servers';
import { chart, CHARTED } from './chart.js';
import { disturbanceSince, machineTimes } from './disturbance.js';
import { machine } from './machine.js';
import type { Measure, Result, Settings } from './measure.js';
import { MEASURES } from './measures.js';
import { table } from './table.js';

const USAGE = `npm run bench [-- OPTIONS] [-- MEASURE…]

  MEASURE       only these measures of the list below
  --rounds N    how often each contender runs (default: 3 or 5 times; once if it takes minutes)
  --quick       smaller numbers and one round: faster, with rough figures
  --json        print one line of JSON for each measure, and nothing else
  --svg FILE    also write a chart of schedule, drain and lateness
  --help        this text

${MEASURES.map(({ name, title }) => `  ${name.padEnd(12)}  ${title}`).join('\n')}
`;

interface Flags {
  readonly wanted: readonly Measure[];
  readonly rounds?: number;
  readonly quick: boolean;
  readonly json: boolean;
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
      json: { type: 'boolean', default: false },
      svg: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { rounds, quick, json, svg, help } = values;
  const unknown = positionals.find((name) => !MEASURES.some((measure) => measure.name === name));
  if (unknown !== undefined) throw new Error(`There is no measure ${unknown}.`);
  if (rounds !== undefined && !/^[1-9]\d*$/.test(rounds)) {
    throw new Error(`--rounds was given ${rounds}: expected a number of 1 or more.`);
  }
  const wanted =
    positionals.length === 0 ? MEASURES : MEASURES.filter(({ name }) => positionals.includes(name));
  const uncharted = CHARTED.find((name) => !wanted.some((measure) => measure.name === name));
  if (svg !== undefined && uncharted !== undefined)
    throw new Error(`--svg needs the measure ${uncharted}, too.`);
  return { wanted, quick, json, help, ...(rounds && { rounds: Number(rounds) }), ...(svg && { svg }) };
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
  const before = await machineTimes();
  const rows = await run(settings);
  return { measure: name, ours, title, ...(await disturbanceSince(before)), rows };
}

async function runAll(flags: Flags): Promise<number> {
  const { wanted, json, svg } = flags;
  const here = machine();
  const results: Result[] = [];
  let failed = false;
  if (!json) process.stdout.write(`${here}\n\n`);
  for (const measure of wanted) {
    try {
      const result = await runMeasure(measure, settingsOf(flags));
      results.push(result);
      process.stdout.write(json ? `${JSON.stringify({ ...result, machine: here })}\n` : `${table(result)}\n`);
    } catch (error) {
      failed = true;
      process.stderr.write(`${measure.name} could not be measured: ${(error as Error).stack}\n\n`);
    }
  }
  // npm runs this in the folder of the workspace. The user's path starts at the folder where npm was called.
  if (svg !== undefined) await writeFile(resolve(process.env.INIT_CWD ?? '', svg), chart(results, here));
  return failed ? 1 : 0;
}

process.exit(await runCommand({ usage: USAGE, readFlags, run: runAll }));
